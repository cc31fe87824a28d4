"""The proof that a query was cold: what must be shown, what a plan must miss, and how to warm the catalogues alone.

The order of a cold measurement: stop the server, `evict`, remount, `residency` is zero; start, a fresh session, `warm_catalogues`,
the timed statement inside a `PageCounter`; its misses equal `expected_pages`.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from psycopg import sql
from pydantic import Field

from tierwise.core.errors import EvidenceError
from tierwise.core.toml import Strict
from tierwise.core.units import PAGE_BYTES
from tierwise.postgres.page_counts import PageCount, PageCounter
from tierwise.postgres.plans import assert_plan, planned
from tierwise.postgres.relations import SQL, find_relation
from tierwise.postgres.settings import Connection, applied, one_value

METAPAGES: Final = 1
MAPPED_PAGES: Final = (PAGE_BYTES - 24) * 4
"""Heap pages to a page of the visibility map: two bits each behind the page's header (HEAPBLOCKS_PER_PAGE)."""
ONLY_INDEX_SCANS: Final = {"enable_seqscan": "off", "enable_bitmapscan": "off", "enable_indexonlyscan": "off", "enable_tidscan": "off"}
ONLY_INDEX_LOOKUPS: Final = {"enable_seqscan": "off", "enable_bitmapscan": "off"}
ONLY_TID_SCANS: Final = {"enable_tidscan": "on", "enable_seqscan": "off"}
FIRST_USER_OID: Final = 16384


class ColdEvidence(Strict):
    server_was_down: bool  # no process, no pid file
    resident_pages: dict[str, int]  # by tier: pages of the relations' files in the page cache, while the server was down
    direct_io: bool | None  # what the probe said; None with buffered I/O
    misses: dict[str, int] = Field(default_factory=dict)  # by relation: pages that the query read from the storage
    expected: dict[str, int] = Field(default_factory=dict)  # by relation: distinct pages that its plan touches
    cached: dict[str, int] = Field(default_factory=dict)  # by relation: pages that had been read and were found again: misses none

    @property
    def faults(self) -> list[str]:
        faults = [] if self.server_was_down else ["the server was not down"]
        faults += [f"{pages} pages of tier {tier} were still in the page cache" for tier, pages in self.resident_pages.items() if pages]
        if self.direct_io is False:
            faults.append("direct I/O leaves pages in the page cache")
        for name in sorted(self.misses.keys() | self.expected.keys()):
            missed, distinct = self.misses.get(name), self.expected.get(name)
            if missed != distinct:
                faults.append(f"{name}: {missed} pages missed, {distinct} expected")
        return faults

    def require(self) -> None:
        if self.faults:
            raise EvidenceError(f"not cold: {'; '.join(self.faults)}")


def relation_files(conn: Connection, relations: Sequence[str]) -> list[Path]:
    """Return every file of `relations` and of their TOAST tables: all forks, all segments, through their tablespaces."""
    oids = [find_relation(conn, name).oid for name in relations]
    rows = conn.execute(SQL["files"], [oids]).fetchall()
    places = [(path, main) for main in (Path(data) / path for data, path in rows) for path in main.parent.iterdir()]
    return sorted(path.resolve() for path, main in places if re.fullmatch(rf"{main.name}(_(fsm|vm|init))?(\.\d+)?", path.name))


def main_files(conn: Connection, relations: Sequence[str]) -> dict[str, Path]:
    """Return the first file of the main fork of each of `relations`; reads catalogues, but no relation."""
    rows = conn.execute(SQL["main_files"], [list(relations), [find_relation(conn, name).oid for name in relations]])
    return {name: Path(data, path).resolve() for name, data, path in rows}


def warm_catalogues(conn: Connection, statement: str) -> None:
    """Read into the session and shared_buffers every catalogue page that `statement` needs, and no page of any relation.

    A throw-away PREPARE parses and analyses, but does not plan: planning reads the metapage of every B-tree of the table. So the rest is
    fetched otherwise: a relation's size opens it without reading it, and the columns' statistics are read through the same index.
    """
    conn.execute(sql.SQL("PREPARE tierwise_warm AS {}").format(sql.SQL(statement)))
    conn.execute("DEALLOCATE tierwise_warm")
    with applied(conn, ONLY_INDEX_LOOKUPS):
        conn.execute(SQL["sizes"], [FIRST_USER_OID])
        conn.execute(SQL["statistics"], [FIRST_USER_OID])


def distinct_heap_pages(conn: Connection, table: str, predicate: str) -> int:
    """Return how many heap pages hold a row for which `predicate` (SQL) is true, counted from the rows' addresses."""
    return visibility_pages(conn, table, predicate, mapped=1)


def visibility_pages(conn: Connection, table: str, predicate: str, *, mapped: int = MAPPED_PAGES) -> int:
    """Return how many pages of `table`'s visibility map, each for `mapped` heap pages, an index-only scan for `predicate` (SQL) reads."""
    query = sql.SQL("SELECT count(DISTINCT (ctid::text::point)[0]::bigint / {}) FROM {} WHERE {}")
    return int(one_value(conn, query.format(mapped, sql.Identifier(table), sql.SQL(predicate))))


def index_pages(conn: Connection, table: str, index: str, predicate: str) -> int:
    """Return how many pages of B-tree `index` planning and one index scan for `predicate` (``column = value``) touch: all are distinct.

    The counted scan is the session's second, whose relation cache holds the metapage already; a fresh session reads that, too.
    """
    name = sql.Identifier(table).as_string(conn)
    statement = f"SELECT count(*) FROM {name} WHERE {predicate}"
    with applied(conn, ONLY_INDEX_SCANS):
        assert_plan(planned(conn, statement), ["Aggregate", f"Index Scan using {index} on {table}"])
        conn.execute(sql.SQL(statement))
        with PageCounter(conn, [index]) as counter:
            conn.execute(sql.SQL(statement))
    return counter.pages[index].accesses + METAPAGES


def expected_pages(conn: Connection, table: str, index: str, predicate: str) -> dict[str, int]:
    return {table: distinct_heap_pages(conn, table, predicate), index: index_pages(conn, table, index, predicate)}


def warm_heap(conn: Connection, table: str) -> int:
    """Read every page of `table`'s heap into shared_buffers by a TID range scan; return their number. Warm the catalogues afterwards."""
    _scanned(conn, table)
    again = _scanned(conn, table)
    if again.reads:
        raise EvidenceError(f"{table} is not cached: the scan that warmed it read {again.reads} of {again.accesses} blocks again")
    return again.hits


def _scanned(conn: Connection, table: str) -> PageCount:
    name = sql.Identifier(table)
    end = one_value(conn, SQL["first_row_behind"], [name.as_string(conn)])
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
        indexes = conn.execute(SQL["indexes"], [find_relation(conn, table).oid]).fetchall()
        for index, constraint in indexes:
            if constraint is None:
                conn.execute(sql.SQL("DROP INDEX {}").format(sql.Identifier(index)))
            else:
                conn.execute(sql.SQL("ALTER TABLE {} DROP CONSTRAINT {}").format(name, sql.Identifier(constraint)))
        yield
