"""Core: errors name the thing, files are whole or absent, configuration is typed; dates, tables for a terminal, compiled code."""

import datetime as dt
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tierwise.core import host, paths
from tierwise.core.dates import is_stale
from tierwise.core.errors import InputError
from tierwise.core.files import replacing, write_whole
from tierwise.core.pairs import load_pair
from tierwise.core.profiles import Profile, load_profile
from tierwise.core.progress import ENDS, Progress
from tierwise.core.text_table import WIDTH, table, wrapped
from tierwise.core.toml import Strict, read_toml
from tierwise.core.units import human_bytes, human_seconds
from tierwise.core.vocabulary import Evidence
from tierwise.devices.parameter import Parameter
from tierwise.report.values.provenance import band_of, source_of


class Thing(Strict):
    size_bytes: int


def test_an_input_error_names_place_field_value_rule_and_remedy() -> None:
    error = InputError("data/tiers/x.toml", field="scale", value=-1, rule="must be above 0", remedy="scale = 1")
    assert str(error) == "data/tiers/x.toml: scale is -1: must be above 0. Remedy: scale = 1"


def test_a_written_file_is_whole(tmp_path: Path) -> None:
    write_whole(tmp_path / "a.txt", "one")
    write_whole(tmp_path / "a.txt", "two")
    assert (tmp_path / "a.txt").read_text() == "two"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_a_failing_writer_leaves_the_old_file_and_no_scrap(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")
    with pytest.raises(FileNotFoundError), replacing(target) as part:
        (part.write_text("half"), Path("/nonesuch").read_text())
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("size_bytes = 1\nunknown = 2\n", r"x\.toml: unknown is 2: no such key here"),
        ("size_bytes = 'many'\n", r"x\.toml: size_bytes is 'many': Input should be a valid integer"),
        ("", r"x\.toml: size_bytes: Field required"),
        ("size_bytes =", r"x\.toml: not valid TOML"),
    ],
)
def test_a_bad_file_is_named_with_field_value_and_rule(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "x.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=expected):
        read_toml(path, Thing)


@pytest.mark.parametrize(("load", "known"), [(load_pair, "source-m"), (load_profile, "full, quick, smoke")])
def test_an_unknown_name_lists_the_known_ones(load: Callable[[str], object], known: str) -> None:
    with pytest.raises(InputError, match=f"no such file.*Remedy: name one of:.*{known}"):
        load("nonesuch")


def test_a_pair_of_two_kinds_of_evidence_is_mixed() -> None:
    assert load_pair("source-m").evidence is Evidence.EMULATED
    assert load_pair("local").evidence is Evidence.MIXED


def test_a_studys_table_in_a_profile_is_checked_by_the_study() -> None:
    profile = load_profile("smoke").model_copy(update={"studies": {"one": {"size_bytes": 0.5}}})
    with pytest.raises(InputError, match=r"profile smoke: studies\.one: size_bytes is 0\.5"):
        profile.study("one", Thing)
    assert isinstance(profile, Profile)


def test_a_path_is_shown_without_the_readers_home() -> None:
    assert paths.short(paths.home() / "data" / "tiers" / "x.toml") == "data/tiers/x.toml"
    assert paths.short(Path("/somewhere/private/x.toml")) == "x.toml"


def test_the_fingerprint_names_the_machine_and_nobody() -> None:
    machine = host.fingerprint()
    assert machine.cores >= 1
    assert machine.memory_bytes > 0
    assert "unknown" not in {machine.cpu, machine.distribution}
    assert not {"hostname", "user", "node"} & set(type(machine).model_fields)


def test_what_is_said_in_a_file_stands_in_order(tmp_path: Path) -> None:
    script = "from tierwise.core.progress import announcing, say\nwith announcing():\n    say('first')\n    say('second')\nsay('third')"
    with (tmp_path / "log").open("w", encoding="utf-8") as log:
        subprocess.run([sys.executable, "-c", script], stderr=log, check=True)
    assert (tmp_path / "log").read_text(encoding="utf-8") == "first\nsecond\nthird\n"


def test_progress_speaks_only_of_long_work_and_tells_the_time_left(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock_s = 0.0
    monkeypatch.setattr("tierwise.core.progress.time.monotonic", lambda: clock_s)
    progress = Progress("loading", 100, already=50)
    clock_s = 1.0
    progress.step(1)
    assert capfd.readouterr().err == ""
    clock_s = 10.0
    progress.step(9)
    assert capfd.readouterr().err == "loading: 60%, about 40 s left\n"
    monkeypatch.setenv(ENDS, "400")
    monkeypatch.setenv("VERBOSE", "1")
    clock_s = 20.0
    progress.step(10, note="a trial's key")
    assert capfd.readouterr().err == "loading: 70%, about 6 min left (a trial's key)\n"


def test_units_are_readable() -> None:
    assert [human_bytes(size) for size in (5, 1536, 3 * 2**30)] == ["5 B", "1.5 KiB", "3.0 GiB"]
    assert [human_seconds(span) for span in (5, 95, 4000)] == ["0:05", "1:35", "1:06:40"]


ON = dt.date(2026, 11, 23)


@pytest.mark.parametrize(
    ("text", "stale"), [("2026", False), ("2025-12", False), ("2025-11-23", False), ("2025-11-22", True), ("2025", True)]
)
def test_what_is_older_than_a_year_is_stale(text: str, stale: bool) -> None:
    assert is_stale(text, ON) is stale


def test_a_parameter_of_no_day_is_refused() -> None:
    with pytest.raises(ValueError, match="month must be in"):
        Parameter(value=1.0, unit="ms", source="a page", date="2026-13")


def test_a_table_of_parameters_says_band_and_day_and_what_is_old() -> None:
    assumed = {"value": 1.0, "unit": "ms", "source": "assumed", "low": 0.5, "high": 2.0}
    assert source_of(assumed, ON).replace("\N{NO-BREAK SPACE}", " ") == "**assumed**"
    assert band_of(assumed).replace("\N{NO-BREAK SPACE}", " ") == " (0.5 to 2 ms)"
    assert source_of({"value": 1.0, "unit": "ms", "source": "a page", "date": "2023-06-15"}, ON) == "a page, 2023-06-15, older than a year"
    assert source_of({"value": 1.0, "unit": "ms", "source": "a page", "date": "2026-10-05"}, ON) == "a page, 2026-10-05"


def test_columns_are_as_wide_as_their_widest_cell_and_numbers_stand_to_the_right() -> None:
    text = table(["device", "IOPS", "from"], [["hdd", "187", "simulated"], ["nvme", "1,000,000", ""]], numbers=[1])
    assert text.splitlines() == ["device       IOPS  from", "hdd           187  simulated", "nvme    1,000,000"]


def test_what_is_too_long_continues_below_itself_and_nothing_is_read_as_markup() -> None:
    long = "a source of many words " * 50 + "end"
    text = table(["[bold]x[/bold]", "y"], [[":smile:", long]])
    for shown in (text, wrapped(f"    {long}")):
        assert max(map(len, shown.splitlines())) <= WIDTH
        assert long.split() == [word for word in shown.split() if word not in {"[bold]x[/bold]", "y", ":smile:"}]
    assert text.splitlines()[1].startswith(":smile:         a source")


def test_a_terminal_that_asks_for_colours_gets_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "20")
    assert table(["a", "b"], [["1" * 30, "2"]]) == f"{'a':30}  b\n{'1' * 30}  2"


INNER = "from tierwise.core.compiled import inlined\n\n@inlined\ndef inner(value: int) -> int:\n    return value + {0}\n"
OUTER = """
from inner import inner
from tierwise.core.compiled import compiled

@compiled
def outer(value: int) -> int:
    return inner(value)

print(outer(1), sum(outer.stats.cache_hits.values()))
"""


def test_compiled_code_is_kept_until_a_module_beside_it_changes(tmp_path: Path) -> None:
    folder = tmp_path / "loops"
    folder.mkdir()
    (folder / "outer.py").write_text(OUTER)

    def run(added: int) -> str:
        (folder / "inner.py").write_text(INNER.format(added))
        kept = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA_")}
        environment = {**kept, "PYTHONDONTWRITEBYTECODE": "1"}  # Python itself would miss a change within a second
        done = subprocess.run([sys.executable, "outer.py"], cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    # The result, and how many signatures came from disk.
    assert run(10) == "11 0\n"
    assert run(10) == "11 1\n"
    assert run(20) == "21 0\n"


@pytest.mark.parametrize("arguments", [(), ("--help",), ("--version",)], ids=str)
def test_the_first_commands_load_nothing_that_takes_long(arguments: tuple[str, ...], tmp_path: Path) -> None:
    heavy = {"numba", "numpy", "scipy", "polars", "duckdb", "pyarrow", "altair"}
    script = (
        f"import sys; from tierwise.cli import app; app({list(arguments)}, standalone_mode=False); print({heavy!r} & sys.modules.keys())"
    )
    environment = {**os.environ, "TIERWISE_RAW": str(tmp_path)}  # there is no run but the one that ships
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, env=environment)
    assert done.stdout.endswith("set()\n"), done.stderr
