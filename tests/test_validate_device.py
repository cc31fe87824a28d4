"""The disk model against measured service times of real drives, and against files that are not what they should be."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from support import shared
from tierwise.core.errors import InputError
from tierwise.simulate.device_validation import COMMON, DriveCase, fit, read_case, validate
from tierwise.simulate.drive_files import read_drive, read_seeks
from tierwise.simulate.drive_trace import predict, read_trace

DRIVES = ("atlas10k", "barracuda", "cheetah4LP")


@cache
def _case(name: str, folder: Path) -> DriveCase:
    return read_case(*(folder / f"{name}.{ending}" for ending in ("trace", "model", "seek")))


def real(name: str) -> DriveCase:
    return _case(name, shared("realdata", "devices"))


@pytest.mark.parametrize("name", DRIVES)
def test_the_mean_service_time_of_the_half_not_fitted_on_is_within_a_tenth(name: str) -> None:
    found = real(name).judge(part="second half")
    assert found.n == 5000
    assert abs(found.mean_error) <= 0.10
    assert found.demerit < 0.15
    assert found.mean_error == pytest.approx(found.mean_predicted_s / found.mean_measured_s - 1)


def test_the_common_electronics_are_what_the_first_halves_give() -> None:
    assert fit([real(name) for name in DRIVES]) == COMMON


@pytest.mark.parametrize("name", DRIVES)
def test_a_drive_is_predicted_from_the_two_others_alone(name: str) -> None:
    common = fit([real(other) for other in DRIVES if other != name])
    assert abs(real(name).judge(common, "second half").mean_error) <= 0.10


def test_measured_times_are_no_input_of_the_prediction() -> None:
    case = real("cheetah4LP")
    requests = list(case.requests[:1000])
    disguised = [replace(request, measured_s=1.0) for request in requests]
    electronics = COMMON.of(case.mechanics)
    assert predict(requests, case.mechanics, electronics) == predict(disguised, case.mechanics, electronics)


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
SEEK = "Seek distances measured: 3\n1, 1.0\n10\t2.0\n19 ; 4.0\n"
TRACE = "R Hit 0 4 5000.0 20000.0\nW Miss 3000 8 1000 20000\n\n r x 3000 8 900 0\n"


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    paths = {ending: tmp_path / f"small.{ending}" for ending in ("trace", "model", "seek")}
    for path, text in zip(paths.values(), (TRACE, MODEL, SEEK), strict=True):
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
    assert validate(files["trace"], files["model"], files["seek"]).n == 3


def test_seek_times_between_the_measured_distances_lie_between(files: dict[str, Path]) -> None:
    seek_s = read_seeks(files["seek"])
    assert [seek_s(distance) for distance in (1, 5.5, 10, 19)] == pytest.approx([1e-3, 1.5e-3, 2e-3, 4e-3])
    assert seek_s(20) > seek_s(19)


@pytest.mark.parametrize(
    ("ending", "old", "new", "said"),
    [
        ("model", "Number of spares = 2, slips = []", "Number of spares = 200, slips = []", ["Number of spares", "cannot hold so many"]),
        ("model", "Last cylinder number = 19", "Last cylinder number = 9", ["Last cylinder number", "not be below", "10"]),
        ("model", "Blocks per track = 100, Skew for", "Blocks per track = many, Skew for", ["Blocks per track is 'many'", "a number"]),
        ("model", "= 6000", "= 0", ["Rotation speed", "above zero"]),
        ("model", "Zones", "Bands", ["zones", "no block says it"]),
        ("model", "Block count = 3960", "Block count = 9999", ["Block count is 9999", "hold 3960 blocks only"]),
        ("model", "defects = [ ]", "defects = [ }", ["bracket"]),
        ("seek", "10\t2.0", "10\t-2.0", ["small.seek line 3", "seek time is -2.0"]),
        ("seek", "10\t2.0", "10\tlong", ["small.seek line 3", "distance in cylinders and a time"]),
        ("trace", "W Miss", "X Miss", ["small.trace line 2", "R|W flag LBN sectors"]),
        ("trace", "Miss 3000", "Miss 3953", ["small.trace line 2", "3960 blocks"]),
        ("trace", "1000 20000", "1000 -1", ["small.trace line 2", "zero or more microseconds"]),
    ],
)
def test_a_bad_file_is_told_with_its_place_value_and_rule(files: dict[str, Path], ending: str, old: str, new: str, said: list[str]) -> None:
    text = files[ending].read_text(encoding="utf-8")
    assert old in text
    files[ending].write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError) as told:
        validate(files["trace"], files["model"], files["seek"])
    for part in said:
        assert part in str(told.value)


@pytest.mark.parametrize("ending", ["trace", "model", "seek"])
def test_an_absent_or_empty_file_is_told(files: dict[str, Path], ending: str) -> None:
    for spoil in (lambda path: path.write_text(""), Path.unlink):
        spoil(files[ending])
        with pytest.raises(InputError, match=f"small.{ending}"):
            validate(files["trace"], files["model"], files["seek"])


def test_a_trace_is_read_without_its_flag(files: dict[str, Path]) -> None:
    reads = read_trace(files["trace"], 3960 * 512)
    files["trace"].write_text(TRACE.replace("Hit", "Miss"), encoding="utf-8")
    assert read_trace(files["trace"], 3960 * 512) == reads
