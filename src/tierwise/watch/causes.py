"""What a transaction's time consists of. The server measures the time; samples only divide what it does not measure."""

from dataclasses import dataclass
from typing import Final

from tierwise.core.activity import Band, Cause
from tierwise.postgres.wait_events import READS
from tierwise.watch.sampling import CAUSES, CLIENTS, WORKERS, cause
from tierwise.watch.statements import DATABASE
from tierwise.watch.totals import Totals

WORKER_TRANSACTIONS: Final = 3  # a parallel worker counts two or three transactions (seen: 47 for 20 workers, on 15 and 18)
SHARED_READ: Final = "IPC:BufferIO"  # a wait for a page that another session reads, which no session's read time has


@dataclass(frozen=True)
class Time:
    """Of all client transactions in the watched database: how many there were, their seconds, and how many were sampled by cause."""

    transactions: Band
    seconds: float
    sampled: dict[str, float]
    read_s: float | None
    sampled_s: float

    @property
    def transaction_s(self) -> float | None:
        return self.seconds / self.transactions.high if self.transactions.high >= 1 else None


def client_time(totals: Totals) -> Time:
    waits = totals.waits(CLIENTS)
    sampled = dict.fromkeys(CAUSES, 0.0)
    for event, weight in waits.items():
        sampled[cause(event)] += weight
    database = f"^{totals.database}$"

    def rise(counter: str) -> float:
        return totals.total(DATABASE, counter, database) or 0.0

    # Each session begins with one separate transaction.
    most = max(0.0, rise("transactions") - totals.own("own transactions") - rise("sessions"))
    seconds = max(0.0, rise("active_s") + rise("idle_in_transaction_s") - totals.own("own seconds"))
    taken = totals.own("taken")
    return Time(
        transactions=Band(low=_without_workers(totals, most, sampled), high=most),
        seconds=seconds,
        sampled=sampled,
        read_s=_read_s(totals, waits, seconds, sum(sampled.values())),
        sampled_s=sum(sampled.values()) / taken * totals.seconds(DATABASE) if taken else 0.0,
    )


def causes(time: Time) -> list[Cause]:
    """Return what a transaction's time consists of, most first."""
    transaction_s, samples = time.transaction_s, sum(time.sampled.values())
    if transaction_s is None or not samples:
        return []
    read_s = time.seconds * time.sampled[READS] / samples if time.read_s is None else min(time.seconds, time.read_s)
    others = samples - time.sampled[READS]
    found = [Cause(cause=READS, time_s=read_s / time.transactions.high, measured=time.read_s is not None)]
    for name in CAUSES:
        if name != READS and others:
            share = time.sampled[name] / others * (time.seconds - read_s) / time.seconds if time.seconds else 0.0
            found.append(Cause(cause=name, time_s=share * transaction_s, measured=False))
    return sorted((one for one in found if one.time_s > 0), key=lambda one: -one.time_s)


def _without_workers(totals: Totals, most: float, sampled: dict[str, float]) -> float:
    """Return the fewest transactions that clients can have made: parallel workers count theirs too."""
    seen = sum(totals.waits(WORKERS).values())
    if not seen:
        return most
    launched = totals.total(DATABASE, "parallel_workers", f"^{totals.database}$") if totals.version >= 18 else None
    if launched is not None:
        return max(0.0, most - WORKER_TRANSACTIONS * launched)
    leaders = max(1.0, sum(sampled.values()))
    return most / (1 + WORKER_TRANSACTIONS * max(1.0, seen / leaders))


def _read_s(totals: Totals, waits: dict[str, float], seconds: float, samples: float) -> float | None:
    """Return the seconds that clients waited for reads, where the server measured them and no parallel worker adds its own."""
    measured = totals.total(DATABASE, "read_s", f"^{totals.database}$")
    if not totals.timed or not measured or totals.waits(WORKERS):
        return None
    cleaned = totals.io("read_s", "^autovacuum worker/relation/")
    if cleaned is None:  # version 15 and before: by samples
        theirs = sum(weight for event, weight in totals.waits("autovacuum worker").items() if cause(event) == READS)
        ours = sum(weight for event, weight in waits.items() if cause(event) == READS)
        cleaned = measured * theirs / (theirs + ours) if theirs + ours else 0.0
    shared = seconds * waits.get(SHARED_READ, 0.0) / samples if samples else 0.0
    return max(0.0, measured - cleaned) + shared
