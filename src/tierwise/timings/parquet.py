"""Parquet files of a run, written whole or not at all, read whole or refused."""

from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from tierwise.core.errors import InputError, TierwiseError, with_remedy
from tierwise.core.files import replacing


def named(path: Path, run_folder: Path) -> str:
    return str(path.relative_to(run_folder.parent))


def keep_whole(rows: pl.DataFrame, path: Path) -> None:
    """Write `rows` to `path`, on disk and whole when this returns. A `TierwiseError` says why polars cannot, as on a full disk."""
    with replacing(path) as part:
        try:
            rows.write_parquet(part)
        except pl.exceptions.PolarsError as error:
            raise TierwiseError(with_remedy(f"{path.name} cannot be written: {error}")) from error


def read_whole(path: Path, where: str, *, remedy: str | None = None) -> pl.DataFrame:
    """Read every row of `path`, or raise `InputError` with its name `where`. Arrow reads it, because polars panics on some torn files."""
    try:
        with pq.ParquetFile(path) as file:
            table = file.read()
        table.validate(full=True)
        return pl.DataFrame(table)
    except (OSError, ValueError, MemoryError, pa.ArrowException, pl.exceptions.PolarsError) as error:
        raise InputError(where, rule=f"must be a whole Parquet file ({error})", remedy=remedy) from error
