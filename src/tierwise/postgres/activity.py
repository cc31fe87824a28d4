"""What the whole server did between two moments: WAL, checkpoints, and I/O by kind of process, from its own statistics."""

from collections.abc import Mapping
from typing import Final

from tierwise.postgres.settings import Connection, one_value

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
