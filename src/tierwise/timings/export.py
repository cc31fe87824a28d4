"""A complete run made small enough for git: what has many rows becomes a seeded sample, marked as one and used for no verdict."""

import shutil
from pathlib import Path
from typing import Final

import polars as pl

from tierwise.core.errors import InputError
from tierwise.core.files import replacing
from tierwise.timings.manifest import MANIFEST, load_manifest
from tierwise.timings.store import TIMINGS, read_rows

MOST_ROWS: Final = 20_000
"""Of a study; one with more is sampled."""
FILE_BYTES: Final = 1_000_000
WHOLE_BYTES: Final = 6_000_000
SAMPLE: Final = "sample"
"""The flag of a sampled row: a flagged row gives no verdict."""


def export(run: Path, raw: Path, *, seed: int = 1) -> Path:
    """Copy the complete run in the folder `run` below `raw`; the new folder.

    Raises:
        InputError: the run is not complete, `raw` has it already, or a file or the whole is too large for git.
    """
    if load_manifest(run).status != "complete":
        raise InputError(f"run {run.name}", rule="is not complete", remedy="make report with the same inputs continues it")
    made = raw / run.name
    if made.exists():
        raise InputError(f"run {run.name}", rule=f"is already in {raw.name}", remedy="remove that folder first")
    made.mkdir(parents=True)
    try:
        shutil.copy(run / MANIFEST, made)
        rows = pl.concat(_sampled(part, seed) for part in read_rows(run).partition_by("study", maintain_order=True))
        with replacing(made / TIMINGS) as part:
            rows.write_parquet(part, compression_level=19)
        if (run / "traces").is_dir():
            shutil.copytree(run / "traces", made / "traces")
        _check_size(made)
    except BaseException:
        shutil.rmtree(made)
        raise
    return made


def _sampled(rows: pl.DataFrame, seed: int) -> pl.DataFrame:
    """All of a study's `rows`, or `MOST_ROWS` of them in their order, flagged."""
    if len(rows) <= MOST_ROWS:
        return rows
    chosen = rows.with_row_index("at").sample(MOST_ROWS, seed=seed).sort("at").drop("at")
    return chosen.with_columns(pl.col("flags").list.concat(pl.lit([SAMPLE])))


def _check_size(folder: Path) -> None:
    sizes = {path: path.stat().st_size for path in folder.rglob("*") if path.is_file()}
    for path, size_bytes in sizes.items():
        if size_bytes > FILE_BYTES:
            raise InputError(str(path.relative_to(folder)), field="size_bytes", value=size_bytes, rule=f"must be at most {FILE_BYTES:,}")
    if sum(sizes.values()) > WHOLE_BYTES:
        raise InputError(folder.name, field="size_bytes", value=sum(sizes.values()), rule=f"must be at most {WHOLE_BYTES:,}")
