"""Where the time of a window's sessions went, and bounds beyond which the window says more of something else than of storage."""

import math
import os
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tierwise.core.errors import TierwiseError
from tierwise.core.vocabulary import ClockKind
from tierwise.postgres import wait_events
from tierwise.postgres.wait_events import KERNEL_LOCKS, PROCESSOR, ROW_LOCKS, WAL
from tierwise.tiers.daemon import ClockParts
from tierwise.timings.schema import Parts

if TYPE_CHECKING:
    from tierwise.bench.testbed import Testbed
    from tierwise.postgres.settings import Connection

CPU_BOUND: Final = 0.25  # share of a window that is processor time above which it gives no verdict
LOCK_BOUND: Final = 0.10  # share of the sessions' time in row locks, or in locks of the kernel, above which a window gives no verdict
WAL_BOUND: Final = 0.10  # share of the sessions' time in the log above which a verdict needs the same one with ``synchronous_commit=off``


@dataclass(frozen=True)
class Spent:
    """Seconds of all `sessions` together by what they were spent on, in `elapsed_s` of a virtual clock; `why_not`: nothing recorded them.

    `utilisation`: by tier, the share of the time in which its drives had something to do, the mean of the drives.
    """

    elapsed_s: float
    sessions: int = 0
    seconds: Mapping[str, float] | None = None
    utilisation: Mapping[str, float] | None = None
    why_not: str | None = None

    def as_proof(self) -> dict[str, Any]:
        recorded = {"sessions": self.sessions, "spent_s": self.seconds} if self.seconds is not None else {"unrecorded": self.why_not}
        return {**recorded, "utilisation": self.utilisation}


def record_sessions(testbed: "Testbed", connection: "Connection") -> str | None:
    """Have a virtual clock of several record where the sessions' time goes, but for `connection`'s; return why it cannot."""
    if testbed.daemon is None or testbed.daemon.clock is not ClockKind.VIRTUAL_SEVERAL:
        return "nothing records it in real time"
    try:
        found = wait_events.find_wait_events(connection, testbed.cluster.data)
        testbed.daemon.record(found.memory, found.places)
    except (TierwiseError, OSError) as error:
        return str(error)
    return None


def spent_between(begun: ClockParts, ended: ClockParts, why_not: str | None) -> Spent:
    """Return where the time of the sessions went between two readings of a clock; `why_not`: why nothing recorded it."""
    elapsed_s = ended.now_s - begun.now_s
    busy = {tier: (busy_s - begun.busy_s[tier]) / elapsed_s for tier, busy_s in ended.busy_s.items() if tier in begun.busy_s}
    if why_not is not None:
        return Spent(elapsed_s, utilisation=busy or None, why_not=why_not)
    seconds: dict[str, float] = defaultdict(float, {PROCESSOR: ended.processor_s - begun.processor_s})
    for sign, parts in ((-1, begun), (1, ended)):
        for event, tier, function, blocked_s in parts.blocked_s:
            seconds[wait_events.resource(event, tier, function)] += sign * blocked_s
    return Spent(elapsed_s, ended.sessions, {name: spent_s for name, spent_s in seconds.items() if spent_s > 0}, busy)


def shares(phases: Sequence[Spent]) -> dict[str, float]:
    """Return the shares of the sessions' time in all `phases` together; empty where one was not recorded."""
    if not phases or any(phase.seconds is None for phase in phases):
        return {}
    total_s = math.fsum(phase.sessions * phase.elapsed_s for phase in phases)
    spent_s: Counter[str] = Counter()
    for phase in phases:
        spent_s.update(phase.seconds)
    return {name: seconds / total_s for name, seconds in spent_s.items()}


def processor_share(parts: Parts, elapsed_s: float) -> float:
    """Return the share of a window that is processor time; in real time, the share of the machine's that the server used."""
    processors = 1 if parts.clock is not ClockKind.REAL else os.cpu_count() or 1
    return (parts.cpu_s or 0.0) / (processors * elapsed_s)


def bound_flags(processor_share: float, found: Mapping[str, float]) -> list[str]:
    """Return why a window gives no verdict, by its processor time and the `shares` of its sessions' time."""
    locked = {"row-locks": found.get(ROW_LOCKS, 0.0), "kernel-locks": found.get(KERNEL_LOCKS, 0.0)}
    return [*(["cpu"] if processor_share > CPU_BOUND else []), *(flag for flag, share in locked.items() if share > LOCK_BOUND)]


def hangs_on_the_log(found: Mapping[str, float]) -> bool:
    return found.get(WAL, 0.0) > WAL_BOUND
