"""The timing store: parts survive kills, a merged run is one file, views hold every valid run, and a row that breaks a rule is refused."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rows import make_manifest, make_rows, make_run, save_run
from support import waited_for
from tierwise.analysis.views import connect
from tierwise.core.errors import InputError
from tierwise.timings.manifest import manifests
from tierwise.timings.parts import PartKey, done_parts, merge_parts, read_rows, write_part
from tierwise.timings.schema import SCHEMA
from tierwise.timings.validation import NULLABLE, validate_rows

RUN = "run-1"
ROWS = make_rows(run_id=RUN, replicates=2).filter(pl.col("trial").str.contains("start=FL"))
PARTS = 8  # four placements in two replicates


def parts_of(rows: pl.DataFrame) -> Iterator[pl.DataFrame]:
    return (part for _, part in rows.group_by("study", "pair", "trial", "replicate", maintain_order=True))


def key_of(part: pl.DataFrame) -> PartKey:
    study, pair, trial, replicate = part.select("study", "pair", "trial", "replicate").row(0)
    return study, pair, trial, replicate


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    run_folder = tmp_path / RUN
    for part in parts_of(ROWS):
        write_part(run_folder, part)
    make_manifest(ROWS, complete=False).save(run_folder)
    return run_folder


def part_files(folder: Path) -> list[Path]:
    """Whole ones: a name that begins with a dot is being written."""
    return sorted(path for path in (folder / "parts").rglob("[!.]*") if path.is_file())


def test_what_is_written_is_done(folder: Path) -> None:
    assert done_parts(folder) == {key_of(part) for part in parts_of(ROWS)}
    assert len(part_files(folder)) == PARTS


def test_merged_rows_are_those_of_the_parts_in_the_order_of_execution(folder: Path) -> None:
    merged = merge_parts(folder)
    assert merged == folder / "timings.parquet"
    assert read_rows(folder).equals(ROWS.sort("sequence", "step"))
    assert read_rows(folder).schema == pl.Schema(SCHEMA)
    assert not (folder / "parts").exists()
    merge_parts(folder)
    assert done_parts(folder) == {key_of(part) for part in parts_of(ROWS)}
    assert read_rows(folder).height == ROWS.height


def test_a_part_that_was_merged_but_not_removed_counts_once(folder: Path) -> None:
    kept = part_files(folder)[0]
    content = kept.read_bytes()
    merge_parts(folder)
    kept.parent.mkdir(parents=True)
    kept.write_bytes(content)
    merge_parts(folder)
    assert read_rows(folder).height == ROWS.height
    assert not kept.exists()


def test_a_part_that_comes_after_a_merge_is_added(tmp_path: Path) -> None:
    first, *others = parts_of(ROWS)
    for part in others:
        write_part(tmp_path / RUN, part)
    merge_parts(tmp_path / RUN)
    write_part(tmp_path / RUN, first)
    merge_parts(tmp_path / RUN)
    assert read_rows(tmp_path / RUN).equals(ROWS.sort("sequence", "step"))


def test_a_run_without_rows_cannot_be_merged(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no row was measured"):
        merge_parts(tmp_path / RUN)
    assert not (tmp_path / RUN).exists()


@pytest.mark.parametrize("share", [0.0, 0.3, 0.99])
def test_a_torn_part_is_removed_with_a_notice_and_measured_again(folder: Path, share: float, capsys: pytest.CaptureFixture[str]) -> None:
    torn = part_files(folder)[5]
    content = torn.read_bytes()
    torn.write_bytes(content[: round(len(content) * share)])
    assert len(done_parts(folder)) == PARTS - 1
    assert not torn.exists()
    assert torn.name in capsys.readouterr().err


def test_alien_files_among_the_parts_are_removed_with_a_notice(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = folder / "parts" / "index_placement"
    some = part_files(folder)[0]
    (study / ".abc.parquet.4711.part").write_bytes(b"left by a kill")
    (study / "notes.txt").write_text("hello")
    (study / "renamed.parquet").write_bytes(some.read_bytes())
    next(parts_of(make_rows(run_id="run-2"))).write_parquet(study / "run-2.parquet")
    assert len(done_parts(folder)) == PARTS
    assert len(part_files(folder)) == PARTS
    notices = capsys.readouterr().err
    assert all(name in notices for name in (".abc.parquet.4711.part", "notes.txt", "renamed.parquet", "run-2.parquet"))


def test_a_second_writer_replaces_nothing(folder: Path) -> None:
    before = {path: path.read_bytes() for path in part_files(folder)}
    other = next(parts_of(ROWS)).with_columns(pl.col("elapsed_s") * 2)
    with pytest.raises(InputError, match="raw rows are never replaced"):
        write_part(folder, other)
    assert {path: path.read_bytes() for path in part_files(folder)} == before


def test_an_invalid_part_leaves_no_file(tmp_path: Path) -> None:
    part = next(parts_of(ROWS)).with_columns(elapsed_s=pl.lit(-1.0))
    with pytest.raises(InputError, match=r"elapsed_s, row 1 is -1\.0"):
        write_part(tmp_path / RUN, part)
    assert list(tmp_path.rglob("*")) == []


def test_a_part_holds_one_trial_in_one_replicate_of_its_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="one trial in one replicate"):
        write_part(tmp_path / RUN, ROWS)
    with pytest.raises(InputError, match="one trial in one replicate"):
        write_part(tmp_path / RUN, ROWS.clear())
    with pytest.raises(InputError, match="must be the run that it lies in, run-2"):
        write_part(tmp_path / "run-2", next(parts_of(ROWS)))


def test_a_killed_writer_leaves_whole_parts_only(tmp_path: Path) -> None:
    writer = """
import sys
from pathlib import Path
from rows import make_rows
from tierwise.timings.parts import write_part
rows = make_rows(run_id="run-1", replicates=200)
for _, part in rows.group_by("study", "pair", "trial", "replicate", maintain_order=True):
    write_part(Path(sys.argv[1]), part)
"""
    path = ":".join(entry for entry in sys.path if entry)
    with subprocess.Popen([sys.executable, "-c", writer, str(tmp_path / RUN)], env={"PYTHONPATH": path}) as process:
        waited_for(lambda: len(part_files(tmp_path / RUN)) >= 5, within_s=30)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    done = done_parts(tmp_path / RUN)
    assert len(done) >= 5
    merge_parts(tmp_path / RUN)
    rows = read_rows(tmp_path / RUN)
    assert rows.height == 3 * len(done)
    assert {key_of(part) for part in parts_of(rows)} == done


def timings_by_run(raw: Path, run_id: str | None = None) -> dict[str, int]:
    with connect(raw, run_id) as connection:
        return dict(connection.execute("select run_id, count(*) from timings group by run_id order by run_id").fetchall())


def runs(raw: Path, run_id: str | None = None) -> list[tuple[str, str, str]]:
    with connect(raw, run_id) as connection:
        query = "select run_id, manifest ->> 'status', manifest ->> '$.profile.name' from runs order by run_id"
        return connection.execute(query).fetchall()


def test_views_hold_every_complete_run_or_the_named_one(tmp_path: Path) -> None:
    make_run(tmp_path, run_id="a", replicates=2)
    make_run(tmp_path, run_id="b", replicates=1, profile="smoke")
    assert timings_by_run(tmp_path) == {"a": 72, "b": 36}
    assert timings_by_run(tmp_path, "b") == {"b": 36}
    assert runs(tmp_path) == [("a", "complete", "quick"), ("b", "complete", "smoke")]
    assert runs(tmp_path, "b") == [("b", "complete", "smoke")]


def test_views_of_nothing_are_empty(tmp_path: Path) -> None:
    assert timings_by_run(tmp_path) == {}
    assert timings_by_run(tmp_path / "absent") == {}


def test_the_view_has_the_columns_of_the_schema(tmp_path: Path) -> None:
    rows = make_rows(run_id="a", replicates=1)
    save_run(tmp_path, rows)
    with connect(tmp_path) as connection:
        read = connection.sql("from timings order by sequence, step").pl()
    assert read.columns == list(SCHEMA)
    assert read.drop("started_at").equals(rows.sort("sequence", "step").drop("started_at"))


def test_an_unfinished_run_is_listed_and_its_rows_are_seen_when_it_is_named(folder: Path) -> None:
    raw = folder.parent
    make_run(raw, run_id="whole", replicates=1)
    assert runs(raw) == [(RUN, "running", "quick"), ("whole", "complete", "quick")]
    assert timings_by_run(raw) == {"whole": 36}
    assert timings_by_run(raw, RUN) == {RUN: ROWS.height}


def test_an_unknown_run_is_an_error_that_names_those_there_are(tmp_path: Path) -> None:
    make_run(tmp_path, run_id="a", replicates=1)
    make_run(tmp_path, run_id="b", replicates=1)
    for name in ("c", "", "..", "a/parts"):
        with pytest.raises(InputError, match="there are: a, b"):
            connect(tmp_path, name)


@pytest.mark.parametrize(
    ("file", "content", "rule"),
    [
        ("timings.parquet", b"PAR1 not really", "must be a whole Parquet file"),
        ("manifest.json", b"{", "must be JSON"),
        ("manifest.json", b"{}", "format_version is 'none': must be 4. Remedy: read it with tierwise 0.2.0"),
        ("manifest.json", b'{"format_version": 4}', "Field required"),
        ("manifest.json", b"\xff", "not UTF-8"),
    ],
)
def test_a_corrupt_run_is_named_and_left_out_unless_it_is_the_one_requested(
    tmp_path: Path, file: str, content: bytes, rule: str, capsys: pytest.CaptureFixture[str]
) -> None:
    make_run(tmp_path, run_id="sound", replicates=1)
    (make_run(tmp_path, run_id="corrupt", replicates=1) / file).write_bytes(content)
    assert timings_by_run(tmp_path) == {"sound": 36}
    assert f"left alone: corrupt/{file}" in capsys.readouterr().err
    with pytest.raises(InputError, match=f"corrupt/{file}.*{rule}"):
        connect(tmp_path, "corrupt")


def test_rows_of_another_run_are_foreign(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make_run(tmp_path, run_id="a", replicates=1)
    make_rows(run_id="b", replicates=1).write_parquet(folder / "timings.parquet")
    assert timings_by_run(tmp_path) == {}
    assert "run_id, row 1 is 'b': must be the run that it lies in, a" in capsys.readouterr().err


def test_a_folder_that_is_no_run_is_named_and_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_run(tmp_path, run_id="a", replicates=1)
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "empty").mkdir()
    (tmp_path / ".hidden").mkdir()
    make_run(tmp_path, run_id="moved", replicates=1).rename(tmp_path / "elsewhere")
    assert list(manifests(tmp_path)) == ["a"]
    notices = capsys.readouterr().err
    assert all(name in notices for name in ("empty", "elsewhere"))
    assert not any(name in notices for name in (".hidden", "notes.txt"))
    assert (tmp_path / "notes.txt").exists()


VALID = make_rows(replicates=1)


def with_value(column: str, value: Any, row: int = 3) -> pl.DataFrame:
    values = VALID[column].to_list()
    values[row - 1] = value
    return VALID.with_columns(pl.Series(column, values, dtype=SCHEMA[column]))


def with_field(column: str, **fields: Any) -> pl.DataFrame:
    first, *others = VALID[column].to_list()[2]
    return with_value(column, [{**first, **fields}, *others])


@pytest.mark.parametrize(
    "rows",
    [
        VALID,
        with_value("result_rows", None),
        with_field("relation_io", io_s=None, io_basis="strace is missing"),
        with_field("tier_io", device=None, **dict.fromkeys(("reads", "read_bytes", "writes", "write_bytes", "intended_s", "actual_s"))),
    ],
    ids=["as the bench writes them", "without a result", "of a relation whose time is unknown", "of a directory, which counts nothing"],
)
def test_rows_that_keep_every_rule_are_valid(rows: pl.DataFrame) -> None:
    validate_rows(rows)


@pytest.mark.parametrize(
    ("column", "value", "rule"),
    [
        ("format_version", 3, "must be 4"),
        *((column, "", "must not be empty") for column in ("run_id", "study", "pair", "trial")),
        *(("evidence", word, "must be one of measured, emulated, simulated, mixed") for word in ("guessed", "published")),
        ("io_mode", "mapped", "must be one of direct, buffered"),
        ("cache", "lukewarm", "must be one of cold, hot, cross, none"),
        *((column, -1, "must be at least 0") for column in ("replicate", "step", "sequence", "result_rows")),
        *(("elapsed_s", time_s, "must be more than 0 and finite") for time_s in (0.0, -0.5, float("inf"), float("nan"))),
        ("cell", "[1]", "must be a JSON object"),
        ("cell", "{", "must be a JSON object"),
        ("proof", "cold, really", "must be a JSON object"),
        ("flags", ["overshoot", None], "a flag must not be null"),
        ("clock", "guessed", "must be one of real, virtual-one, virtual-several"),
        ("cpu_s", -0.1, "must be at least 0"),
    ],
)
def test_a_value_that_breaks_a_rule_is_named(column: str, value: Any, rule: str) -> None:
    with pytest.raises(InputError) as caught:
        validate_rows(with_value(column, value), where="x/timings.parquet")
    message = str(caught.value)
    assert message.startswith(f"x/timings.parquet: {column}, row 3")
    assert rule in message
    assert repr(value) in message


@pytest.mark.parametrize("column", [name for name in SCHEMA if name not in NULLABLE])
def test_null_is_refused(column: str) -> None:
    with pytest.raises(InputError, match=f"{column}, row 3: must not be null"):
        validate_rows(with_value(column, None))


@pytest.mark.parametrize(
    ("column", "fields", "rule"),
    [
        ("relation_io", {"reads": -1}, "hits, reads and io_s must be at least 0"),
        ("relation_io", {"hits": -1}, "hits, reads and io_s must be at least 0"),
        ("relation_io", {"reads": None}, "only io_s may be null"),
        ("relation_io", {"io_s": -1e-9}, "hits, reads and io_s must be at least 0"),
        ("relation_io", {"io_basis": ""}, "io_basis must say how io_s was found, or why it is null"),
        ("relation_io", {"io_basis": None}, "only io_s may be null"),
        ("relation_io", {"relation": None}, "only io_s may be null"),
        ("relation_io", {"relation_class": "view"}, "relation_class must be one of table, index, wal"),
        ("tier_io", {"tier": None}, "tier and evidence must not be null"),
        ("tier_io", {"evidence": "guessed"}, "evidence must be one of"),
        ("tier_io", {"writes": -1}, "no count and no time may be below 0"),
        ("tier_io", {"actual_s": -0.1}, "no count and no time may be below 0"),
    ],
)
def test_a_count_that_breaks_a_rule_is_named(column: str, fields: dict[str, Any], rule: str) -> None:
    with pytest.raises(InputError, match=f"{column}, row 3.*{rule}"):
        validate_rows(with_field(column, **fields))


def test_a_row_stands_once() -> None:
    with pytest.raises(InputError, match=r"step, row 37 is 0: \(run_id, study, pair, trial, replicate, step\) must be unique"):
        validate_rows(pl.concat([VALID, VALID.head(1)]))


@pytest.mark.parametrize(
    ("rows", "rule"),
    [
        (VALID.drop("flags"), "flags: column is missing"),
        (VALID.with_columns(note=pl.lit("x")), "note: column is not in the schema"),
        (VALID.cast({"elapsed_s": pl.Float32}), "elapsed_s is 'Float32': type must be Float64"),
        (VALID.with_columns(pl.col("started_at").dt.replace_time_zone(None)), "started_at is .*: type must be Datetime.*UTC"),
        (VALID.with_columns(pl.col("started_at").dt.convert_time_zone("Europe/Rome")), "started_at is .*: type must be Datetime.*UTC"),
        (VALID.select(sorted(SCHEMA)), "columns is .*: order must be"),
    ],
)
def test_columns_are_exactly_the_schema(rows: pl.DataFrame, rule: str) -> None:
    with pytest.raises(InputError, match=rule):
        validate_rows(rows)
