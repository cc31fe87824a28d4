"""What a group of processes is at: its processor time, how many of its tasks could run, and where the virtual time of its sessions goes.

In version 1 of control groups the kernel counts tasks by state itself (CGROUPSTATS, over netlink); in version 2 each one is looked at.

`SessionTime` adds each gain of their clock to what each of them waits for at that moment. While the clock jumps all sessions are blocked,
so this is an integral and not a sample. A process of PostgreSQL keeps the number of its wait event in shared memory, which is read here at
no cost to the sessions.
"""

import mmap
import os
import socket
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from struct import Struct
from typing import Final

from tierwise.core.errors import TierwiseError
from tierwise.core.files import closing_fd

RUNNABLE: Final = b"RW"  # states in /proc/PID/stat of a task that runs or could; one that is being woken is shown as running


class CgroupV1:
    """A group of version 1: `processors` is its folder below cpuacct, `tasks` that below pids.

    `used_s` is the processor time of its tasks; of a task that runs now, up to the kernel's last tick (milliseconds apart). `running` is
    how many of them run, or could; a look that is not thorough may miss one that is just being woken.
    """

    def __init__(self, processors: Path, tasks: Path):
        self._folder = os.open(processors, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._usage = os.open(processors / "cpuacct.usage", os.O_RDONLY | os.O_CLOEXEC)
        self._current = os.open(tasks / "pids.current", os.O_RDONLY | os.O_CLOEXEC)
        self._states = TaskStates(self._folder)
        self._slowly = ProcTasks(processors / "tasks")

    def used_s(self) -> float:
        return int(os.pread(self._usage, 32, 0)) / 1e9

    def running(self, *, thoroughly: bool) -> int:
        known, running = self._states.counted()
        # What waits for a lock or for a page, or is just being woken, is in no count of the kernel's: then every task is looked at.
        if running or not thoroughly or known == int(os.pread(self._current, 32, 0)):
            return running
        return self._slowly.running()

    def close(self) -> None:
        for descriptor in (self._folder, self._usage, self._current):
            os.close(descriptor)
        self._states.close()
        self._slowly.close()


class CgroupV2:
    def __init__(self, group: Path):
        self._usage = os.open(group / "cpu.stat", os.O_RDONLY | os.O_CLOEXEC)
        self._slowly = ProcTasks(group / "cgroup.threads")

    def used_s(self) -> float:
        return used_s_of(os.pread(self._usage, 4096, 0))

    def running(self, *, thoroughly: bool) -> int:  # noqa: ARG002 - every look is
        return self._slowly.running()

    def close(self) -> None:
        os.close(self._usage)
        self._slowly.close()


def processor_clock(pid: int) -> int:
    """Return number of the clock that shows the processor time of all threads of the process `pid` (clock_getcpuclockid(3))."""
    return (~pid << 3) | 2


def used_s_of(cpu_stat: bytes) -> float:
    for line in cpu_stat.splitlines():
        name, _, value = line.partition(b" ")
        if name == b"usage_usec":
            return int(value) / 1e6
    raise TierwiseError(f"cpu.stat has no usage_usec: {cpu_stat!r}. Remedy: a kernel with control groups of version 2")


Grouped = CgroupV1 | CgroupV2


def grouped(folders: list[str]) -> Grouped:
    first, *others = map(Path, folders)
    return CgroupV1(first, others[0]) if others else CgroupV2(first)


class ProcTasks:
    def __init__(self, listing: Path):
        self._listing = os.open(listing, os.O_RDONLY | os.O_CLOEXEC)
        self._listed = b""
        self._stats: dict[bytes, int] = {}

    def running(self) -> int:
        if (listed := self._list()) != self._listed:
            self._open(listed)
        return sum(self._state(task) in RUNNABLE for task in list(self._stats))

    def close(self) -> None:
        self._open(b"")
        os.close(self._listing)

    def _list(self) -> bytes:
        listed = b""
        while part := os.pread(self._listing, 1 << 16, len(listed)):
            listed += part
        return listed

    def _open(self, listed: bytes) -> None:
        self._listed, there = listed, set(listed.split())
        for task in self._stats.keys() - there:
            os.close(self._stats.pop(task))
        for task in there - self._stats.keys():
            try:
                self._stats[task] = os.open(b"/proc/%s/stat" % task, os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:  # it has ended meanwhile
                continue

    def _state(self, task: bytes) -> bytes:
        try:
            return state_of(os.pread(self._stats[task], 512, 0))
        except ProcessLookupError:
            return b"X"


def state_of(stat: bytes) -> bytes:
    """Return the letter of a task's state in the text of its file ``stat``; its name before may hold blanks and brackets."""
    return stat[stat.rindex(b")") + 2 :][:1]


_NETLINK_GENERIC: Final = 16
_HEADER: Final = Struct("=IHHII")  # length, type, flags, sequence, port
_GENERIC: Final = Struct("=BBH")  # command, version, reserved
_ATTRIBUTE: Final = Struct("=HH")  # length, type
_CONTROLLER, _GETFAMILY, _FAMILY_ID, _FAMILY_NAME = 16, 3, 1, 2
_CGROUPSTATS_GET, _CGROUP_FD = 4, 1
_ERROR: Final = 2
_STATES: Final = Struct("=QQQQQ")  # sleeping, running, stopped, uninterruptible, waiting for I/O


class TaskStates:
    """How many tasks of the group of version 1 whose directory is open as `folder` are in which state (linux/cgroupstats.h)."""

    def __init__(self, folder: int) -> None:
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_GENERIC)
        self._socket.bind((0, 0))
        self._socket.send(_message(_CONTROLLER, _GETFAMILY, _attribute(_FAMILY_NAME, b"TASKSTATS\0")))
        family = int.from_bytes(_attributes(self._answer())[_FAMILY_ID], "little")
        self._request = _message(family, _CGROUPSTATS_GET, _attribute(_CGROUP_FD, folder.to_bytes(4, "little")))

    def counted(self) -> tuple[int, int]:
        self._socket.send(self._request)
        sleeping, running, stopped, uninterruptible, _ = _STATES.unpack_from(self._answer(), _HEADER.size + _GENERIC.size + _ATTRIBUTE.size)
        return sleeping + running + stopped + uninterruptible, running

    def close(self) -> None:
        self._socket.close()

    def _answer(self) -> bytes:
        answer = self._socket.recv(1 << 16)
        if _HEADER.unpack_from(answer)[1] == _ERROR:
            number = -int.from_bytes(answer[_HEADER.size : _HEADER.size + 4], "little", signed=True)
            raise OSError(number, f"the kernel does not count tasks by state: {os.strerror(number)}")
        return answer


def _message(family: int, command: int, attributes: bytes) -> bytes:
    length = _HEADER.size + _GENERIC.size + len(attributes)
    return _HEADER.pack(length, family, 1, 0, 0) + _GENERIC.pack(command, 1, 0) + attributes


def _attribute(kind: int, value: bytes) -> bytes:
    return _ATTRIBUTE.pack(_ATTRIBUTE.size + len(value), kind) + value + bytes(-len(value) % 4)


def _attributes(answer: bytes) -> dict[int, bytes]:
    found, place = {}, _HEADER.size + _GENERIC.size
    while place < len(answer):
        length, kind = _ATTRIBUTE.unpack_from(answer, place)
        found[kind] = answer[place + _ATTRIBUTE.size : place + length]
        place += length + -length % 4
    return found


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
        length = max(places.values()) + 4 - first
        with closing_fd(os.open(memory, os.O_RDONLY | os.O_CLOEXEC)) as descriptor:
            self._memory = mmap.mmap(descriptor, length, mmap.MAP_SHARED, mmap.PROT_READ, offset=first)
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
