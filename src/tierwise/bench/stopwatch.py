"""How long something took by the clock of a pair of tiers, and what of it is charged to the processor."""

import math
import mmap
import os
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import psutil
from psycopg import sql

from tierwise.core.files import closing_fd
from tierwise.core.units import PAGE_BYTES
from tierwise.core.vocabulary import ClockKind
from tierwise.tiers.clock import Charge
from tierwise.tiers.daemon import ClockParts, Daemon
from tierwise.tiers.sessions import RUNNABLE, processor_clock, state_of
from tierwise.timings.schema import Parts

if TYPE_CHECKING:
    from tierwise.postgres.cluster import Cluster
    from tierwise.postgres.settings import Connection

REFERENCE: Final = "SELECT count(*) FROM generate_series(1, 20000)"
"""A fixed piece of a server's work without any I/O: how fast the processors are just now."""
REFERENCES: Final = 3
REFERENCE_S: Final = 1.18e-3
"""Processor time of `REFERENCE` on the reference processor, an AMD EPYC: the median of the run 20261126-174349-full-5b31ca."""

OVERSHOOT_BOUND: Final = 0.10
"""Share of an operation's time that a late emulator or a stalled server may add before the row gives no verdict (assumed)."""
STALL_FLOOR_S: Final = 2e-3
"""What an operation may take beside processor and devices without a word: client and server hand it to each other (assumed)."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What clocks and counters show at one moment: of each process its processor time, and its time in the run queue."""

    clock: ClockParts
    wall_s: float
    cpu_s: Mapping[int, float]
    run_delay_s: Mapping[int, float]
    steal_s: float


class Stopwatch:
    """Times what the processes `pids` do, by the clock of `daemon`; without one in real time."""

    def __init__(self, daemon: Daemon | None, pids: Callable[[], Iterable[int]]):
        self._daemon, self._pids = daemon, pids

    @property
    def kind(self) -> ClockKind:
        return self._daemon.clock if self._daemon else ClockKind.REAL

    def read(self) -> Reading:
        wall_s, pids = time.monotonic(), list(self._pids())
        counted = self._daemon is not None and self.kind is not ClockKind.REAL
        clock = self._daemon.time() if self._daemon and counted else ClockParts(wall_s)
        return Reading(clock, wall_s, _known(cpu_s, pids), _known(run_delay_s, pids), psutil.cpu_times().steal)

    def parts(self, begun: Reading, ended: Reading, *, devices_s: float | None, reference_s: float | None) -> Parts:
        """Return what the time between two readings was made of; `devices_s` is what the requests of a real clock took."""
        counted = self.kind is not ClockKind.REAL
        return Parts(
            clock=self.kind,
            cpu_s=ended.clock.computed_s - begun.clock.computed_s if counted else _gained(begun.cpu_s, ended.cpu_s),
            device_s=ended.clock.jumped_s - begun.clock.jumped_s if counted else devices_s,
            wall_s=ended.wall_s - begun.wall_s,
            run_delay_s=_gained(begun.run_delay_s, ended.run_delay_s),
            steal_s=ended.steal_s - begun.steal_s,
            reference_s=reference_s,
        )


def cpu_s(pid: int) -> float:
    return time.clock_gettime(processor_clock(pid))


def run_delay_s(pid: int) -> float:
    return int(Path(f"/proc/{pid}/schedstat").read_bytes().split()[1]) / 1e9


def _known(figure: Callable[[int], float], pids: Iterable[int]) -> dict[int, float]:
    found = {}
    for pid in pids:
        with suppress(OSError):
            found[pid] = figure(pid)
    return found


def _gained(before: Mapping[int, float], after: Mapping[int, float]) -> float:
    return math.fsum(after[pid] - before[pid] for pid in before.keys() & after.keys())


def wait_asleep(pid: int) -> None:
    """Wait until the process `pid` has nothing to do: of one that has answered and still runs the kernel's account is milliseconds late."""
    stat = Path(f"/proc/{pid}/stat")
    while state_of(stat.read_bytes()) in RUNNABLE:
        pass


def reference_s(connection: "Connection", times: int = REFERENCES) -> float:
    """Measure the seconds of processor time of `REFERENCE` in the session's process just now, the median of `times` measurements."""
    pid, took_s = connection.info.backend_pid, []
    for _ in range(times):
        begun_s = cpu_s(pid)
        connection.execute(sql.SQL(REFERENCE))
        wait_asleep(pid)
        took_s.append(cpu_s(pid) - begun_s)
    return statistics.median(took_s)


def disturbed(elapsed_s: float, *, model_s: float, taken_s: float, computed_s: float | None) -> tuple[str, ...]:
    """Return why a real-time row says more of the machine than of the devices: the flag of the larger cause, or none.

    `overshoot`: requests took (`taken_s`) longer than by the device models (`model_s`). `stalled`: the server neither waited nor computed
    (`computed_s`; None: something took time that nothing reports). Both are held against what the operation should have taken.
    """
    late_s = taken_s - model_s
    if computed_s is None:
        return ("overshoot",) if late_s > OVERSHOOT_BOUND * elapsed_s else ()
    stalled_s = elapsed_s - taken_s - computed_s - STALL_FLOOR_S
    if max(late_s, stalled_s) <= OVERSHOOT_BOUND * (model_s + computed_s):
        return ()
    return ("stalled",) if stalled_s > late_s else ("overshoot",)


PROBE: Final = ".tierwise-processor-time"
"""A file on the first tier that stays there: a new one for each window would move the files that are made after it."""
BATCHES: Final = 7
BATCH: Final = 24  # requests of each kind that are timed together; the batches' median counts
WINDOW_REFERENCES: Final = 15  # a window has nothing but its own reference work, which scatters, so it does more of it than a single query


def measured_charge(mount: Path, cluster: "Cluster") -> Charge:
    """Measure what a request on `mount` costs its caller beyond one in memory, and how fast a session of `cluster` computes now."""
    on_mount = os.open(mount / PROBE, os.O_RDWR | os.O_CREAT | os.O_DIRECT | os.O_CLOEXEC, 0o600)
    with closing_fd(on_mount), closing_fd(os.memfd_create(PROBE)) as memory, mmap.mmap(-1, BATCH * PAGE_BYTES) as pages:
        for descriptor in (on_mount, memory):
            os.pwritev(descriptor, [pages], 0)
        read_s, write_s, other_s = (
            max(0.0, _request_s(request, on_mount) - _request_s(request, memory)) for request in (os.preadv, os.pwritev, _flush)
        )
    with cluster.connect() as connection:
        return Charge(read_s, write_s, other_s, pace=REFERENCE_S / reference_s(connection, WINDOW_REFERENCES))


def processor_shares(begun: Reading, ended: Reading, charge: Charge) -> dict[str, float]:
    """Return what a window in virtual time keeps of processor time. `share`: charged, of the window's time; `used_s`: by all its processes;
    `mount_share`: of that, free as the mount's part.
    """
    before, after = begun.clock, ended.clock
    if not (used_s := after.used_s - before.used_s):
        return {}
    share, mount_share = (after.computed_s - before.computed_s) / (after.now_s - before.now_s), (after.mount_s - before.mount_s) / used_s
    return {"share": share, "used_s": used_s, "mount_share": mount_share, **charge.as_dict()}


def _flush(file: int, buffers: list[mmap.mmap], offset: int) -> None:  # noqa: ARG001 - has no data
    os.fdatasync(file)


def _request_s(request: Callable[[int, list[mmap.mmap], int], object], file: int) -> float:
    took_s = []
    with mmap.mmap(-1, PAGE_BYTES) as buffer:
        for _ in range(BATCHES):
            begun_s = time.thread_time()
            for page in range(BATCH):
                request(file, [buffer], page * PAGE_BYTES)
            took_s.append((time.thread_time() - begun_s) / BATCH)
    return statistics.median(took_s)
