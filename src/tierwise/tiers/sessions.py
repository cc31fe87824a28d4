"""What a group of processes is at: its processor time, and how many of its tasks could run.

In version 1 of control groups the kernel counts tasks by state itself (CGROUPSTATS, over netlink); in version 2 each one is looked at.
"""

import os
import socket
from pathlib import Path
from struct import Struct
from typing import Final

from tierwise.core.errors import TierwiseError

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
        """Return (tasks in a state that the kernel counts, of them running or runnable)."""
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
