"""Loading: a server that is set for it, and Parquet into a table, in one stream and one transaction."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar

import polars as pl
import polars.selectors as cs
from psycopg import sql

from tierwise.core.progress import Progress
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.relations import create_tablespace
from tierwise.postgres.settings import Connection, loading_settings

Item = TypeVar("Item")

BATCH_ROWS: Final = 4096
"""About 1 MB of text, which stays in the processor's cache until it is sent; batches of 16,384 rows took 10 % longer."""
ESCAPES: Final = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
"""Escapes of COPY's text format, which the server reads about 10 % faster than CSV; no escaped text looks like the NULL mark."""


@contextmanager
def loading(cluster: Cluster, tablespaces: Mapping[str, Path]) -> Iterator[Connection]:
    """Start the server of `cluster` with loading settings and `tablespaces` (name -> directory); CHECKPOINT and stop it at the end."""
    cluster.start(loading_settings())
    try:
        with cluster.connect() as connection:
            there = {name for (name,) in connection.execute("SELECT spcname FROM pg_tablespace")}
            for name, directory in tablespaces.items():
                if name not in there:
                    create_tablespace(connection, name, directory)
            yield connection
            connection.execute("CHECKPOINT")
    finally:
        cluster.stop()


def copy_parquet(conn: Connection, parquet: Path, table: str, columns: Sequence[str], progress: Progress | None = None) -> int:
    """Replace the rows of `table` by those of `parquet`, in their order, in one transaction; return their number.

    `columns` have the same names in both but for case (PostgreSQL folds the table's to lower case); every other column gets its
    default. The table is emptied in the same transaction, so that ``wal_level=minimal`` logs nothing.
    """
    names = sql.SQL(", ").join(sql.Identifier(column.lower()) for column in columns)
    target = sql.Identifier(table)
    command = sql.SQL("COPY {} ({}) FROM STDIN").format(target, names)
    rows = pl.scan_parquet(parquet).select(columns)
    rows = rows.with_columns(cs.boolean().cast(pl.UInt8), cs.string().str.replace_many(ESCAPES))
    count = 0
    with conn.transaction(), conn.cursor() as cursor:
        cursor.execute(sql.SQL("TRUNCATE {}").format(target))
        with cursor.copy(command) as copy:
            for height, text in _ahead(map(_as_text, rows.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True))):
                copy.write(text)
                count += height
                if progress is not None:
                    progress.step(height)
    return count


def _as_text(batch: pl.DataFrame) -> tuple[int, str]:
    """Rows of the batch in COPY's text format, made by one thread: two would take the server's processor from it."""
    text = batch.write_csv(separator="\t", include_header=False, quote_style="never", null_value="\\N", batch_size=batch.height)
    return batch.height, text


def _ahead(items: Iterator[Item]) -> Iterator[Item]:
    with ThreadPoolExecutor(max_workers=1) as maker:
        coming = maker.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = maker.submit(next, items, None)
            yield item
