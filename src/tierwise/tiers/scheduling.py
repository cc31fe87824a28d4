"""Settings of the machine with which a process runs when it is due: a device does not wait for a processor."""

import os
from contextlib import suppress
from ctypes import CDLL
from pathlib import Path
from struct import Struct
from typing import Final

WAKING: Final = Path("/dev/cpu_dma_latency")
"""Linux's PM QoS: while it is held open, a processor takes at most so long (an int32, microseconds) to wake up; with 0 idle ones poll.

A virtual machine's processor that sleeps takes 50 to 150 us to run what another one has woken, and its timers end as late.
"""

_MICROSECONDS: Final = Struct("=i")
_PR_SET_TIMERSLACK: Final = 29


def real_time(wanted: bool) -> None:
    """Have this thread go before ordinary ones, with exact timers, or no more; where that is not permitted nothing happens."""
    CDLL(None).prctl(_PR_SET_TIMERSLACK, int(wanted), 0, 0, 0)  # nanoseconds; 0 is the default
    with suppress(PermissionError):  # ordinary ones keep 5 % of each processor, says the kernel
        os.sched_setscheduler(0, os.SCHED_RR if wanted else os.SCHED_OTHER, os.sched_param(int(wanted)))


class SharedProcessor:
    """Has this thread and a process that it serves take turns on one processor.

    They never run at once, so nothing is lost. On two processors each request has one wake the other: beside other work the same query then
    took up to three times the processor time, and not in every repetition (benchmarks/by_name/virtual_time.py, b and c).
    """

    def __init__(self) -> None:
        self._before: dict[int, set[int]] = {}

    def begin(self, pid: int) -> None:
        with suppress(OSError):  # where that is not permitted nothing changes
            before = {each: os.sched_getaffinity(each) for each in (pid, 0)}
            for each, usual in before.items():
                os.sched_setaffinity(each, {max(before[0])})
                self._before[each] = usual

    def end(self) -> None:
        while self._before:
            with suppress(OSError):  # the process is gone
                os.sched_setaffinity(*self._before.popitem())


class AwakeProcessors:
    """Processors that do not sleep, all of the machine's, for as long as it is held; root alone may ask for it."""

    def __init__(self) -> None:
        self._descriptor = -1

    def hold(self) -> None:
        if self._descriptor < 0:
            with suppress(OSError):  # where that is not permitted nothing changes
                self._descriptor = os.open(WAKING, os.O_WRONLY | os.O_CLOEXEC)
                os.write(self._descriptor, _MICROSECONDS.pack(0))

    def release(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
