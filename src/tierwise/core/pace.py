"""How fast this machine works now: one calibration, by which recorded times are scaled."""

import os
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import fmean
from typing import Final

import psutil

PIECE_BYTES: Final = 8_000_000
PIECES: Final = 5
TOGETHER_S: Final = 0.6  # six periods of a processor quota, which Linux enforces every 0.1 s by default


@dataclass(frozen=True, slots=True)
class Pace:
    """Processor time of a fixed piece of work in seconds, and how many processors run at once when all are wanted."""

    piece_s: float
    processors: float

    def slowdown(self, recorded: "Pace") -> float:
        """Return how many times as long as on the `recorded` machine, with the processors that a run kept busy there, a run takes here."""
        return self.piece_s / recorded.piece_s * max(1.0, recorded.processors / self.processors)


def calibrate(together_s: float = TOGETHER_S) -> Pace:
    """Measure this machine for `together_s` seconds and five pieces of work, beside whatever else runs."""
    threads = os.cpu_count() or 1
    with ThreadPoolExecutor(threads) as pool:
        began_s = time.perf_counter()
        worked_s = sum(pool.map(_compress, [began_s + together_s] * threads))
        took_s = time.perf_counter() - began_s
    return Pace(fmean(piece_s() for _ in range(PIECES)), worked_s / took_s)


def piece_s() -> float:
    """Return the processor time of the fixed piece of work, in seconds: about 0.05 s."""
    data = bytes(range(250)) * (PIECE_BYTES // 250)
    began_s = time.thread_time()
    zlib.compress(data, level=1)
    sum(number * number for number in range(1_000_000))
    return time.thread_time() - began_s


def _compress(until_s: float) -> float:
    began_s = time.thread_time()
    while time.perf_counter() < until_s:
        zlib.compress(bytes(PIECE_BYTES), level=1)
    return time.thread_time() - began_s


@dataclass(frozen=True, slots=True)
class Processors:
    """Seconds of all processors since the machine started: wanted by its processes, and of these stolen by its host."""

    wanted_s: float
    stolen_s: float

    @classmethod
    def now(cls) -> "Processors":
        """Read ``/proc/stat``, which counts hundredths of a second."""
        times = psutil.cpu_times()
        guest_s = getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)  # is part of user and nice
        idle_s = times.idle + getattr(times, "iowait", 0.0)
        return cls(float(sum(times)) - idle_s - guest_s, float(getattr(times, "steal", 0.0)))

    def steal_since(self, before: "Processors") -> float:
        wanted_s = self.wanted_s - before.wanted_s
        return min(1.0, (self.stolen_s - before.stolen_s) / wanted_s) if wanted_s > 0 else 0.0
