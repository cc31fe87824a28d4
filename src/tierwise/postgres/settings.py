"""Settings of the server: what is fixed for every trial, what helps loading, and settings of one session for a while."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import psycopg

from tierwise.core.errors import InputError
from tierwise.core.units import GIB, KIB, MIB
from tierwise.core.words import IoArm
from tierwise.postgres.binaries import Binaries

Connection = psycopg.Connection[tuple[Any, ...]]

_ALONE: Final = {
    "autovacuum": "off",
    "max_parallel_workers_per_gather": "0",
    "max_parallel_maintenance_workers": "0",
    "fsync": "on",
    "full_page_writes": "on",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "checkpoint_timeout": "1h",
    "max_wal_size": "4GB",
    "restart_after_crash": "off",
}
"""Settings under which nothing happens that was not asked for: no vacuum, no worker, no checkpoint by the clock, no silent restart with
empty caches."""


IN_FLIGHT: Final = 16
"""Reads that the asynchronous arm may have under way: PostgreSQL 18's default of `effective_io_concurrency`."""
REQUEST_BYTES: Final = 128 * KIB
"""The largest read of a plan that reads ahead, in bytes: PostgreSQL 18's default of `io_combine_limit`."""
SESSIONS: Final = 40
"""Connections that a measured server takes: the largest load has 32, and each that it could have takes from what one may pin."""
PROCESSES: Final = SESSIONS + 1 + 2 + 6 + 32
"""Among how many processes PostgreSQL 18 shares its buffers out (`GetPinLimit`): sessions, a worker of autovacuum, its launcher and that of
slots, auxiliary processes, and the most workers that read."""
PINNED_BYTES: Final = (IN_FLIGHT + 1) * REQUEST_BYTES * PROCESSES
"""The shared buffers, in bytes, from which on one session may pin the pages of `IN_FLIGHT` reads of the largest size and of the one before:
with fewer its reads are smaller, or fewer of them are under way."""


def measuring_settings(binaries: Binaries, *, arm: IoArm, shared_buffers_bytes: int) -> dict[str, str]:
    """Return what is fixed for every trial.

    `io_method=sync`: the server process reads for itself, so that a query alone is one stream of reads, each begun when the
    one before has ended, in the order of the plan. `effective_io_concurrency=0` for the same reason: no read is begun, and no advice
    given, before its page is wanted. The asynchronous arm begins up to `IN_FLIGHT` reads before their pages are wanted, and has as
    many workers to read them, since fewer would be the queue's depth. An index scan reads for itself under any method.

    Raises:
        InputError: an arm past the page cache on a version without `debug_io_direct`, or the asynchronous one without `io_method`.
    """
    if arm is IoArm.ASYNCHRONOUS and not binaries.supports_io_method:
        raise InputError(
            f"PostgreSQL {binaries.version_text}",
            field="arm",
            value=str(arm),
            rule="asynchronous I/O (io_method) needs 18 or later",
            remedy="leave the arm out of the profile, or name another server: PG_BIN=...",
        )
    if not arm.cached and not binaries.supports_direct_io:
        raise InputError(
            f"PostgreSQL {binaries.version_text}",
            field="arm",
            value=str(arm),
            rule="direct I/O (debug_io_direct) needs 16 or later",
            remedy="measure with buffered I/O, or name another server: PG_BIN=...",
        )
    settings = {
        **_ALONE,
        "max_connections": str(SESSIONS),
        "max_worker_processes": "0",
        "shared_buffers": f"{max(128, shared_buffers_bytes // KIB)}kB",  # the server's own minimum is 128 KiB
        "jit": "off",
        "effective_io_concurrency": str(IN_FLIGHT if arm is IoArm.ASYNCHRONOUS else 0),
        "maintenance_io_concurrency": "0",
        "synchronize_seqscans": "off",
        "track_io_timing": "on",
    }
    if binaries.supports_io_method:
        settings |= {"autovacuum_worker_slots": "1", "io_combine_limit": f"{REQUEST_BYTES // KIB}kB"}
    if arm is IoArm.ASYNCHRONOUS:
        settings |= {"io_method": "worker", "io_workers": str(IN_FLIGHT)}
    elif binaries.supports_io_method:
        settings |= {"io_method": "sync", "io_workers": "1"}  # the workers' number says nothing under sync; fixed all the same
    if binaries.supports_direct_io:
        settings["debug_io_direct"] = "" if arm.cached else "data"
    return settings


def loading_settings() -> dict[str, str]:
    """Return the settings for loading and for building indexes: more memory, and no more risk than usual (fsync stays on).

    `wal_level=minimal` leaves the log out for a table that is filled in the transaction that made or emptied it.
    """
    return {**_ALONE, "shared_buffers": f"{GIB // 2 // KIB}kB", "maintenance_work_mem": f"{512 * MIB // KIB}kB"}


@contextmanager
def applied(conn: Connection, settings: Mapping[str, str]) -> Iterator[None]:
    """Give this session `settings`, while open; then what it had before."""
    before = {name: _setting(conn, name) for name in settings}
    try:
        for name, value in settings.items():
            _set(conn, name, value)
        yield
    finally:
        for name, value in before.items():
            _set(conn, name, value)


def _setting(conn: Connection, name: str) -> str:
    row = conn.execute("SELECT current_setting(%s)", [name]).fetchone()
    assert row is not None
    return str(row[0])


def _set(conn: Connection, name: str, value: str) -> None:
    conn.execute("SELECT set_config(%s, %s, false)", [name, value])
