"""The clocks of a daemon's devices: real time, and virtual time of one or of several sessions.

A virtual clock stands still while nobody computes. It jumps to the next event of a device, or to the end of a session's sleep, once nobody
is left who could run. So time that the host takes from the daemon or the server is in no result.
"""

import time
from array import array
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, Final

from tierwise.core.vocabulary import ClockKind
from tierwise.tiers.fuse_abi import Opcode
from tierwise.tiers.sessions import Grouped, SessionTime, processor_clock

_UNANSWERED: Final = frozenset({Opcode.FORGET, Opcode.BATCH_FORGET, Opcode.INTERRUPT, Opcode.INIT})


@dataclass(frozen=True, slots=True)
class Charge:
    """What a virtual clock charges: nothing for the mount's part of processor time, the rest `pace` times, as on the reference processor.

    The mount's part is what a request costs its caller beyond the same request without a mount: `read_s`, `write_s`, `other_s` (flushes and
    whatever has no data). The default charges all processor time as it was used.
    """

    read_s: float = 0.0
    write_s: float = 0.0
    other_s: float = 0.0
    pace: float = 1.0

    def request_s(self, opcode: Opcode) -> float:
        return 0.0 if opcode in _UNANSWERED else {Opcode.READ: self.read_s, Opcode.WRITE: self.write_s}.get(opcode, self.other_s)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


AS_USED: Final = Charge()


HISTORY_S: Final = 2e-4
HELD_MOST_S: Final = 1.0
"""Real seconds after which a clock that was to stand goes on in real time: who holds it may himself wait for a page, or for a lock."""

Drain = Callable[[], bool]  # takes the requests that have come unseen; True where there was none


class Real:
    """Real time, of CLOCK_MONOTONIC; the methods are those of every clock.

    `meet`: a request of the process `pid` has come. `blocked`: nobody is left who could run, so that the clock may jump. `parts`: those
    of `tierwise.tiers.daemon.ClockParts`.
    """

    kind = ClockKind.REAL

    def now(self) -> float:
        return time.monotonic()

    def meet(self, pid: int) -> None:
        """Do nothing: whoever asks waits."""

    def spare(self, pid: int, opcode: int) -> None:
        """Charge nothing for what the request costs its caller; only several sessions are spared anything."""

    def blocked(self, drain: Drain) -> bool:  # noqa: ARG002 - real time does not jump
        return False

    def jump(self, to_s: float) -> None:
        """Do nothing: real time comes by itself."""

    def parts(self) -> dict[str, float]:
        return {"now_s": self.now()}


class VirtualOne:
    """The processor time of one process and the service times of its requests, one at a time, from `origin_s` on.

    A request that has not been answered blocks the process, so the clock may jump at once. Requests of any other process, and several
    at once, are `strangers`: this clock does not know what they cost. It needs no privilege.
    """

    kind = ClockKind.VIRTUAL_ONE

    def __init__(self, pid: int, origin_s: float):
        self._pid, self._origin_s = pid, origin_s
        self._processor = processor_clock(pid)
        self._before_s = self._computed_s = time.clock_gettime(self._processor)
        self._jumped_s = 0.0
        self._strangers = 0

    def now(self) -> float:
        try:  # noqa: SIM105 - thrice a request, and suppress() takes longer than the call
            self._computed_s = time.clock_gettime(self._processor)
        except OSError:  # the session has ended: its clock stands
            pass
        return self._origin_s + self._jumped_s + self._computed_s - self._before_s

    def meet(self, pid: int) -> None:
        self._strangers += pid != self._pid

    def spare(self, pid: int, opcode: int) -> None:
        """Do nothing: a single query is charged all that it uses."""

    def crowded(self) -> None:
        self._strangers += 1

    def blocked(self, drain: Drain) -> bool:  # noqa: ARG002 - who waits for an answer asks nothing else
        return True

    def jump(self, to_s: float) -> None:
        self._jumped_s += max(0.0, to_s - self.now())

    def parts(self) -> dict[str, float]:
        return {
            "now_s": self.now(),
            "computed_s": self._computed_s - self._before_s,
            "jumped_s": self._jumped_s,
            "strangers": self._strangers,
            "used_s": self._computed_s,
        }


class StoppedClock:
    """A clock that stands from now on for `HELD_MOST_S`, and then goes no quicker than real time; `gained_s`: how far it went since."""

    def __init__(self) -> None:
        self._since_s = time.monotonic()
        self.gained_s = 0.0

    def behind_s(self) -> float:
        return time.monotonic() - self._since_s - HELD_MOST_S - self.gained_s


class VirtualSeveral:
    """The processor time of a group of processes, as if it had `processors`, and jumps while all of them are blocked.

    While k of them could run, the clock gains what `charge` charges of their processor time over min(k, `processors`). Before it jumps, two
    looks must find all of them blocked, with no processor time between and no request unseen. One look is a race: the first may be woken
    by the last.
    """

    kind = ClockKind.VIRTUAL_SEVERAL

    def __init__(self, sessions: Grouped, processors: int, origin_s: float, charge: Charge):
        self._sessions, self._processors, self._now_s = sessions, processors, origin_s
        self._pace, self._request_s = charge.pace, {int(opcode): charge.request_s(opcode) for opcode in Opcode}
        self._used_s = sessions.used_s()
        self._unspared_s = self._mount_s = self._charged_s = 0.0
        self._running = 1
        self._computed_s = self._jumped_s = 0.0
        self._held: StoppedClock | None = None
        self._idle: StoppedClock | None = None
        self._sessions_time: SessionTime | None = None
        self.history = array("d")  # CLOCK_MONOTONIC and this clock in turn, about five times a real millisecond

    def now(self) -> float:
        try:
            used_s = self._sessions.used_s()
        except OSError:  # the group is gone, and with it whoever would compute
            used_s = self._used_s
        spared_s = min(self._unspared_s, used_s - self._used_s)
        charged_s = self._pace * (used_s - self._used_s - spared_s)
        gained_s = charged_s / min(max(1, self._running), self._processors)
        self._unspared_s -= spared_s
        self._mount_s += spared_s
        self._charged_s += charged_s
        self._computed_s += gained_s
        self._now_s += gained_s
        if self._sessions_time and used_s > self._used_s:
            self._sessions_time.computed(gained_s, used_s=used_s - self._used_s, charged_s=charged_s)
        self._used_s = used_s
        return self._now_s

    def meet(self, pid: int) -> None:
        """Do nothing: all sessions are counted."""

    def spare(self, pid: int, opcode: int) -> None:
        """Do not charge the caller's next processor time, as much as such a request costs; the kernel's own requests have no caller."""
        if pid:
            self._unspared_s += self._request_s.get(opcode, 0.0)

    def record(self, sessions_time: SessionTime) -> None:
        self.now()
        if self._sessions_time:
            self._sessions_time.close()
        self._sessions_time = sessions_time

    def close(self) -> None:
        self._sessions.close()
        if self._sessions_time:
            self._sessions_time.close()

    def hold(self, held: bool) -> None:
        """Do not jump, while somebody reads figures that belong to one moment, unless he takes more than `HELD_MOST_S` of real time."""
        self._held, self._idle = StoppedClock() if held else None, None

    def glance(self) -> None:
        """Take note of how many run from now on: who was answered does, and nobody may ask for anything for a while."""
        with suppress(OSError):  # the group is gone
            self.now()  # by those who were running until here
            self._running = self._sessions.running(thoroughly=False)

    def blocked(self, drain: Drain) -> bool:
        try:
            self.now()  # by those who were running until here
            self._running = self._sessions.running(thoroughly=False)
            stands = self._held is not None and self._held.behind_s() <= 0
            blocked = not stands and not self._running and drain() and self._all_blocked() and drain()
        except OSError:  # the group is gone
            blocked = drain()
        if not blocked:
            self._idle = None
        return blocked

    def _all_blocked(self) -> bool:
        return self._sessions.running(thoroughly=True) == 0 and self._sessions.used_s() == self._used_s

    def idle(self, to_s: float) -> None:
        """Stand, and after `HELD_MOST_S` go on with real time, up to `to_s`: all wait for something that no device serves."""
        self._idle = self._idle or StoppedClock()
        behind_s = min(self._idle.behind_s(), to_s - self._now_s)
        if behind_s > 0:
            self._idle.gained_s += behind_s
            self._gain(behind_s)

    def jump(self, to_s: float) -> None:
        self._idle = None
        self._gain(max(0.0, to_s - self._now_s))

    def _gain(self, gained_s: float) -> None:
        real_s = time.monotonic()
        if not self.history or real_s - self.history[-2] > HISTORY_S:
            self.history.extend((real_s, self._now_s))
        self._jumped_s += gained_s
        if self._held:
            self._held.gained_s += gained_s
        self._now_s += gained_s
        if self._sessions_time and gained_s:
            self._sessions_time.jumped(gained_s)

    def parts(self) -> dict[str, Any]:
        shown = {"now_s": self.now(), "computed_s": self._computed_s, "jumped_s": self._jumped_s}
        shown |= {"used_s": self._used_s, "mount_s": self._mount_s, "charged_s": self._charged_s}
        self.history.extend((time.monotonic(), self._now_s))
        return {**shown, **(self._sessions_time.parts() if self._sessions_time else {})}


AnyClock = Real | VirtualOne | VirtualSeveral


def record(clock: AnyClock, outstanding: Callable[[], Mapping[int, str]], *, memory: str, places: Sequence[tuple[int, int]]) -> None:
    """Have a clock of several record from now on where its sessions' time goes (see `SessionTime`)."""
    if isinstance(clock, VirtualSeveral):
        clock.record(SessionTime(memory, dict(places), outstanding))
