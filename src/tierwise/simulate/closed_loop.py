"""A fixed number of threads that read pages one after the other through a page cache in front of a device. The loop between two events is
compiled, and serves flash too, as `devices.ssd.Ssd` does; a `DeviceModel` drives any other device.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from tierwise.core.compiled import Ints
from tierwise.core.errors import InputError
from tierwise.core.units import KIB
from tierwise.devices.protocol import DeviceModel, Operation
from tierwise.devices.spec import SsdSpec
from tierwise.simulate import loop_kernels
from tierwise.simulate.machine import Costs
from tierwise.simulate.page_cache import PageCache

_NO_PAGES: Final = np.empty(0, np.int64)


@dataclass(frozen=True)
class Rates:
    """Means over a stretch of time; a miss is an operation that had to wait for the device, perhaps for another thread's read."""

    reads_per_s: float
    miss_ratio: float
    device_iops: float


@dataclass(frozen=True)
class Series:
    """Counts by intervals of `interval_s`: an operation counts where it ended, a device read where it was issued."""

    interval_s: float
    operations: Ints
    misses: Ints
    device_reads: Ints

    def rates(self, from_s: float = 0.0) -> Rates:
        first = math.ceil(from_s / self.interval_s)
        if not 0 <= first < len(self.operations):
            raise InputError("simulation", field="from_s", value=from_s, rule="must leave at least one interval")
        operations, misses, reads = (int(part[first:].sum()) for part in (self.operations, self.misses, self.device_reads))
        lasted_s = (len(self.operations) - first) * self.interval_s
        return Rates(operations / lasted_s, misses / operations if operations else math.nan, reads / lasted_s)


def run_threads(
    pages: Iterator[Ints],
    cache: PageCache,
    device: DeviceModel | SsdSpec,
    *,
    threads: int,
    duration_s: float,
    costs: Costs,
    page_bytes: int = 4 * KIB,
    interval_s: float = 10.0,
    endless: bool = False,
) -> Series:
    """Let `threads` threads read the page numbers of `pages`, dealt in the order in which the threads come for them.

    Whoever finds a page still on its way waits for the read that brings it. The run ends after `duration_s`, a multiple of `interval_s`, or
    with `pages`. Where these are `endless`, nothing more is drawn once the whole file is in the cache. Flash is served in compiled code.
    """
    _check(threads, duration_s, interval_s, costs)
    channels, times_s = 0, (0.0, 0.0, 0.0)
    if isinstance(device, SsdSpec):
        gap_s = 1 / device.max_read_iops.base if device.max_read_iops else 0.0
        channels, times_s = int(device.channels.base), (gap_s, device.read_latency.base, page_bytes / device.read_rate.base)
    model = None if isinstance(device, SsdSpec) else device
    readers = threads + (loop_kernels.HELPERS if cache.read_around > 1 else 0)
    loop = loop_kernels.Loop(
        table=cache.table,
        window=cache.read_around,
        clock=np.zeros((readers, 3)),
        reads=np.tile([loop_kernels.NOBODY, loop_kernels.NOBODY, loop_kernels.NOBODY, 0], (readers, 1)),
        busy_s=np.full(loop_kernels.CHANNELS + channels if channels else 0, -math.inf),
        times_s=times_s,
        spent_s=(costs.hit_s, costs.fault_s, costs.think_s),
        interval_s=interval_s,
        series=np.zeros((round(duration_s / interval_s), 3), np.int64),
    )
    loop.busy_s[loop_kernels.NEXT : loop_kernels.CHANNELS] = loop_kernels.CHANNELS
    loop.clock[:, loop_kernels.DUE] = -math.inf
    loop.clock[threads:, loop_kernels.TURN] = math.inf
    chunk, at, ended = _NO_PAGES, 0, False
    while True:
        if at == len(chunk) and not ended:
            idle = loop.clock[:, loop_kernels.DUE].max() <= loop.clock[:threads, loop_kernels.TURN].min()
            if endless and len(cache) == cache.file_pages and idle:
                _go_on_hitting(loop, threads, duration_s)
                break
            chunk, at = _next_chunk(pages, cache), 0
            ended = not len(chunk)
        event_s = model.next_event_s() if model else math.inf
        if not ended:
            at, thread = loop_kernels.run(loop, chunk, at, min(event_s, duration_s))
            if thread != loop_kernels.NOBODY and model:
                first, end = loop.reads[thread, :2].tolist()
                began_s = float(loop.clock[thread, loop_kernels.BEGAN])
                model.submit(began_s, thread, Operation.READ, first * page_bytes, (end - first) * page_bytes)
                continue
            if at == len(chunk):
                continue
        if model is None or event_s >= duration_s:
            break
        for tag, done_s in model.advance(event_s):
            loop_kernels.deliver(loop, tag, done_s)
    operations, misses, reads = loop.series.T
    return Series(interval_s, operations, misses, reads)


def _go_on_hitting(loop: loop_kernels.Loop, threads: int, duration_s: float) -> None:
    hit_s, _, think_s = loop.spent_s
    edges_s = np.arange(1, len(loop.series) + 1) * loop.interval_s
    for turn_s in loop.clock[:threads, loop_kernels.TURN]:
        # The operations of a thread end at turn_s + hit_s, one period later, and so on.
        ended = np.maximum(0, np.floor((np.minimum(edges_s, duration_s) - turn_s - hit_s) / (hit_s + think_s)).astype(np.int64) + 1)
        loop.series[:, loop_kernels.OPERATIONS] += np.diff(ended, prepend=0)


def _check(threads: int, duration_s: float, interval_s: float, costs: Costs) -> None:
    whole = interval_s > 0 and duration_s > 0 and math.isclose(duration_s / interval_s, round(duration_s / interval_s))
    possible = min(costs.hit_s, costs.fault_s, costs.think_s) >= 0 and costs.hit_s + costs.think_s > 0
    for field, value, good, rule in (
        ("threads", threads, threads >= 1, "must be 1 or more"),
        ("interval_s", interval_s, interval_s > 0, "must be above zero"),
        ("duration_s", duration_s, whole, f"must be a multiple of the interval, {interval_s:g} s"),
        ("costs", costs.hit_s, possible, "times must be zero or more, and a hit must take some: else time stands still"),
    ):
        if not good:
            raise InputError("simulation", field=field, value=value, rule=rule)


def _next_chunk(pages: Iterator[Ints], cache: PageCache) -> Ints:
    chunk = next(filter(len, pages), _NO_PAGES)
    for page in (chunk.min(initial=0), chunk.max(initial=0)):
        if not 0 <= page < cache.file_pages:
            raise InputError("simulation", field="page", value=int(page), rule=f"must be from 0 to {cache.file_pages - 1}")
    return chunk
