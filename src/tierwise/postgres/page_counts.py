"""What the server counted: pages of each relation that one statement found in shared_buffers or read from the storage, and what the whole
server did between two moments (WAL, checkpoints, and I/O by kind of process).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

from tierwise.core.vocabulary import RelationClass
from tierwise.postgres.relations import SQL, find_relation
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
        rows = self._conn.execute(SQL["blocks"], [[relation.oid for relation in self._relations]])
        return {oid: (hit, fetched - hit) for oid, fetched, hit in rows}

    def _read_wait_s(self) -> float:
        return float(one_value(self._conn, SQL["io_s"], [self._database]))


Counters = Mapping[str, Mapping[str, float]]
"""Group -> counter -> value since the statistics were reset. Groups: ``wal``, ``checkpointer``, ``bgwriter`` and, from version 16 on,
``io/<kind of process>/<object>/<context>``; counters are named as in the views, times are in milliseconds as there."""

VIEWS: Final = {"wal": 14, "checkpointer": 17, "bgwriter": 0}
"""``pg_stat_<name>`` and the version that it came with; before version 17 the counts of checkpoints are in the last one."""
IO_SINCE: Final = 16


def log_position(conn: Connection) -> int:
    return int(one_value(conn, "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint"))


def read_activity(conn: Connection) -> dict[str, dict[str, float]]:
    """Return the counters now. A session that has read them before reads no table for it, and so waits for no device."""
    conn.execute("SELECT pg_stat_force_next_flush(), pg_stat_clear_snapshot()")
    version = conn.info.server_version // 10_000
    views = [name for name, since in VIEWS.items() if version >= since]
    found = {name: _numbers(one_value(conn, f"SELECT to_jsonb(v) FROM pg_stat_{name} AS v")) for name in views}
    if version >= IO_SINCE:
        for backend, kind, context, row in conn.execute("SELECT backend_type, object, context, to_jsonb(v) FROM pg_stat_io AS v"):
            found[f"io/{backend}/{kind}/{context}"] = _numbers(row)
    return found


def activity_between(before: Counters, after: Counters) -> dict[str, dict[str, float]]:
    """Return by how much each counter rose from `before` to `after`; counters that did not move are left out."""
    moved = {
        group: {name: rise for name, value in counters.items() if (rise := value - before.get(group, {}).get(name, 0.0))}
        for group, counters in after.items()
    }
    return {group: counters for group, counters in moved.items() if counters}


def _numbers(row: Mapping[str, object]) -> dict[str, float]:
    return {name: float(value) for name, value in row.items() if isinstance(value, int | float) and name != "op_bytes"}
