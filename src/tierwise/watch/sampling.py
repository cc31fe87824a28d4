"""Samples of wait events: who waits for what, counted, never kept singly."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tierwise.postgres.settings import Connection
from tierwise.postgres.wait_events import CLIENT, PROCESSOR, READS, ROW_LOCKS, WAL, WRITES
from tierwise.watch import statements
from tierwise.watch.slowest import age_class

TEMPORARY: Final = "temporary files"
OTHER: Final = "other"
CAUSES: Final = (READS, WRITES, WAL, TEMPORARY, ROW_LOCKS, PROCESSOR, CLIENT, OTHER)
EVENTS: Final = {
    READS: {"datafileread", "datafileprefetch", "aioiocompletion", "aioiouringexecution", "aiouringexecution", "bufferio"},
    WRITES: {"datafilewrite", "datafileextend", "datafileflush", "datafilesync", "datafileimmediatesync", "datafiletruncate"},
    WAL: {"walwrite", "walsync", "walinitwrite", "walinitsync", "walinsert", "walbufmapping"},
    TEMPORARY: {"buffileread", "buffilewrite", "buffiletruncate"},
    ROW_LOCKS: {"transactionid", "tuple"},
    CLIENT: {"clientread", "clientwrite"},
}
CAUSE_OF: Final = {event: cause for cause, events in EVENTS.items() for event in events}
GATHERS: Final = {"executegather", "parallelfinish", "bgworkerstartup", "bgworkershutdown", "messagequeuereceive", "messagequeuesend"}
"""A leader that waits for its workers waits for what they wait for."""
SLEEPS: Final = {"Activity", "Timeout", "Extension"}
CLIENTS, ELSEWHERE, WORKERS, AGES = "clients", "other databases", "parallel workers", "ages"
TRANSACTION: Final = ("active", "idle in transaction", "idle in transaction (aborted)", "fastpath function call")


def cause(event: str) -> str:
    """Return what a process waits for by its wait event, as `Waits` names it."""
    return PROCESSOR if event == PROCESSOR else CAUSE_OF.get(event.partition(":")[2].lower(), OTHER)


@dataclass
class Waits:
    """Counts of samples by (group, wait event); `taken` samples were taken, of all processes at once."""

    taken: int = 0
    counts: dict[tuple[str, str], float] = field(default_factory=lambda: defaultdict(float))

    def add(self, rows: Sequence[tuple[Any, ...]], database: int) -> None:
        """Count one sample of the server's processes; rows are those of the statement ``activity``."""
        self.taken += 1
        workers: dict[int, list[str]] = {}
        for _, _, backend, _, kind, event, leader, _ in rows:
            if backend == "parallel worker" and leader is not None:
                workers.setdefault(leader, []).append(_named(kind, event))
                self.counts[WORKERS, _named(kind, event)] += 1
        for pid, home, backend, state, kind, event, _, age_s in rows:
            if backend == "client backend" and state in TRANSACTION:
                group = CLIENTS if home == database else ELSEWHERE
                if group == CLIENTS and age_s is not None:
                    self.counts[AGES, str(age_class(age_s))] += 1
                below = workers.get(pid, []) if (event or "").lower() in GATHERS else []
                for name in below or [_named(kind, event)]:
                    self.counts[group, name] += 1 / len(below or [name])
            elif backend not in {"client backend", "parallel worker"} and kind not in SLEEPS:
                self.counts[backend or "unknown", _named(kind, event)] += 1


def sample(connection: Connection, waits: Waits, database: int) -> None:
    waits.add(connection.execute(statements.SQL["activity"].encode()).fetchall(), database)


def _named(kind: str | None, event: str | None) -> str:
    return f"{kind}:{event}" if kind and event else PROCESSOR
