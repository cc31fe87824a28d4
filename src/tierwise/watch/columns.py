"""Which column of which statistics view means what, in which version of PostgreSQL. Times are in seconds."""

from dataclasses import dataclass
from typing import Final

OLDEST, NEWEST = 14, 18
DATABASE, WAL, IO, CHECKPOINTER, WRITER, STATEMENTS = "database", "wal", "io", "checkpointer", "writer", "statements"
RELATION: Final = "relation"
EVERY: Final = range(OLDEST, NEWEST + 1)
TO_15, TO_16, TO_17 = range(14, 16), range(14, 17), range(14, 18)
FROM_16, FROM_17, FROM_18 = range(16, 19), range(17, 19), range(18, 19)


@dataclass(frozen=True)
class Column:
    """A counter under our name, and how a version spells it. `timed`: zero unless `track_io_timing` is on, and so unknown."""

    view: str
    counter: str
    expression: str
    versions: range = EVERY
    timed: bool = False


SOURCES: Final = {
    DATABASE: ((EVERY, "datid::text", "stats_reset", "pg_stat_database"),),
    WAL: ((EVERY, "'all'", "stats_reset", "pg_stat_wal"),),
    IO: ((FROM_16, "concat_ws('/', backend_type, object, context)", "stats_reset", "pg_stat_io"),),
    CHECKPOINTER: ((TO_16, "'all'", "stats_reset", "pg_stat_bgwriter"), (FROM_17, "'all'", "stats_reset", "pg_stat_checkpointer")),
    WRITER: ((EVERY, "'all'", "stats_reset", "pg_stat_bgwriter"),),
    STATEMENTS: ((EVERY, "queryid::text", "NULL::timestamptz", "pg_stat_statements(false)"),),
}
"""View -> (versions, key of a row, when its counters were reset, where it stands)."""

COLUMNS: Final = (
    Column(DATABASE, "transactions", "xact_commit + xact_rollback"),
    Column(DATABASE, "active_s", "active_time / 1000"),
    Column(DATABASE, "idle_in_transaction_s", "idle_in_transaction_time / 1000"),
    Column(DATABASE, "sessions", "sessions"),
    Column(DATABASE, "read_pages", "blks_read"),
    Column(DATABASE, "read_s", "blk_read_time / 1000", timed=True),
    Column(DATABASE, "temporary_bytes", "temp_bytes"),
    Column(DATABASE, "parallel_workers", "parallel_workers_launched", FROM_18),
    Column(WAL, "wal_bytes", "wal_bytes"),
    Column(WAL, "wal_writes", "wal_write", TO_17),
    Column(IO, "read_pages", "reads", range(16, 18)),
    Column(IO, "read_pages", "read_bytes / 8192", FROM_18),
    Column(IO, "read_s", "read_time / 1000", FROM_16, timed=True),
    Column(IO, "write_pages", "writes", range(16, 18)),
    Column(IO, "write_pages", "write_bytes / 8192", FROM_18),
    Column(IO, "write_operations", "writes", FROM_18),
    Column(CHECKPOINTER, "checkpoints", "checkpoints_timed + checkpoints_req", TO_16),
    Column(CHECKPOINTER, "checkpoints", "num_timed + num_requested", range(17, 18)),
    Column(CHECKPOINTER, "checkpoints", "num_done", FROM_18),
    Column(CHECKPOINTER, "write_pages", "buffers_checkpoint", TO_16),
    Column(CHECKPOINTER, "write_pages", "buffers_written", FROM_17),
    Column(WRITER, "write_pages", "buffers_clean"),
    Column(WRITER, "backend_write_pages", "buffers_backend", TO_16),
    Column(STATEMENTS, "read_pages", "sum(shared_blks_read)"),
    Column(STATEMENTS, "read_s", "sum(blk_read_time) / 1000", TO_16, timed=True),
    Column(STATEMENTS, "read_s", "sum(shared_blk_read_time) / 1000", FROM_17, timed=True),
    Column(RELATION, "fetched", "pg_stat_get_blocks_fetched(c.oid)"),
    Column(RELATION, "hits", "pg_stat_get_blocks_hit(c.oid)"),
    Column(RELATION, "scans", "pg_stat_get_numscans(c.oid)"),
    Column(RELATION, "inserted", "pg_stat_get_tuples_inserted(c.oid)"),
    Column(RELATION, "updated", "pg_stat_get_tuples_updated(c.oid)"),
    Column(RELATION, "hot_updated", "pg_stat_get_tuples_hot_updated(c.oid)"),
    Column(RELATION, "deleted", "pg_stat_get_tuples_deleted(c.oid)"),
    Column(RELATION, "vacuums", "pg_stat_get_vacuum_count(c.oid) + pg_stat_get_autovacuum_count(c.oid)"),
    Column(RELATION, "analyzes", "pg_stat_get_analyze_count(c.oid) + pg_stat_get_autoanalyze_count(c.oid)"),
)


def columns(view: str, version: int) -> list[Column]:
    return [column for column in COLUMNS if column.view == view and version in column.versions]


def counters(view: str) -> list[str]:
    return list(dict.fromkeys(column.counter for column in COLUMNS if column.view == view))
