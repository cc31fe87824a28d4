"""The timing store: parts while a run measures, one Parquet file when it is done, DuckDB views over every run.

A run folder ``data/raw/<run id>`` holds ``manifest.json`` and either ``timings.parquet`` or, until it is merged,
``parts/<study>/<hash>.parquet``, one part for each trial and block. Rows are validated when written and when read.
"""

import hashlib
import json
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import duckdb
import polars as pl

from tierwise.core.errors import InputError
from tierwise.core.files import replacing
from tierwise.core.progress import say
from tierwise.timings import validation
from tierwise.timings.manifest import MANIFEST, Manifest, load_manifest
from tierwise.timings.reads import TABLE, read_files
from tierwise.timings.schema import SCHEMA, of_today

TIMINGS: Final = "timings.parquet"
PARTS: Final = "parts"

PartKey = tuple[str, str, str, int]
"""(study, pair, trial, block): what is measured at one go, and again as a whole after a kill."""

OFFLINE: Final[dict[str, str | bool | int | float | list[str]]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
"""DuckDB fetches no extension from the network."""

RUN_COLUMNS: Final[dict[str, Any]] = {
    "run_id": pl.String,
    "status": pl.String,
    "profile": pl.String,
    "reader_pair": pl.String,
    "seed": pl.Int64,
    "sources": pl.String,  # data set -> source, as JSON
    "code_version": pl.String,
    "method_sha256": pl.String,
    "started_at": pl.Datetime("us", "UTC"),
    "finished_at": pl.Datetime("us", "UTC"),
    "manifest": pl.String,  # the whole of it, as JSON
}
"""Columns of the view `runs`."""


def validate_rows(rows: pl.DataFrame, *, where: str = "timings") -> None:
    """Raise `InputError` naming `where` (a file), column, row (from 1), value and rule for the first broken rule."""
    validation.check(rows, where)


def write_part(run_folder: Path, rows: pl.DataFrame) -> Path:
    """Write the rows of one trial in one block, whole or not at all.

    Raises:
        InputError: a row breaks the schema, the rows are of several trials or of another run, or the part is there
            already (a raw row is never replaced: a second process measures the same run).
    """
    keys = _keys(rows)
    if len(keys) != 1:
        raise InputError("part", field="study, pair, trial, block", value=sorted(keys), rule="a part holds one trial in one block")
    path = _part_path(run_folder, keys.pop())
    _check_rows_of_run(rows, run_folder, path)
    if path.exists():
        raise InputError(
            _where(run_folder, path), rule="is there already, and raw rows are never replaced", remedy="let one process measure a run"
        )
    with replacing(path) as part:
        rows.write_parquet(part)
    return path


def done_parts(run_folder: Path) -> set[PartKey]:
    """What needs no measuring any more. Torn and alien files among the parts are removed, each with a notice."""
    done: set[PartKey] = _keys(read_rows(run_folder)) if (run_folder / TIMINGS).exists() else set()
    for path in sorted(entry for entry in (run_folder / PARTS).rglob("*") if entry.is_file()):
        try:
            keys = _keys(_read(run_folder, path))
            if [path] != [_part_path(run_folder, key) for key in keys]:
                raise InputError(_where(run_folder, path), rule="not the name of the part that it holds")
            done |= keys
        except InputError as error:
            say(f"removed, to be measured again: {error}")
            path.unlink()
    return done


def read_parts(run_folder: Path, study: str) -> pl.DataFrame:
    """Rows of `study` so far, merged or not."""
    return rows_so_far(run_folder).filter(pl.col("study") == study)


def without_checks(rows: pl.DataFrame) -> pl.DataFrame:
    """`rows` without the cells that were waited for beside counted ones."""
    return rows.filter(pl.col("cell").str.json_path_match("$.clock").is_null())


def merge_parts(run_folder: Path) -> Path:
    """All rows in `timings.parquet`, in the order of study, pair, sequence and step; the parts go.

    May be repeated after a kill at any point. Raises `InputError` where there is no row, or a part is not valid.
    """
    target = run_folder / TIMINGS
    rows = rows_so_far(run_folder)
    if rows.is_empty():
        raise InputError(run_folder.name, rule="no row was measured", remedy="make report")
    with replacing(target) as part:
        rows.write_parquet(part)
    for path in _part_files(run_folder):
        path.unlink()
    for folder in (*(run_folder / PARTS).glob("*"), run_folder / PARTS):
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
    return target


def read_rows(run_folder: Path) -> pl.DataFrame:
    """The validated rows of a merged run; `InputError` where there are none or one breaks a rule."""
    return _read(run_folder, run_folder / TIMINGS)


def manifests(raw: Path) -> dict[str, Manifest]:
    """Every run below `raw` by its id, in alphabetical order; what is no run is named on the terminal and left alone."""
    found = {}
    for folder in sorted(entry for entry in raw.glob("*") if not entry.name.startswith(".")):
        try:
            found[folder.name] = _manifest(folder)
        except InputError as error:
            say(f"left alone: {error}")
    return found


def connect(raw: Path, run_id: str | None = None) -> duckdb.DuckDBPyConnection:
    """A DuckDB connection in memory with the views `raw_timings` (raw rows, `SCHEMA`), `timings` (the same columns, as ``timings.sql``
    has them), `reads` (single reads, `reads.TABLE`, left in their files) and `runs` (`RUN_COLUMNS`).

    `runs` has every run below `raw`, `timings` the rows of the complete ones; where `run_id` is named, both hold that
    run alone, and the rows of one that is not merged yet are those of its parts. Raises `InputError` for a named run
    that is unknown or invalid; any other invalid run is named on the terminal and left out.
    """
    known = {run_id: _named(raw, run_id)} if run_id is not None else manifests(raw)
    runs, rows, reads = [], [pl.DataFrame(schema=SCHEMA)], list[Path]()
    for name, manifest in known.items():
        try:
            if manifest.status == "complete" or name == run_id:
                rows.append(rows_so_far(raw / name))
                reads += read_files(raw / name)
            runs.append(_run_row(manifest))
        except InputError as error:
            if name == run_id:
                raise
            say(f"left alone: {error}")
    connection = duckdb.connect(":memory:", config=OFFLINE)
    connection.register("raw_timings", pl.concat(rows).to_arrow())
    connection.execute((files("tierwise.timings") / "timings.sql").read_text(encoding="utf-8"))
    _register_reads(connection, reads)
    connection.register("runs", pl.DataFrame(runs, schema=RUN_COLUMNS).to_arrow())
    return connection


def _register_reads(connection: duckdb.DuckDBPyConnection, files: list[Path]) -> None:
    if not files:
        connection.register("reads", pl.DataFrame(schema=TABLE).to_arrow())
        return
    named = ", ".join("'" + str(path).replace("'", "''") + "'" for path in files)
    connection.execute(f"create temp view reads as from read_parquet([{named}], hive_partitioning = false)")


def _named(raw: Path, run_id: str) -> Manifest:
    if run_id not in {entry.name for entry in raw.glob("*") if entry.is_dir()}:
        there = ", ".join(manifests(raw)) or "none"
        raise InputError("run", value=run_id, rule=f"no such run; there are: {there}", remedy="make report measures one")
    return _manifest(raw / run_id)


def _manifest(folder: Path) -> Manifest:
    manifest = load_manifest(folder)
    if manifest.run_id != folder.name:
        raise InputError(_where(folder, folder / MANIFEST), field="run_id", value=manifest.run_id, rule="must be the name of its folder")
    return manifest


def _run_row(manifest: Manifest) -> dict[str, object]:
    fields = manifest.model_dump(include=set(RUN_COLUMNS) - {"profile", "sources", "manifest"})
    sources = {data.name: manifest.source_of(data) for data in manifest.datasets}
    return {**fields, "profile": manifest.profile.get("name"), "sources": json.dumps(sources), "manifest": manifest.model_dump_json()}


def _keys(rows: pl.DataFrame) -> set[PartKey]:
    return set(rows.select("study", "pair", "trial", "block").rows())


def _part_path(run_folder: Path, key: PartKey) -> Path:
    name = hashlib.sha256(json.dumps(key).encode()).hexdigest()[:24]
    return run_folder / PARTS / key[0] / f"{name}.parquet"


def _part_files(run_folder: Path) -> list[Path]:
    return sorted((run_folder / PARTS).glob("*/[!.]*.parquet"))


def rows_so_far(run_folder: Path) -> pl.DataFrame:
    """Merged rows and those of parts; a part that was merged but not removed, because of a kill, counts once."""
    merged = [path for path in (run_folder / TIMINGS,) if path.exists()]
    frames = [_read(run_folder, path) for path in (*merged, *_part_files(run_folder))]
    rows = pl.concat([pl.DataFrame(schema=SCHEMA), *frames]).unique(["study", "pair", "trial", "block", "step"], keep="first")
    return rows.sort("study", "pair", "sequence", "step")


def _read(run_folder: Path, path: Path) -> pl.DataFrame:
    try:
        rows = of_today(pl.read_parquet(path))
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(_where(run_folder, path), rule=f"must be a whole Parquet file ({error})") from error
    _check_rows_of_run(rows, run_folder, path)
    return rows


def _check_rows_of_run(rows: pl.DataFrame, run_folder: Path, path: Path) -> None:
    where = _where(run_folder, path)
    validate_rows(rows, where=where)
    alien = rows.with_row_index("row_number", 1).filter(pl.col("run_id") != run_folder.name)
    if not alien.is_empty():
        field = f"run_id, row {alien['row_number'][0]}"
        raise InputError(where, field=field, value=alien["run_id"][0], rule=f"must be the run that it lies in, {run_folder.name}")


def _where(run_folder: Path, path: Path) -> str:
    """`path` from its run folder's name on: what a person looks for in ``data/raw``."""
    return str(path.relative_to(run_folder.parent))
