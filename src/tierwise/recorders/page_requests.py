"""Every page that a server's processes request from shared_buffers, hit or miss: bpftrace on the functions that count them. Needs root.

PostgreSQL 17 and later fetch each page by `StartReadBuffer` or `StartReadBuffers` (bufmgr.c), which raise the counters of pg_statio. Pages
that are made anew at the end of a file are left out, since they are not read.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil
from pathlib import Path
from typing import Any, Final

import polars as pl

from tierwise.core.errors import InputError
from tierwise.core.text_template import render
from tierwise.core.units import PAGE_BYTES
from tierwise.recorders import bpftrace
from tierwise.recorders.reads import Recording, Server
from tierwise.timings.reads import READS

FIRST_VERSION: Final = 17
MOST_REQUESTS: Final = 1_000_000
KIND: Final = {"tierwise.records": "page requests"}
"""Metadata of the Parquet file, by which a reader knows that no cache was above the recorder."""
REQUESTS: Final[dict[str, Any]] = {  # `relation`: database/file node, with its fork unless that is the main one
    **{name: READS[name] for name in ("time_s", "pid", "tablespace", "relation", "page", "size_bytes")},
    "ring": pl.Boolean,  # read by a buffer ring, as large scans, VACUUM and COPY do
}
_SEEN: Final = ("ended_ns", "pid", "tablespace", "database", "node", "fork", "strategy", "page", "pages")
_FORKS: Final = {0: "", 1: "_fsm", 2: "_vm", 3: "_init"}
_TABLESPACES: Final = {1663: "base", 1664: "global"}
_PROGRAM: Final = "page_requests.bt"


def require(server: Server) -> Path:
    """Return the server's program, or raise if its page requests cannot be recorded here."""
    version = (server.data / "PG_VERSION").read_text(encoding="ascii").strip()
    if int(version) < FIRST_VERSION:
        rule, remedy = "its functions do not name the pages", f"record page requests of PostgreSQL {FIRST_VERSION} or later"
        raise InputError(str(server.data), field="PG_VERSION", value=version, rule=rule, remedy=remedy)
    bpftrace.require()
    return Path(f"/proc/{server.postmaster}/exe").readlink()


@contextmanager
def recorded(server: Server, *, seconds: float) -> Iterator[Recording]:
    """Record every page request for at most `seconds`; `reads` holds the first `MOST_REQUESTS` (`REQUESTS`, by time) on exit."""
    epoch_s = time.time() - time.monotonic()
    ours = f"curtask->real_parent->tgid == {server.postmaster}" if server.only is None else f"pid == {server.only}"
    parts = {"binary": str(require(server)), "ours": ours, "seconds": ceil(seconds), "ready": bpftrace.SAYS_READY}
    with bpftrace.started(render(f"recorders/{_PROGRAM}", **parts), most=MOST_REQUESTS) as watcher:
        recording = Recording(lambda: watcher.ended)
        yield recording
        seen = bpftrace.entries(watcher.last_words(), b"@request[", dict.fromkeys(_SEEN, pl.Int64))
        recording.full = len(seen) >= MOST_REQUESTS
        recording.reads = _named(seen, epoch_s)


def _named(seen: pl.DataFrame, epoch_s: float) -> pl.DataFrame:
    fork = pl.col("fork").replace_strict(_FORKS, default="", return_dtype=pl.String)
    return (
        seen.sort("ended_ns")
        .select(
            time_s=pl.col("ended_ns") / 1e9 + epoch_s,
            pid="pid",
            tablespace=pl.col("tablespace").replace_strict(_TABLESPACES, default=pl.col("tablespace").cast(pl.String)),
            relation=pl.format("{}/{}{}", "database", "node", fork),
            page="page",
            size_bytes=pl.col("pages") * PAGE_BYTES,
            ring=pl.col("strategy") != 0,
        )
        .cast(pl.Schema(REQUESTS))
    )
