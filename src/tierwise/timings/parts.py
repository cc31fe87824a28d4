"""The raw rows of a run: parts while it measures, one Parquet file when it is done.

A run folder ``data/raw/<run id>`` holds ``manifest.json`` and either ``timings.parquet`` or, until it is merged,
``parts/<study>/<hash>.parquet``, one part for each trial and replicate. Rows are validated when written and when read.
"""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import polars as pl

from tierwise.core.errors import InputError
from tierwise.core.progress import say
from tierwise.timings.parquet import keep_whole, named, read_whole
from tierwise.timings.references import copied, taken
from tierwise.timings.schema import SCHEMA
from tierwise.timings.validation import validate_rows

TIMINGS: Final = "timings.parquet"
PARTS: Final = "parts"
ROW: Final = ("study", "pair", "trial", "replicate", "step")  # what tells a row of a run from its others

PartKey = tuple[str, str, str, int]  # (study, pair, trial, replicate): what is measured at one go, and again as a whole after a kill


def write_part(run_folder: Path, rows: pl.DataFrame) -> Path:
    """Write the rows of one trial in one replicate, whole or not at all, unless a part is there already: no raw row is replaced."""
    keys = _keys(rows)
    if len(keys) != 1:
        raise InputError("part", field="study, pair, trial, replicate", value=sorted(keys), rule="a part holds one trial in one replicate")
    path = _part_path(run_folder, keys.pop())
    _check_rows_of_run(rows, run_folder, path)
    if path.exists():
        rule, remedy = "is there already, and raw rows are never replaced", "let one process measure a run"
        raise InputError(named(path, run_folder), rule=rule, remedy=remedy)
    keep_whole(rows, path)
    return path


def done_parts(run_folder: Path, study: str = "") -> set[PartKey]:
    """Return what of `study`, or of all, needs no measuring any more; torn and alien files among its parts go, each with a notice."""
    done = {key for rows in _taken_rows(run_folder, study) for key in _keys(rows)}
    if (run_folder / TIMINGS).exists():
        done |= _keys(_of(study, _read(run_folder, run_folder / TIMINGS)))
    for path in sorted(entry for entry in (run_folder / PARTS / study).rglob("*") if entry.is_file()):
        try:
            keys = _keys(_read(run_folder, path))
            if [path] != [_part_path(run_folder, key) for key in keys]:
                raise InputError(named(path, run_folder), rule="not the name of the part that it holds")
            done |= keys
        except InputError as error:
            say(f"removed, to be measured again: {error}")
            path.unlink()
    return done


def without_real_time_rows(rows: pl.DataFrame) -> pl.DataFrame:
    """Return `rows` without the cells that were also measured in real time."""
    return rows.filter(pl.col("cell").str.json_path_match("$.clock").is_null())


def merge_parts(run_folder: Path) -> Path:
    """Put all own rows into `timings.parquet`, in the order of study, pair, sequence and step; then the parts go. A kill does no harm."""
    target, rows = run_folder / TIMINGS, _own_rows(run_folder, "")
    if rows.is_empty():
        if taken(run_folder):
            return target
        raise InputError(run_folder.name, rule="no row was measured", remedy="make report")
    keep_whole(rows, target)
    for path in _part_files(run_folder):
        path.unlink()
    for folder in (*(run_folder / PARTS).glob("*"), run_folder / PARTS):
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
    return target


def read_rows(run_folder: Path) -> pl.DataFrame:
    """Read and validate the rows of a merged run, with those that it takes from others."""
    return rows_so_far(run_folder) if taken(run_folder) else _read(run_folder, run_folder / TIMINGS)


def _keys(rows: pl.DataFrame) -> set[PartKey]:
    return set(rows.select("study", "pair", "trial", "replicate").rows())


def _part_path(run_folder: Path, key: PartKey) -> Path:
    name = hashlib.sha256(json.dumps(key).encode()).hexdigest()[:24]
    return run_folder / PARTS / key[0] / f"{name}.parquet"


def _part_files(run_folder: Path, study: str = "") -> list[Path]:
    return sorted((run_folder / PARTS).glob(f"{study or '*'}/[!.]*.parquet"))


def rows_so_far(run_folder: Path, study: str = "") -> pl.DataFrame:
    """Return the rows of a run, or of its `study`, merged or not. Rows that it takes from others bear the id of their own run."""
    return _in_order(_own_rows(run_folder, study), *_taken_rows(run_folder, study))


def _own_rows(run_folder: Path, study: str) -> pl.DataFrame:
    merged = [path for path in (run_folder / TIMINGS,) if path.exists()]
    return _of(study, _in_order(_read(run_folder, *merged), _read(run_folder, *_part_files(run_folder, study))))


def _in_order(*rows: pl.DataFrame) -> pl.DataFrame:
    return pl.concat(rows).unique(ROW, keep="first", maintain_order=True).sort("study", "pair", "sequence", "step")


def _of(study: str, rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter(pl.col("study") == study) if study else rows


def _taken_rows(run_folder: Path, study: str) -> Iterator[pl.DataFrame]:
    for held in taken(run_folder):
        if study in {"", held.study}:
            rows = _own_rows(held.folder, held.study)
            for pair, replicates in held.replicates.items():
                yield rows.filter(pl.col("pair") == pair, pl.col("replicate") < replicates)


def _read(run_folder: Path, *files: Path) -> pl.DataFrame:
    """Return the rows of `files`, checked together: one by one takes twice as long, and is done only to name the one that breaks a rule."""
    frames = [read_whole(path, named(path, run_folder)) for path in files]
    try:
        rows = pl.concat([pl.DataFrame(schema=SCHEMA), *frames])
        _check_rows_of_run(rows, run_folder, run_folder)
    except (InputError, pl.exceptions.PolarsError):
        for path, frame in zip(files, frames, strict=True):
            _check_rows_of_run(frame, run_folder, path)
        raise
    return rows


def _check_rows_of_run(rows: pl.DataFrame, run_folder: Path, path: Path) -> None:
    where = named(path, run_folder)
    validate_rows(rows, where=where)
    alien = rows.with_row_index("row_number", 1).filter(pl.col("run_id") != run_folder.name)
    for study, run_id in copied(run_folder).items() if len(alien) else ():
        alien = alien.filter((pl.col("study") != study) | (pl.col("run_id") != run_id))
    if not alien.is_empty():
        field = f"run_id, row {alien['row_number'][0]}"
        raise InputError(where, field=field, value=alien["run_id"][0], rule=f"must be the run that it lies in, {run_folder.name}")
