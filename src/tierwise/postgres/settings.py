"""Settings of the server: what is fixed for every trial, what helps loading, and settings of one session for a while."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import psycopg
from psycopg import sql

from tierwise.core.errors import InputError
from tierwise.core.toml import read_table, validate
from tierwise.core.units import GIB, KIB, MIB
from tierwise.core.vocabulary import IoMode
from tierwise.postgres.binaries import Binaries

Connection = psycopg.Connection[tuple[Any, ...]]

_FIXED: Final = validate(read_table(Path(__file__).with_name("settings.toml")), dict[str, dict[str, str]], where="settings.toml")
IN_FLIGHT: Final = 16  # concurrent reads of asynchronous I/O: PostgreSQL 18's default of `effective_io_concurrency`
REQUEST_BYTES: Final = 128 * KIB  # the largest combined read: PostgreSQL 18's default of `io_combine_limit`
SESSIONS: Final = 40  # `max_connections`: the largest load has 32, and each possible session reduces how many pages one may pin
PROCESSES: Final = SESSIONS + 1 + 2 + 6 + 32
"""By which PostgreSQL 18 divides its buffers (`GetPinLimit`): sessions, autovacuum worker, two launchers, auxiliary, most I/O workers."""
PINNED_BYTES: Final = (IN_FLIGHT + 1) * REQUEST_BYTES * PROCESSES
"""The least shared buffers with which one session may pin `IN_FLIGHT` largest reads and the one before: else they are smaller or fewer."""


def measuring_settings(binaries: Binaries, *, io_mode: IoMode, shared_buffers_bytes: int) -> dict[str, str]:
    """Return the settings that are fixed for every trial.

    `io_method=sync` and `effective_io_concurrency=0`: one query is one stream of reads in the order of the plan, without advice or
    read-ahead. Asynchronous I/O may have `IN_FLIGHT` reads under way and as many workers, since fewer would limit the queue's depth.
    """
    lacks = {
        "asynchronous I/O (io_method) needs 18 or later": io_mode is IoMode.ASYNCHRONOUS and not binaries.supports_io_method,
        "direct I/O (debug_io_direct) needs 16 or later": not io_mode.cached and not binaries.supports_direct_io,
    }
    if rule := next((rule for rule, lacking in lacks.items() if lacking), None):
        remedy = "leave it out of the profile, or name another server: PG_BIN=..."
        raise InputError(f"PostgreSQL {binaries.version_text}", field="io_mode", value=str(io_mode), rule=rule, remedy=remedy)
    settings = {
        **_FIXED["alone"],
        **_FIXED["measured"],
        "max_connections": str(SESSIONS),
        "shared_buffers": f"{max(128, shared_buffers_bytes // KIB)}kB",  # the server's own minimum is 128 KiB
        "effective_io_concurrency": str(IN_FLIGHT if io_mode is IoMode.ASYNCHRONOUS else 0),
    }
    if binaries.supports_io_method:
        settings |= {"autovacuum_worker_slots": "1", "io_combine_limit": f"{REQUEST_BYTES // KIB}kB"}
    if io_mode is IoMode.ASYNCHRONOUS:
        settings |= {"io_method": "worker", "io_workers": str(IN_FLIGHT)}
    elif binaries.supports_io_method:
        settings |= {"io_method": "sync", "io_workers": "1"}  # the workers' number says nothing under sync; fixed all the same
    if binaries.supports_direct_io:
        settings["debug_io_direct"] = "" if io_mode.cached else "data"
    return settings


def loading_settings() -> dict[str, str]:
    return {**_FIXED["alone"], "shared_buffers": f"{GIB // 2 // KIB}kB", "maintenance_work_mem": f"{512 * MIB // KIB}kB"}


@contextmanager
def applied(conn: Connection, settings: Mapping[str, str]) -> Iterator[None]:
    before = {name: one_value(conn, "SELECT current_setting(%s)", [name]) for name in settings}
    try:
        _set(conn, settings)
        yield
    finally:
        _set(conn, before)


def _set(conn: Connection, settings: Mapping[str, str]) -> None:
    for name, value in settings.items():
        conn.execute("SELECT set_config(%s, %s, false)", [name, value])


def one_value(conn: Connection, query: str | sql.Composed, parameters: Sequence[object] | None = None) -> Any:
    ((value,),) = conn.execute(query, parameters).fetchall()
    return value
