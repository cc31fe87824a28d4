"""The disk model against measured service times of real drives, shipped results of that, and files that are not what they should be."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

import validate_models
from support import said_as_json, shared
from tierwise.core import paths
from tierwise.core.errors import InputError
from tierwise.devices.electronics import ReadAhead, plain_electronics
from tierwise.devices.hdd import Hdd
from tierwise.devices.protocol import Operation
from tierwise.report.exhibit_registry import find
from tierwise.report.run import Run
from tierwise.report.values.validation import MODELS, load
from tierwise.simulate.device_validation import DriveCase, Part, read_case
from tierwise.simulate.drive_files import read_drive, read_specs

DRIVES = ("atlas10k", "barracuda", "cheetah4LP")


@cache
def _case(name: str, folder: Path) -> DriveCase:
    return read_case(*(folder / f"{name}.{ending}" for ending in ("trace", "model", "seek")))


@cache
def _specified(name: str, folder: Path) -> DriveCase:
    return replace(_case(name, folder), specs=read_specs(folder / f"{name}.diskspecs"))


def real(name: str) -> DriveCase:
    return _case(name, shared("realdata", "devices"))


@pytest.mark.parametrize("name", DRIVES)
def test_the_mean_service_time_of_the_half_not_fitted_on_is_within_a_tenth(name: str) -> None:
    found = real(name).judge(part="second half")
    assert found.n == 5000
    assert abs(found.mean_error) <= 0.10
    assert found.demerit < 0.15
    assert found.mean_error == pytest.approx(found.mean_predicted_s / found.mean_measured_s - 1)


@pytest.mark.parametrize("name", DRIVES)
@pytest.mark.parametrize("part", ["all", "second half"])
def test_a_drives_own_electronics_are_nearer_than_the_fitted_ones(name: str, part: Part) -> None:
    fitted, own = real(name).judge(part=part), _specified(name, shared("realdata", "devices")).judge(part=part)
    assert abs(own.mean_error) < 0.033
    assert own.demerit < fitted.demerit
    assert own.fitted_on is None


MODEL = """
# a comment { with brackets
dm_disk small {
   number of data surfaces = 2,
   Block count = 3960
   Mechanical Model = dm_mech_g1 { Rotation speed (in rpms) = 6000, Head switch time = 0.5, Single cylinder seek time = 1.0 },
   Layout Model = dm_layout_g1 {
      LBN-to-PBN mapping scheme = 0, Sparing scheme used = 2, Skew units = revolutions,
      Zones = [
         dm_layout_g1_zone { First cylinder number = 10, Last cylinder number = 19, Blocks per track = 100,
            Skew for track switch = 0.1, Skew for cylinder switch = 0.2, Number of spares = 2, slips = [ 5, 7 ], defects = [ ] },
         dm_layout_g1_zone {
            First cylinder number = 0, Last cylinder number = 9, Blocks per track = 100, Skew for track switch = 0.1,
            Skew for cylinder switch = 0.2, Number of spares = 2, slips = [], defects = [ 1, 2 ]
         }
      ]
   }
}
"""
SPECS = """
disksim_disk small {
   Model = source small.model,
   Bulk sector transfer time = 0.1, Scheduler = disksim_ioqueue { Scheduling policy = 1 },
   Number of buffer segments = 2, Segment size (in blks) = 64, Buffer continuous read = 3, Fast write level = 0,
   Read hit over. after read = 0.1, Read hit over. after write = 0.2, Read miss over. after read = 0.3,
   Read miss over. after write = 0.4, Write hit over. after read = 0.5, Write hit over. after write = 0.6,
   Write miss over. after read = 0.7, Write miss over. after write = -0.8, Read Any Free  Blocks = 1
}
instantiate [ disk0 ] as small
"""
SEEK = "Seek distances measured: 3\n1, 1.0\n10\t2.0\n19 ; 4.0\n"
TRACE = "R Hit 0 4 5000.0 20000.0\nW Miss 3000 8 1000 20000\n\n r x 3000 8 900 0\n"


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    paths = {ending: tmp_path / f"small.{ending}" for ending in ("trace", "model", "seek", "diskspecs")}
    for path, text in zip(paths.values(), (TRACE, MODEL, SEEK, SPECS), strict=True):
        path.write_text(text, encoding="utf-8")
    return paths


def test_the_files_are_read_whatever_their_order_spacing_and_units(files: dict[str, Path]) -> None:
    mechanics = read_drive(files["model"], files["seek"])
    assert mechanics.turn_s == pytest.approx(0.01)
    assert mechanics.head_switch_s == pytest.approx(0.1 * 0.01), "the skew says what a switch takes where the field says less"
    geometry = mechanics.geometry
    assert geometry.capacity_bytes == 3960 * 512
    assert geometry.spot(0) == (0.0, 0)
    assert geometry.spot(198 * 512)[1] == 1, "two spares end each cylinder of 200 blocks"
    assert geometry.spot(198 * 512)[0] == pytest.approx(2.3)
    assert geometry.spot(1980 * 512)[1] == 10, "zones are in the order of their cylinders"
    assert read_case(files["trace"], files["model"], files["seek"]).judge().n == 3


def test_a_negative_write_settling_is_read_and_brings_a_write_forward_but_not_before_the_arm_sets_off(files: dict[str, Path]) -> None:
    text = files["model"].read_text(encoding="utf-8")
    electronics = plain_electronics(
        overhead_s=0.0, interface_rate=1e12, segments=1, segment_bytes=512, read_ahead_bytes=0, write_back=False
    )
    ends_s = {}
    for settle_ms in (0.0, -0.5, -2.0, -30.0):
        files["model"].write_text(text.replace("Single cyl", f"Add. write settling delay = {settle_ms}, Single cyl"), encoding="utf-8")
        mechanics = read_drive(files["model"], files["seek"])
        assert mechanics.write_settle_s == pytest.approx(settle_ms / 1e3)
        # On a platter that turns at once only the arm is left: ten cylinders take 2 ms.
        model = Hdd(replace(mechanics, turn_s=1e-9), electronics, seed=1)
        model.submit(0.0, 0, Operation.WRITE, 1980 * 512, 512)
        ends_s[settle_ms] = model.advance(1.0)[0][1]
    assert list(ends_s.values()) == pytest.approx([2e-3, 1.5e-3, 0.0, 0.0], abs=1e-8)


def test_specs_are_read_with_their_defaults_and_what_is_not_theirs_is_passed_over(files: dict[str, Path]) -> None:
    specs = read_specs(files["diskspecs"])
    assert specs.command_ms(Operation.WRITE, hit=False, before=Operation.WRITE) == -0.8
    assert specs.command_ms(Operation.READ, hit=True, before=Operation.WRITE) == 0.2
    assert (specs.segments, specs.segment_sectors, specs.read_ahead) == (2, 64, ReadAhead.SEGMENT)
    assert specs.free_blocks, "names are compared without regard to case and spacing"
    assert specs.caching
    assert not specs.never_disconnects
    assert specs.scale == 1.0


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("Fast write level = 0,", "", ["Fast write level", "not said", "Remedy: add the line"]),
        ("Fast write level = 0,", "Fast write level = 3,", ["Fast write level is '3'", "0, 1 or 2"]),
        ("Read Any Free", "Read Any Fre", ["read any fre blocks", "no field", "'Read any free blocks'"]),
        ("transfer time = 0.1", "transfer time = -0.1", ["Bulk sector transfer time is '-0.1'", "greater than or equal to 0"]),
        ("after read = 0.3", "after read = long", ["Read miss over. after read is 'long'", "valid number"]),
        ("Number of buffer segments = 2,", "", ["Number of buffer segments", "no block says it", "disksim_disk"]),
    ],
)
def test_bad_specs_are_refused(files: dict[str, Path], old: str, new: str, said: list[str]) -> None:
    assert old in SPECS
    files["diskspecs"].write_text(SPECS.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError, match=r"small\.diskspecs") as caught:
        read_case(files["trace"], files["model"], files["seek"], specs=files["diskspecs"])
    for part in said:
        assert part in str(caught.value)


def test_the_bus_adds_its_time_with_and_without_specs(files: dict[str, Path]) -> None:
    for operation, specs in [("W", None), ("R", files["diskspecs"])]:  # buffered writes; reads, of which all but the first are hits
        files["trace"].write_text(f"{operation} Hit 0 4 5000 20000\n" * 50, encoding="utf-8")
        means_s = [
            read_case(files["trace"], files["model"], files["seek"], specs=specs, bus_ms_per_sector=bus_ms).judge().mean_predicted_s
            for bus_ms in (0.0, 0.5)
        ]
        assert means_s[1] - means_s[0] == pytest.approx(4 * 0.5e-3, abs=1e-5), "four sectors"
    with pytest.raises(InputError, match="--bus-ms-per-sector is -1"):
        read_case(files["trace"], files["model"], files["seek"], bus_ms_per_sector=-1)


FORMULAS = [
    ("Seek type = linear, Single cylinder seek time = 1.0, Full strobe seek time = 10.0", {1: 1.0, 10: 5.5, 19: 10.0}),
    ("Seek type = constant, Average seek time = 7.0", {1: 7.0, 19: 7.0}),
    ("Seek type = hpl, HPL seek equation values = [ 10, 1.0, 2.0, 6.0, 0.1, 1.5 ]", {1: 1.5, 4: 5.0, 9: 7.0, 10: 7.0, 19: 7.9}),
    ("Seek type = hpl, HPL seek equation values = [ 10, 1.0, 2.0, 6.0, 0.1, -1 ]", {1: 3.0}),
    (
        "Seek type = hplplus10, HPL seek equation values = [ 5, 1.0, 2.0, 6.0, 0.1, 1.5 ],"
        " First ten seek times = [ 1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9 ]",
        {1: 1.0, 10: 1.9, 11: 7.1},
    ),
    ("Seek type = extracted, Full seek curve = small.seek", {1: 1.0, 10: 2.0, 19: 4.0}),
]


@pytest.mark.parametrize(("said", "expected_ms"), FORMULAS)
def test_without_a_table_the_model_says_its_seek_curve(files: dict[str, Path], said: str, expected_ms: dict[int, float]) -> None:
    files["model"].write_text(MODEL.replace("Single cylinder seek time = 1.0", said), encoding="utf-8")
    seek_s = read_drive(files["model"]).seek
    assert [seek_s(distance) * 1e3 for distance in expected_ms] == pytest.approx(list(expected_ms.values()))


def test_three_seek_times_are_met_on_average(files: dict[str, Path]) -> None:
    said = "Seek type = curve, Single cylinder seek time = 1.0, Average seek time = 9.0, Full strobe seek time = 18.0"
    wide = MODEL.replace("Last cylinder number = 19", "Last cylinder number = 1999").replace("Single cylinder seek time = 1.0", said)
    files["model"].write_text(wide, encoding="utf-8")
    seek_s = read_drive(files["model"]).seek
    assert [seek_s(1), seek_s(2000)] == pytest.approx([1e-3, 18e-3], rel=1e-3)
    shares = [(2000 - distance) * 2 / 2000**2 for distance in range(1, 2000)]
    assert sum(share * seek_s(distance) for distance, share in enumerate(shares, start=1)) == pytest.approx(9e-3, rel=3e-3)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("Seek type = odd", ["Seek type is 'odd'", "linear", "--seek"]),
        ("Seek type = linear, Single cylinder seek time = 1.0", ["Full strobe seek time", "must say it"]),
        ("Seek type = hpl, HPL seek equation values = [ 1, 2 ]", ["HPL seek equation values is 2", "6 numbers"]),
        ("Seek type = extracted, Full seek curve = other.seek", ["other.seek", "No such file"]),
    ],
)
def test_a_seek_curve_that_cannot_be_is_refused(files: dict[str, Path], said: str, message: list[str]) -> None:
    files["model"].write_text(MODEL.replace("Single cylinder seek time = 1.0", said), encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_drive(files["model"])
    for part in message:
        assert part in str(error.value)


@pytest.mark.parametrize(
    ("ending", "old", "new", "said"),
    [
        ("model", "Number of spares = 2, slips = []", "Number of spares = 200, slips = []", ["Number of spares", "cannot hold that many"]),
        ("model", "Last cylinder number = 19", "Last cylinder number = 9", ["Last cylinder number", "not be below", "10"]),
        ("model", "Blocks per track = 100, Skew for", "Blocks per track = many, Skew for", ["Blocks per track is 'many'", "a number"]),
        ("model", "Zones", "Bands", ["zones", "no block says it"]),
        ("model", "Block count = 3960", "Block count = 9999", ["Block count is 9999", "hold 3960 blocks only"]),
        ("model", "defects = [ ]", "defects = [ }", ["bracket"]),
        ("seek", "10\t2.0", "10\t-2.0", ["small.seek line 3", "seek time is -2.0"]),
        ("trace", "W Miss", "X Miss", ["small.trace line 2", "R|W flag LBN sectors"]),
        ("trace", "Miss 3000", "Miss 3953", ["small.trace line 2", "3960 blocks"]),
    ],
)
def test_a_bad_file_is_refused_with_its_place_value_and_rule(
    files: dict[str, Path], ending: str, old: str, new: str, said: list[str]
) -> None:
    text = files[ending].read_text(encoding="utf-8")
    assert old in text
    files[ending].write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_case(files["trace"], files["model"], files["seek"])
    for part in said:
        assert part in str(caught.value)


@pytest.mark.parametrize("ending", ["trace", "model", "seek"])
def test_an_absent_or_empty_file_is_refused(files: dict[str, Path], ending: str) -> None:
    for spoil in (lambda path: path.write_text(""), Path.unlink):
        spoil(files[ending])
        with pytest.raises(InputError, match=f"small.{ending}"):
            read_case(files["trace"], files["model"], files["seek"])


def test_the_command_takes_specs(files: dict[str, Path]) -> None:
    options = [part for ending, path in files.items() for part in (f"--{ending.replace('diskspecs', 'specs')}", str(path))]
    found = said_as_json("validate", "device", *options)
    assert found["n"] == 3
    assert found["mean_error"] == pytest.approx(found["mean_predicted_s"] / found["mean_measured_s"] - 1)


@pytest.fixture(scope="module")
def committed() -> dict[str, object]:
    found: dict[str, object] = json.loads((paths.data() / "validation" / "models.json").read_text(encoding="utf-8"))
    return found


def test_the_drives_are_found_again(committed: dict[str, object]) -> None:
    folder = shared("realdata", "devices")
    assert validate_models.rounded([validate_models.drive(folder, name) for name in validate_models.DRIVES]) == committed["drives"]


def test_the_caches_are_found_again_and_are_the_published_ones(committed: dict[str, object]) -> None:
    found = validate_models.caches(shared("realdata", "traces", "OLTP.lis.zst"))
    assert validate_models.rounded(found) == committed["caches"]
    for line in found:
        assert round(100 * line["hit_ratio"], 2) == pytest.approx(line["published_hit_percent"], abs=1e-9)


def test_a_missing_file_says_how_to_make_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TIERWISE_HOME", str(tmp_path))
    with pytest.raises(Exception, match=r"python scripts/validate_models\.py"):
        load(*MODELS)


def test_a_figure_of_the_emulator_that_misses_its_bound_is_in_bold(reference: Run) -> None:
    emulator = find("tbl-emulator")
    found = emulator.rows(reference, "").frame
    shown = emulator.module.tabulate(found).rows
    assert len(shown) == found.height > 0
    assert [row[5].startswith("**") for row in shown] == [met is False for met in found["met"]]
