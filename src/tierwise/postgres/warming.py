"""A heap brought into shared_buffers, and nothing else: the indexes of its table stay as cold as they were."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from psycopg import sql

from tierwise.core.errors import EvidenceError
from tierwise.postgres.page_counts import PageCount, PageCounter
from tierwise.postgres.plans import assert_plan, planned
from tierwise.postgres.relations import find_relation
from tierwise.postgres.settings import Connection, applied, one_value

ONLY_TID_SCANS: Final = {"enable_tidscan": "on", "enable_seqscan": "off"}


def warm_heap(conn: Connection, table: str) -> int:
    """Read every page of `table`'s heap into shared_buffers by a TID range scan; return their number. Warm the catalogues afterwards."""
    _scanned(conn, table)
    again = _scanned(conn, table)
    if again.reads:
        raise EvidenceError(f"{table} is not cached: the scan that warmed it read {again.reads} of {again.accesses} blocks again")
    return again.hits


def _scanned(conn: Connection, table: str) -> PageCount:
    name = sql.Identifier(table)
    pages = "(pg_relation_size(%s::regclass) / current_setting('block_size')::bigint)"
    end = one_value(conn, f"SELECT format('(%%s,0)', {pages})", [name.as_string(conn)])
    statement = sql.SQL("SELECT count(*) FROM {} WHERE ctid >= '(0,0)' AND ctid < {}").format(name, sql.Literal(end)).as_string(conn)
    with PageCounter(conn, [table]) as counter, _without_indexes(conn, table), applied(conn, ONLY_TID_SCANS):
        assert_plan(planned(conn, statement), ["Aggregate", f"Tid Range Scan on {table}"])
        conn.execute(sql.SQL(statement))
    return counter.pages[table]


@contextmanager
def _without_indexes(conn: Connection, table: str) -> Iterator[None]:
    """Hide every index of `table` from the planner, which would read their metapages into shared_buffers, by drops that are rolled back."""
    name = sql.Identifier(table)
    with conn.transaction(force_rollback=True):
        indexes = conn.execute(
            "SELECT relname, conname FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid "
            "LEFT JOIN pg_constraint AS k ON k.conindid = i.indexrelid AND k.conrelid = i.indrelid WHERE i.indrelid = %s",
            [find_relation(conn, table).oid],
        ).fetchall()
        for index, constraint in indexes:
            if constraint is None:
                conn.execute(sql.SQL("DROP INDEX {}").format(sql.Identifier(index)))
            else:
                conn.execute(sql.SQL("ALTER TABLE {} DROP CONSTRAINT {}").format(name, sql.Identifier(constraint)))
        yield
