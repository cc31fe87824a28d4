"""Single reads of a load: each one of a trial in a block, kept with the run beside the raw row that counts them.

``data/raw/<run id>/reads/<study>/<pair>/<trial>/<block>.parquet``, the trial's key being folders.
"""

from pathlib import Path
from typing import Any, Final

import polars as pl

from tierwise.core.errors import InputError
from tierwise.timings.parquet import keep_whole, read_whole
from tierwise.timings.references import taken
from tierwise.timings.traces import TraceKey

READS: Final[dict[str, Any]] = {
    "time_s": pl.Float64,  # when it ended, seconds of the Unix epoch
    "pid": pl.Int32,  # of the server's process; null where the recorder sees the device's side alone
    "tablespace": pl.String,
    "relation": pl.String,
    "page": pl.Int64,  # of 8 KiB, the first one read, in the relation over all its segments
    "size_bytes": pl.Int64,
    "latency_s": pl.Float64,
    "recorder": pl.String,  # bpftrace, strace, emulator
}
"""What is known of a read, whoever recorded it."""

TABLE: Final[dict[str, Any]] = {
    "run_id": pl.String,
    "study": pl.String,
    "pair": pl.String,
    "trial": pl.String,
    "block": pl.Int32,  # repetition, as in the raw rows
    **READS,
    "bucket": pl.String,  # of the latency (`buckets`), as text: what Parquet keeps as a dictionary DuckDB counts as quickly as it reads
}
"""Columns of the files, and of the view `reads` over them."""

FOLDER: Final = "reads"


def buckets(latencies_s: pl.Expr) -> pl.Expr:
    """Return the power of two of nanoseconds at or below each latency: 18 stands for 262,144 up to 524,288 ns, as DTrace's quantize()
    counts."""
    return (latencies_s * 1e9).round().clip(1).log(2).add(1e-12).floor().cast(pl.Int32)


def write_reads(run_folder: Path, key: TraceKey, block: int, rows: pl.DataFrame) -> None:
    """Keep the reads (`READS`) of one trial in one block, whole or not at all; those of a killed attempt are replaced."""
    path = run_folder / FOLDER / key.study / key.pair / key.trial / f"{block}.parquet"
    if dict(rows.schema) != READS:
        where = str(path.relative_to(run_folder.parent))
        raise InputError(where, field="columns", value=str(dict(rows.schema)), rule=f"must be {READS}")
    coordinates = {"run_id": run_folder.name, "study": key.study, "pair": key.pair, "trial": key.trial, "block": block}
    named = rows.with_columns(pl.lit(value).alias(name) for name, value in coordinates.items())
    bucketed = named.with_columns(bucket=buckets(pl.col("latency_s")).cast(pl.String))
    keep_whole(bucketed.select(list(TABLE)).cast(pl.Schema(TABLE)), path)


def read_files(run_folder: Path) -> list[Path]:
    """Return the files of a run's single reads, with those that it takes from others.

    Raises:
        InputError: one is no whole Parquet file, or has other columns than `TABLE`.
    """
    own = sorted((run_folder / FOLDER).rglob("[!.]*.parquet"))
    others = [
        path
        for held in taken(run_folder)
        for pair, blocks in sorted(held.blocks.items())
        for path in sorted((held.folder / FOLDER / held.study / pair).rglob("[!.]*.parquet"))
        if int(path.stem) < blocks
    ]
    for path in (*own, *others):
        _check(path, str(path.relative_to(run_folder.parent)))
    return [*own, *others]


def _check(path: Path, where: str) -> None:
    schema = read_whole(path, where, remedy="remove it").schema  # all of it: DuckDB would find a torn page only when it is asked
    if dict(schema) != TABLE:
        raise InputError(where, field="columns", value=str(dict(schema)), rule=f"must be {TABLE}", remedy="remove it")
