"""Single reads of a load: each one of a trial in a replicate, beside the raw row that counts them (`trial_files`)."""

from pathlib import Path
from typing import Any, Final, NamedTuple

import polars as pl

from tierwise.timings.references import taken
from tierwise.timings.trial_files import TrialFiles, TrialKey

READS: Final[dict[str, Any]] = {  # what is known of a read, whoever recorded it
    "time_s": pl.Float64,  # when it ended, seconds of the Unix epoch
    "pid": pl.Int32,  # of the server's process; null where the recorder sees the device's side alone
    "tablespace": pl.String,
    "relation": pl.String,
    "page": pl.Int64,  # of 8 KiB, the first one read, in the relation over all its segments
    "size_bytes": pl.Int64,
    "latency_s": pl.Float64,
    "recorder": pl.String,  # bpftrace, strace, emulator
}

FOLDER: Final = "reads"
FILES: Final = TrialFiles(FOLDER, {"run_id": pl.String, **READS, "bucket": pl.String}, by_replicate=True)
"""`bucket`: of the latency (`buckets`), as text: DuckDB counts a dictionary of Parquet as quickly as it reads."""
TABLE: Final[dict[str, Any]] = FILES.keys | dict(FILES.columns)  # columns of the files, and of the view `reads` over them


class Source(NamedTuple):
    files: list[Path]
    condition: str


def buckets(latencies_s: pl.Expr) -> pl.Expr:
    """Return the power of two of nanoseconds at or below each latency, as DTrace's quantize() counts: 18 is 262,144 up to 524,288 ns."""
    return (latencies_s * 1e9).round().clip(1).log(2).add(1e-12).floor().cast(pl.Int32)


def write_reads(run_folder: Path, key: TrialKey, replicate: int, rows: pl.DataFrame) -> None:
    bucketed = rows.with_columns(run_id=pl.lit(run_folder.name), bucket=buckets(pl.col("latency_s")).cast(pl.String))
    FILES.write(run_folder, key, bucketed.select("run_id", pl.exclude("run_id")), replicate)


def sources(run_folder: Path) -> list[Source]:
    """Return where the single reads of a run lie, its own and those that it takes from others, each file checked."""
    found = [(run_folder, Source(FILES.files(run_folder), "true"))]
    for held in taken(run_folder):
        limits = " or ".join(f"(pair = {sql_text(pair)} and replicate < {most})" for pair, most in sorted(held.replicates.items()))
        found.append((held.folder, Source(FILES.files(held.folder, held.study), limits or "false")))
    for folder, source in found:
        for path in source.files:  # all of it: DuckDB would find a torn page only in a query
            FILES.load(path, folder)
    return [source for _, source in found if source.files]


def sql_text(value: object) -> str:
    return "'" + str(value).replace("'", "''") + "'"
