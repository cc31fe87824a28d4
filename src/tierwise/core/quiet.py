"""How quiet the machine is: processor time that its own host takes away (steal), how late sleepers wake up, and how fast it works.

What is waited for suffers from all three; what is counted or simulated only takes longer.
"""

import math
import os
import threading
import time
import zlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Self

import numpy as np
import psutil

REFERENCE_BYTES: Final = 8_000_000
REPEATS: Final = 5
NAP_S: Final = 0.001
"""What a sleeper asks for: about a request of an emulated disk."""
LISTENING_S: Final = 3.0
WORKING_S: Final = 0.3
"""The least seconds for which a processor works, so that some hundredths, which Linux counts by, can be stolen of them."""
LITTLE_STEAL, MUCH_STEAL = 0.01, 0.05
LITTLE_LATENESS_S, MUCH_LATENESS_S = 0.001, 0.005
"""Assumed: up to the first of each the machine counts as quiet, from the second on as noisy. A millisecond late is an eighth of a
request of a disk, five are most of one."""
PIECE_EVERY_S: Final = 4.0
"""How often a `Pace` does its piece of work: 2 % of a processor's time."""
MOST_STEAL: Final = 0.95
"""The largest steal that the forecast is scaled by, a share of the processors: a machine that gets nothing would never end."""
SHARED: Final = 0.64
"""The power by which what others make a piece of work wait makes a run longer: the piece is one thread, and a run's server, daemon and
clients get more of a machine that others use. Fitted on four runs of `quick` on one machine whose processors took the piece 0.75 times as
long as those of the recorded constants (2026-11-25; pieces took 0.96, 2.36, 4.14 and 5.12 times as long; 9.1, 15.6, 22.3 and 25.4
minutes)."""

QUICKER: Final = 0.2
"""The power by which a quicker processor makes a run shorter: in a `quick` more than half of two processors were idle.
Fitted through the recorded pace on three runs of one machine whose processors took the piece 0.54 to 0.59 times as long (2026-11-25): a
`quick` of 10.9 minutes, forecast 9.9 at the recorded pace, and two `full` of 75.4 and 73.7, forecast 92.6 and 92.4. A slower one is taken
to make all of it longer (assumed: no run on one was seen)."""


class Quiet(StrEnum):
    """How quiet a machine is, in one word."""

    QUIET = "quiet"
    RESTLESS = "restless"
    NOISY = "noisy"


MEANS: Final = {
    Quiet.QUIET: "few rows of what is waited for will be rejected",
    Quiet.RESTLESS: "some rows of what is waited for (real disks, traced and live reads) will be rejected; counted times only take longer",
    Quiet.NOISY: "many rows of what is waited for (real disks, traced and live reads) will be rejected, and their statements stay open; "
    "counted times only take longer",
}
"""What that means for a run."""
REMEDY: Final = "end other programs, ask for a machine that is not shared, or let make report RETRY=1 add blocks afterwards"


@dataclass(frozen=True)
class Noise:
    """How quiet some seconds were.

    `steal`: of the processor time that was wanted, the share that the machine's host gave to others; `late_s`: what 99 of 100 sleepers of a
    millisecond woke up too late at the most; `latest_s`: the worst of all.
    """

    steal: float
    late_s: float
    latest_s: float

    @property
    def word(self) -> Quiet:
        if self.steal >= MUCH_STEAL or self.late_s >= MUCH_LATENESS_S:
            return Quiet.NOISY
        return Quiet.QUIET if self.steal <= LITTLE_STEAL and self.late_s <= LITTLE_LATENESS_S else Quiet.RESTLESS

    @property
    def measured(self) -> str:
        """Return what was measured in words, as in ``steal 3.2 %, sleepers 0.4 ms late (the latest 7.1 ms)``."""
        late_ms, latest_ms = 1e3 * self.late_s, 1e3 * self.latest_s
        return f"steal {100 * self.steal:.1f} %, 99 of 100 sleepers at most {late_ms:.1f} ms late (the latest {latest_ms:.1f} ms)"

    @property
    def meaning(self) -> str:
        return MEANS[self.word]


@dataclass(frozen=True)
class Processor:
    """Seconds of all processors since the machine started: `wanted` by its processes, and of these `stolen` by its host."""

    wanted_s: float
    stolen_s: float

    def steal_since(self, before: "Processor") -> float:
        """Return share of the time wanted between the two; 0 where nothing was wanted, or the system counts no steal."""
        wanted_s = self.wanted_s - before.wanted_s
        return min(1.0, (self.stolen_s - before.stolen_s) / wanted_s) if wanted_s > 0 else 0.0


class Pace:
    """How long the fixed piece of work takes while it is open, done again and again: the speed that a run had beside whatever else ran."""

    def __init__(self) -> None:
        self._took_s: list[float] = []
        self._before = processor()
        self._over = threading.Event()
        self._worker = threading.Thread(target=self._repeat, daemon=True)

    def __enter__(self) -> Self:
        self._worker.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._worker.join()

    def measured(self) -> tuple[float, float]:
        """Return mean seconds of a piece, without what the host took away of them, and the share of the time wanted that it took away."""
        steal = processor().steal_since(self._before)
        return float(np.mean(self._took_s)) * (1 - min(steal, MOST_STEAL)), steal

    def _repeat(self) -> None:
        self._took_s.append(piece_s())
        while not self._over.wait(PIECE_EVERY_S):
            self._took_s.append(piece_s())


def processor() -> Processor:
    """Read what the processors have done so far, as ``/proc/stat`` counts it (in hundredths of a second)."""
    times = psutil.cpu_times()
    stolen_s = float(getattr(times, "steal", 0.0))
    idle_s = times.idle + getattr(times, "iowait", 0.0)
    guest_s = getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)  # counted in user and nice already
    return Processor(float(sum(times)) - idle_s - guest_s, stolen_s)


def listen(seconds: float = LISTENING_S) -> Noise:
    """Return how quiet the machine is: for half of `seconds` one thread naps, then all processors work together.

    Only what is wanted all the time can be stolen: of an idle machine steal says how late a processor is woken, which is the naps' part.
    The processors share the other half of `seconds`, but for `WORKING_S` that each needs: more of them cost no more processor time.
    """
    late_s = []
    until_s = time.monotonic() + seconds / 2
    while time.monotonic() < until_s:
        begun_s = time.perf_counter()
        time.sleep(NAP_S)
        late_s.append(time.perf_counter() - begun_s - NAP_S)
    before, processors = processor(), os.cpu_count() or 1
    working_s = min(seconds / 2, max(WORKING_S, seconds / 2 / processors))
    with ThreadPoolExecutor(processors) as pool:
        for _ in range(processors):
            pool.submit(_work, working_s)
    return noise_of(late_s, processor().steal_since(before))


def _work(seconds: float) -> None:
    """Compress for `seconds`, which lets other threads do the same meanwhile."""
    until_s = time.monotonic() + seconds
    while time.monotonic() < until_s:
        zlib.compress(bytes(REFERENCE_BYTES), level=1)


def noise_of(late_s: Sequence[float], steal: float) -> Noise:
    """Return the noise of a machine, from how late each sleeper woke up (`late_s`, in seconds) and the share of its processors that it did
    not get."""
    return Noise(steal, max(0.0, float(np.quantile(late_s, 0.99))), max(0.0, *late_s))


def piece_of_work() -> tuple[float, float]:
    """Do the fixed piece of work by which machines are compared: (seconds that it took, about a tenth of one; its processor time)."""
    data = bytes(range(250)) * (REFERENCE_BYTES // 250)
    begun_s, processor_s = time.perf_counter(), time.thread_time()
    zlib.compress(data, level=1)
    sum(number * number for number in range(1_000_000))
    return time.perf_counter() - begun_s, time.thread_time() - processor_s


def piece_s() -> float:
    """Return seconds of the fixed piece of work: its processor time, times the ratio of what it took to that, to the power of `SHARED`, as
    much longer as a run would be."""
    wall_s, worked_s = piece_of_work()
    return worked_s * math.pow(max(1.0, wall_s / worked_s), SHARED)


def reference_work() -> float:
    """Measure the mean seconds of a few pieces of reference work, without what the host took away of them, which is counted apart; less
    than two seconds in all.

    The mean, so that what others take of the processors is in it.
    """
    before = processor()
    mean_s = float(np.mean([piece_s() for _ in range(REPEATS)]))
    return mean_s * (1 - min(processor().steal_since(before), MOST_STEAL))


def took_s(host_s: float, device_s: float, *, pace: float, steal: float) -> float:
    """Return the forecast: seconds that so much work of the host, and so much waiting for devices, take on this machine.

    What the host does takes `pace` times as long as on the machine of the recorded constants (where that is quicker: to the power of
    `QUICKER`), and longer again by the share of its time that is stolen; waiting takes as long anywhere.

    Args:
        pace: how many times as long as there the fixed piece of work takes, beside whatever else runs (`piece_s`).
        steal: share of the wanted processor time that is not given, below 1.
    """
    longer = pace if pace > 1 else math.pow(pace, QUICKER)
    return host_s * longer / (1 - min(steal, MOST_STEAL)) + device_s
