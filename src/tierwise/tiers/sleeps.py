"""Sleeps of a server's processes by the clock of the tiers: Linux reports each of them (seccomp_unotify(2)).

A server that is to sleep for a while (`commit_delay`) has the kernel's timer wake it. In virtual time that would be at any time, since
this clock jumps, and goes slower than real time beside many requests. So the sleeps of what was started by `reporting_sleeps` come to the
daemon, which ends each when its own clock has gained so much; by any other clock the process sleeps in real time, as it requested.
"""

import ctypes
import errno
import os
import platform
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from fcntl import ioctl
from pathlib import Path
from select import POLLIN, poll
from struct import Struct
from typing import Final, NamedTuple

from tierwise.core.errors import MissingError
from tierwise.core.files import closing_fd


class _Calls(NamedTuple):
    audit: int
    seccomp: int
    nanosleep: int
    clock_nanosleep: int


_CALLS: Final = {"x86_64": _Calls(0xC000003E, 317, 35, 230), "aarch64": _Calls(0xC00000B7, 277, 101, 115)}
_PIDFD_GETFD: Final = 438
_NO_NEW_PRIVILEGES, _MODE_FILTER, _NEW_LISTENER = 38, 1, 8
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _NOTIFY = 0x7FFF0000, 0x7FC00000
_NUMBER_AT, _AUDIT_AT = 0, 4
_RECEIVE, _SEND = 0xC0502100, 0xC0182101
_CONTINUE, _ABSOLUTE = 1, 1

_STEP: Final = Struct("=HBBI")  # of a filter: operation, lines to skip if so, if not, operand
_PROGRAM: Final = Struct("@HP")  # steps, where they lie
_NOTICE: Final = Struct("=QIIiIQ6Q")  # id, pid, flags, number of the call, audited architecture, instruction, six arguments
_ANSWER: Final = Struct("=QqiI")  # id, what the call gives, error, flags
_TIME: Final = Struct("@qq")  # seconds, nanoseconds


def reporting_sleeps(start: Callable[[], None], listener: Callable[[int], None]) -> None:
    """Do `start` in its own thread; the sleeps of its child processes come to a descriptor, closed at the end, that `listener` gets before.

    `listener` has to see to them from then on, or they sleep for ever.
    """

    def work() -> None:
        with closing_fd(_filtered()) as descriptor:
            listener(descriptor)
            start()

    with ThreadPoolExecutor(1) as thread:
        thread.submit(work).result()


def obstacle() -> str | None:
    if platform.machine() not in _CALLS:
        return f"numbers of system calls are not known for a processor {platform.machine()}"
    try:
        reporting_sleeps(lambda: None, lambda _: None)
    except OSError as error:
        return f"seccomp's notifications: {error.strerror}"
    return None


class Sleepers:
    """The daemon's side: sleeps that Linux reports at the `descriptor` of the process `pid`, which is duplicated here."""

    def __init__(self, pid: int, descriptor: int):
        with closing_fd(os.pidfd_open(pid)) as process:
            self.descriptor = _called(_PIDFD_GETFD, process, descriptor, 0)
        self._poll = poll()
        self._poll.register(self.descriptor, POLLIN)

    def take(self) -> tuple[int, float] | None:
        """Return a process that has gone to sleep, by a number, and for how many seconds; None where none has."""
        while any(seen & POLLIN for _, seen in self._poll.poll(0)):
            notice = bytearray(_NOTICE.size)
            try:
                ioctl(self.descriptor, _RECEIVE, notice)
            except OSError as error:
                if error.errno != errno.ENOENT:
                    raise
                continue  # it was woken by a signal
            number, pid, _, call, _, _, *arguments = _NOTICE.unpack(notice)
            seconds = _requested_s(pid, call, arguments)
            if seconds is not None:
                return number, seconds
            self.let(number)
        return None

    def waking(self, number: int) -> Callable[[object], None]:
        """Return what ends its sleep, whatever it is given; nothing where it sleeps no more."""
        return lambda _: self._answer(number, 0)

    def let(self, number: int) -> None:
        self._answer(number, _CONTINUE)

    def close(self) -> None:
        """Hear no more; who sleeps then is woken with an error."""
        os.close(self.descriptor)
        self.descriptor = -1

    def _answer(self, number: int, flags: int) -> None:
        with suppress(OSError, ValueError):  # a signal has woken it, or it was killed; or nobody is heard any more
            ioctl(self.descriptor, _SEND, _ANSWER.pack(number, 0, 0, flags))


def _requested_s(pid: int, call: int, arguments: list[int]) -> float | None:
    """Seconds that a process is to sleep, from its own memory; None where it has gone, or sleeps by a clock that is not everybody's."""
    by_clock = call == _CALLS[platform.machine()].clock_nanosleep
    try:
        with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
            memory.seek(arguments[2] if by_clock else arguments[0])
            seconds, nanoseconds = _TIME.unpack(memory.read(_TIME.size))
        now_s = time.clock_gettime(arguments[0]) if by_clock and arguments[1] & _ABSOLUTE else 0.0
    except OSError:
        return None
    return max(0.0, float(seconds + nanoseconds / 1e9) - now_s)


def _filtered() -> int:
    calls = _CALLS.get(platform.machine())
    if calls is None:
        raise MissingError("numbers of system calls", why=f"a processor {platform.machine()}", remedy="measure on x86-64 or aarch64")
    steps = [
        (_LOAD, 0, 0, _AUDIT_AT),
        (_JUMP_IF_EQUAL, 0, 4, calls.audit),
        (_LOAD, 0, 0, _NUMBER_AT),
        (_JUMP_IF_EQUAL, 1, 0, calls.clock_nanosleep),
        (_JUMP_IF_EQUAL, 0, 1, calls.nanosleep),
        (_RETURN, 0, 0, _NOTIFY),
        (_RETURN, 0, 0, _ALLOW),
    ]
    text = ctypes.create_string_buffer(b"".join(_STEP.pack(*step) for step in steps))
    program = ctypes.create_string_buffer(_PROGRAM.pack(len(steps), ctypes.addressof(text)))
    ctypes.CDLL(None).prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    return _called(calls.seccomp, _MODE_FILTER, _NEW_LISTENER, program)


def _called(number: int, *arguments: object) -> int:
    system = ctypes.CDLL(None, use_errno=True)
    given = int(system.syscall(number, *arguments))
    if given < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return given
