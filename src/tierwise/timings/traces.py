"""Recorded page sequences: what each query of a trial asked of the storage, kept with the run, once for each trial.

``data/raw/<run id>/traces/<study>/<pair>/<trial>.parquet``, the trial's key being folders and file name. A query's rows are in the
order of issue; its last row, `end`, closes it.
"""

from pathlib import Path
from typing import Any, Final, NamedTuple

import polars as pl

from tierwise.core.errors import InputError
from tierwise.timings.parquet import keep_whole, read_whole
from tierwise.timings.references import places

FOLDER: Final = "traces"
END: Final = "end"

TRACE: Final[dict[str, Any]] = {
    "step": pl.Int32,  # of the trial, as in the raw rows
    "cache": pl.String,  # cold, hot, cross, none
    "operation": pl.String,  # read, write, flush; end: the query's last row
    "relation": pl.String,  # name as in pg_class, with its fork where that is not the main one; null at the end
    "tier": pl.String,  # where it lay while this was recorded; null at the end
    "relation_pages": pl.Int64,  # of 8 KiB, in the whole relation
    "page": pl.Int64,  # in the relation, over all its segments
    "size_bytes": pl.Int64,
    "address_bytes": pl.Int64,  # on the emulated device; null where none was
    "after": pl.Int32,  # number (from 0, within the query) of the request whose completion this one waited for; null: the query's start
    "think_s": pl.Float64,  # from that completion to this issue: the host's time
    "intended_s": pl.Float32,  # what the device model asked for; null where none did
    "actual_s": pl.Float32,  # what it took, from issue to completion; null where the recorder disturbs times
    "traced_s": pl.Float32,  # what it took under strace, whose stops are in it; null where nothing was traced
}
"""Columns of a trace file."""


class TraceKey(NamedTuple):
    """What a trace is found by: the study, pair and trial that it belongs to."""

    study: str
    pair: str
    trial: str


def trace_path(run_folder: Path, key: TraceKey) -> Path:
    """Return where the trace of a trial lies."""
    return run_folder / FOLDER / key.study / key.pair / f"{key.trial}.parquet"


def write_trace(run_folder: Path, key: TraceKey, rows: pl.DataFrame) -> None:
    """Keep the trace of one trial, whole or not at all; one that is there is replaced."""
    _check(rows, str(trace_path(run_folder, key).relative_to(run_folder.parent)))
    keep_whole(rows, trace_path(run_folder, key))


def find_trace(run_folder: Path, key: TraceKey) -> Path | None:
    """Return the file of a trial's trace, in this run or in the one that its rows are taken from; None where none was recorded."""
    return next((path for folder in places(run_folder, key.study, key.pair) if (path := trace_path(folder, key)).exists()), None)


def read_trace(run_folder: Path, key: TraceKey) -> pl.DataFrame | None:
    """Return the trace of one trial; None where none was recorded. `InputError` where the file is not one."""
    path = find_trace(run_folder, key)
    if path is None:
        return None
    where = str(path.relative_to(run_folder.parent))
    rows = read_whole(path, where, remedy="remove it")
    _check(rows, where)
    return rows


def _check(rows: pl.DataFrame, where: str) -> None:
    if dict(rows.schema) != TRACE:
        raise InputError(where, field="columns", value=str(dict(rows.schema)), rule=f"must be {TRACE}", remedy="remove it")
