"""Pages of each relation that one statement found in shared_buffers or read from the storage: PostgreSQL's own counts of its blocks."""

from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from tierwise.core.vocabulary import RelationClass
from tierwise.postgres.relations import find_relation
from tierwise.postgres.settings import Connection, one_value


@dataclass(frozen=True)
class PageCount:
    """Pages of one relation during one statement, all forks together, without its TOAST table."""

    relation: str
    relation_class: RelationClass
    tier: str
    hits: int
    reads: int

    @property
    def accesses(self) -> int:
        return self.hits + self.reads


class PageCounter:
    """Page counts of `relations` for what this session does while open; `pages` holds them by name afterwards. It may be opened again.

    Exact, because pending counts are flushed before both readings, which read no table: a page of the catalogues might have to wait for a
    busy device, to which another page of the buffers must be written first. Counts are the cluster's: nobody else may use the relations
    meanwhile.
    `storage_s`: how long the database's sessions spent in reads and writes meanwhile (`track_io_timing`; zero without it).
    """

    def __init__(self, conn: Connection, relations: Sequence[str]):
        if not conn.autocommit:
            raise ValueError("PageCounter needs a session in autocommit: counts are flushed between transactions only")
        self._conn = conn
        self._relations = [find_relation(conn, name) for name in relations]
        self._database = one_value(conn, "SELECT oid FROM pg_database WHERE datname = current_database()")
        self.pages: dict[str, PageCount] = {}
        self.storage_s = 0.0

    def __enter__(self) -> Self:
        self._before = self._read()
        self._storage_before_s = self._read_wait_s()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is not None:
            return
        after = self._read()
        self.storage_s = self._read_wait_s() - self._storage_before_s
        for relation in self._relations:
            hits, reads = (now - then for now, then in zip(after[relation.oid], self._before[relation.oid], strict=True))
            self.pages[relation.name] = PageCount(relation.name, relation.relation_class, relation.tablespace, hits, reads)

    def _read(self) -> dict[int, tuple[int, int]]:
        self._conn.execute("SELECT pg_stat_force_next_flush()")
        rows = self._conn.execute(
            "SELECT oid, pg_stat_get_blocks_fetched(oid), pg_stat_get_blocks_hit(oid) FROM unnest(%s::oid[]) AS oid",
            [[relation.oid for relation in self._relations]],
        )
        return {oid: (hit, fetched - hit) for oid, fetched, hit in rows}

    def _read_wait_s(self) -> float:
        query = "SELECT (pg_stat_get_db_blk_read_time(oid) + pg_stat_get_db_blk_write_time(oid)) / 1000 FROM (SELECT %s::oid) AS d (oid)"
        return float(one_value(self._conn, query, [self._database]))
