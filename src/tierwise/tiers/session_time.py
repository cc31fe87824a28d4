"""Where the virtual time of several sessions goes: each gain of their clock, added to what each of them waits for at that moment.

While the clock jumps all sessions are blocked, so this is an integral and not a sample. A process of PostgreSQL keeps the number of its
wait event in shared memory, which is read here at no cost to the sessions.
"""

import mmap
import os
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from tierwise.tiers.sessions import processor_clock

LOOK_S: Final = 1e-3  # how much virtual time sessions may compute until somebody looks what the others wait for
UNCLEAR: Final = frozenset({0x00, 0x0A})
"""Classes of wait events (none, and I/O) that do not say whether a session without a request waits for a lock of the kernel."""

Wait = tuple[int, str, str]
"""A wait event's number, the tier that has the session's request, and the function of the kernel that it sleeps in; each may be missing."""


class SessionTime:
    """The time of sessions, from now on. `places`: process -> byte in the file `memory` that has its wait event's number. `outstanding`
    returns process -> tier that has its request.
    """

    def __init__(self, memory: str, places: Mapping[int, int], outstanding: Callable[[], Mapping[int, str]]):
        self._outstanding = outstanding
        first = min(places.values()) // mmap.ALLOCATIONGRANULARITY * mmap.ALLOCATIONGRANULARITY
        descriptor = os.open(memory, os.O_RDONLY | os.O_CLOEXEC)
        try:
            length = max(places.values()) + 4 - first
            self._memory = mmap.mmap(descriptor, length, mmap.MAP_SHARED, mmap.PROT_READ, offset=first)
        finally:
            os.close(descriptor)
        self._events = memoryview(self._memory)[: length // 4 * 4].cast("I")
        self._sessions = [_Session(pid, (place - first) // 4) for pid, place in places.items()]
        self._computed_s = self._used_s = self._charged_s = self._processor_s = 0.0
        self._blocked_s: dict[Wait, float] = defaultdict(float)

    def computed(self, gained_s: float, *, used_s: float, charged_s: float) -> None:
        """Take note that the clock has gained by processor time, of which all processes used so much and were charged so much."""
        self._computed_s += gained_s
        self._used_s += used_s
        self._charged_s += charged_s
        if self._computed_s > LOOK_S:
            self.jumped(0.0)

    def jumped(self, gained_s: float) -> None:
        """Add what the clock has just jumped, and what it computed before, less each session's own processor time."""
        computed_s, charged = self._computed_s, self._charged_s / self._used_s if self._used_s else 0.0
        self._computed_s = self._used_s = self._charged_s = 0.0
        tiers = self._outstanding()
        for session in self._sessions:
            worked_s = charged * session.worked_s() if computed_s else 0.0
            self._processor_s += worked_s
            blocked_s = gained_s + computed_s - worked_s - session.ahead_s
            session.ahead_s = max(0.0, -blocked_s)
            if blocked_s > 0:
                event, tier = self._events[session.place], tiers.get(session.pid, "")
                unclear = not tier and event >> 24 in UNCLEAR
                self._blocked_s[event, tier, session.function() if unclear else ""] += blocked_s

    def parts(self) -> dict[str, int | float | Sequence[tuple[int, str, str, float]]]:
        self.jumped(0.0)
        blocked_s = [(*wait, seconds) for wait, seconds in self._blocked_s.items()]
        return {"sessions": len(self._sessions), "processor_s": self._processor_s, "blocked_s": blocked_s}

    def close(self) -> None:
        for session in self._sessions:
            session.close()
        self._events.release()
        self._memory.close()


class _Session:
    def __init__(self, pid: int, place: int):
        self.pid, self.place = pid, place
        self._clock = processor_clock(pid)
        self.ahead_s = 0.0  # processor time that was read before the clock gained it
        self._used_s = time.clock_gettime(self._clock)
        self._function = os.open(f"/proc/{pid}/wchan", os.O_RDONLY | os.O_CLOEXEC)

    def worked_s(self) -> float:
        before_s = self._used_s
        try:
            self._used_s = time.clock_gettime(self._clock)
        except OSError:  # it has ended
            return 0.0
        return self._used_s - before_s

    def function(self) -> str:
        """Return the function of the kernel that it sleeps in; 0: it runs, or could, or the kernel does not tell."""
        try:
            return os.pread(self._function, 128, 0).decode("ascii")
        except OSError:
            return "ended"

    def close(self) -> None:
        os.close(self._function)
