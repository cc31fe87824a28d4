"""A fixed number of threads that read pages one after the other through a page cache in front of a device. The loop between two events is
compiled, and serves flash too, as `devices.ssd.Ssd` does; a `DeviceModel` drives any other device.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from tierwise.core.compiled import Floats, Ints, compiled, inlined, prefetch, uncounted
from tierwise.core.errors import InputError
from tierwise.core.units import KIB
from tierwise.devices.protocol import DeviceModel, Operation
from tierwise.devices.spec import SsdSpec
from tierwise.simulate.cache_kernels import fault, read_ahead, touch
from tierwise.simulate.cache_table import AHEAD, HEAD, MARKED_HIT, Table
from tierwise.simulate.machine import Costs
from tierwise.simulate.page_cache import PageCache

TURN, BEGAN, DUE = 0, 1, 2  # of a thread: when it goes on, when its operation began, when its read is done
FIRST, END, AWAITS, KINDS = 0, 1, 2, 3  # of a thread: the pages it last read from the device, the thread whose read it waits for, and a
# bit for each of 64 kinds of page, set where it reads one
OPERATIONS, MISSES, READS = 0, 1, 2  # columns of the series
GATE, LINK, NEXT, CHANNELS = 0, 1, 2, 3  # of flash: when its controller and its link are free, which channel is next, when each is free
NOBODY = -1
_SIEVED = 32  # neighbouring pages that count as of one kind when looking for what may be on its way
HELPERS = 8  # asynchronous reads of the kernel at a time; where more would begin they are left out


class Loop(NamedTuple):
    table: Table
    window: int
    clock: Floats  # (threads, 3), see `TURN`
    reads: Ints  # (threads, 4), see `FIRST`
    busy_s: Floats
    """When the flash's controller, link and channels are free, in seconds, in the order of `GATE`; empty: the caller serves reads."""
    times_s: tuple[float, float, float]  # of flash: between two reads of the controller, to find a page, to move a page
    spent_s: tuple[float, float, float]  # of the processor, in the order of `Costs`
    interval_s: float
    series: Ints  # (intervals, 3), see `OPERATIONS`


@compiled
def _run(loop: Loop, pages: Ints, at: int, until_s: float) -> tuple[int, int]:
    """Go on from `pages[at]` to the end, to `until_s`, or to a read for the caller; return the place and the thread that reads."""
    table, clock, reads, pages = uncounted(loop.table), uncounted(loop.clock), uncounted(loop.reads), uncounted(pages)
    busy_s, series = uncounted(loop.busy_s), uncounted(loop.series)
    loop = Loop(table, loop.window, clock, reads, busy_s, loop.times_s, loop.spent_s, loop.interval_s, series)
    interval_s, (hit_s, _, think_s) = loop.interval_s, loop.spent_s
    on_way = _sieve(reads)
    while at < len(pages):
        thread, turn_s, next_s = _next_turn(clock)
        if turn_s >= until_s:
            break
        # As long as no other thread's turn comes, this one goes on.
        while turn_s <= next_s and turn_s < until_s and at < len(pages):
            prefetch(table, HEAD + pages[min(at + AHEAD, len(pages) - 1)])
            page = pages[at]
            at += 1
            found = touch(table, page)
            reader = thread
            if found:  # not likely to be on its way: few pages are at a time
                reader = _reader_of(page, turn_s, clock, reads) if on_way >> (page // _SIEVED & 63) & 1 else NOBODY
            if reader == NOBODY:
                turn_s += hit_s
                interval = int(turn_s / interval_s)
                if interval < len(series):
                    series[interval, OPERATIONS] += 1
                turn_s += think_s
                helper = _read_on(loop, page, turn_s) if found == MARKED_HIT else NOBODY
                if helper != NOBODY:
                    on_way = _sieve(reads)
                    if clock[helper, DUE] == math.inf:
                        clock[thread, TURN] = turn_s
                        return at, helper
                continue
            clock[thread, BEGAN] = turn_s
            reads[thread, AWAITS] = reader
            if not found:
                first, end = fault(table, page, loop.window)
                _ask(loop, thread, first, end, turn_s)
                on_way = _sieve(reads)
            if clock[reader, DUE] < math.inf:
                _finish(loop, thread, clock[reader, DUE])
                turn_s = clock[thread, TURN]
                continue
            clock[thread, TURN] = turn_s = math.inf
            if not found:
                return at, thread
        clock[thread, TURN] = turn_s
    return at, NOBODY


@inlined
def _ask(loop: Loop, reader: int, first: int, end: int, now_s: float) -> None:
    loop.clock[reader, BEGAN] = now_s
    loop.reads[reader, FIRST], loop.reads[reader, END], loop.reads[reader, KINDS] = first, end, 1 << (first // _SIEVED & 63)
    for part in range(first // _SIEVED + 1, (end - 1) // _SIEVED + 1):
        loop.reads[reader, KINDS] |= 1 << (part & 63)
    loop.series[min(int(now_s / loop.interval_s), len(loop.series) - 1), READS] += 1
    loop.clock[reader, DUE] = _serve(now_s, end - first, loop.busy_s, loop.times_s) if len(loop.busy_s) else math.inf


@inlined
def _read_on(loop: Loop, page: int, now_s: float) -> int:
    """Have an idle one of the kernel's own readers, which stand behind the threads, read on after `page`; returns which, or `NOBODY`."""
    for helper in range(len(loop.clock) - HELPERS, len(loop.clock)):
        if loop.clock[helper, DUE] <= now_s:
            first, end = read_ahead(loop.table, page, loop.window)
            if first < end:
                _ask(loop, helper, first, end, now_s)
                return helper
            break
    return NOBODY


@inlined
def _next_turn(clock: Floats) -> tuple[int, float, float]:
    thread, turn_s, next_s = 0, math.inf, math.inf
    for candidate in range(len(clock)):
        candidate_s = clock[candidate, TURN]
        # Chosen, not branched: who is first is anybody's guess.
        later_s = turn_s if candidate_s < turn_s else candidate_s
        thread = candidate if candidate_s < turn_s else thread
        turn_s = candidate_s if candidate_s < turn_s else turn_s
        next_s = later_s if later_s < next_s else next_s
    return thread, turn_s, next_s


@inlined
def _sieve(reads: Ints) -> int:
    kinds = 0
    for reader in range(len(reads)):
        kinds |= reads[reader, KINDS]
    return kinds


@inlined
def _reader_of(page: int, now_s: float, clock: Floats, reads: Ints) -> int:
    for thread in range(len(clock)):
        # No short circuit: half of these branches would be guessed wrong.
        if (clock[thread, DUE] > now_s) & (page >= reads[thread, FIRST]) & (page < reads[thread, END]):
            return thread
    return NOBODY


@inlined
def _serve(now_s: float, pages: int, busy_s: Floats, times_s: tuple[float, float, float]) -> float:
    """When flash has read `pages` pages: through the controller's gate, the channel that was taken least recently, then the link."""
    gap_s, latency_s, page_s = times_s
    channel = int(busy_s[NEXT])
    busy_s[NEXT] = channel + 1 if channel + 1 < len(busy_s) else CHANNELS
    enter_s = max(now_s, busy_s[GATE])
    busy_s[GATE] = enter_s + gap_s
    busy_s[LINK] = max(max(enter_s, busy_s[channel]) + latency_s, busy_s[LINK]) + pages * page_s
    busy_s[channel] = busy_s[LINK]
    return float(busy_s[LINK])


@compiled
def deliver(loop: Loop, reader: int, done_s: float) -> None:
    """Hand over the read of `reader`, which the device has done: whoever waits for it goes on."""
    loop.clock[reader, DUE] = done_s
    for thread in range(len(loop.clock)):
        if loop.reads[thread, AWAITS] == reader:
            _finish(loop, thread, done_s)


@inlined
def _finish(loop: Loop, thread: int, read_s: float) -> None:
    _, fault_s, think_s = loop.spent_s
    done_s = read_s + fault_s
    interval = int(done_s / loop.interval_s)
    if interval < len(loop.series):
        loop.series[interval, OPERATIONS] += 1
        loop.series[interval, MISSES] += 1
    loop.reads[thread, AWAITS] = NOBODY
    loop.clock[thread, TURN] = done_s + think_s


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
    channels, times_s = 0, (0.0, 0.0, 0.0)
    if isinstance(device, SsdSpec):
        gap_s = 1 / device.max_read_iops.base if device.max_read_iops else 0.0
        channels, times_s = int(device.channels.base), (gap_s, device.read_latency.base, page_bytes / device.read_rate.base)
    model = None if isinstance(device, SsdSpec) else device
    readers = threads + (HELPERS if cache.read_around > 1 else 0)
    loop = Loop(
        table=cache.table,
        window=cache.read_around,
        clock=np.zeros((readers, 3)),
        reads=np.tile([NOBODY, NOBODY, NOBODY, 0], (readers, 1)),
        busy_s=np.full(CHANNELS + channels if channels else 0, -math.inf),
        times_s=times_s,
        spent_s=(costs.hit_s, costs.fault_s, costs.think_s),
        interval_s=interval_s,
        series=np.zeros((round(duration_s / interval_s), 3), np.int64),
    )
    loop.busy_s[NEXT:CHANNELS] = CHANNELS
    loop.clock[:, DUE] = -math.inf
    loop.clock[threads:, TURN] = math.inf
    chunk, at, ended = _NO_PAGES, 0, False
    while True:
        if at == len(chunk) and not ended:
            idle = loop.clock[:, DUE].max() <= loop.clock[:threads, TURN].min()
            if endless and len(cache) == cache.file_pages and idle:
                _go_on_hitting(loop, threads, duration_s)
                break
            chunk, at = _next_chunk(pages, cache), 0
            ended = not len(chunk)
        event_s = model.next_event_s() if model else math.inf
        if not ended:
            at, thread = _run(loop, chunk, at, min(event_s, duration_s))
            if thread != NOBODY and model:
                first, end = loop.reads[thread, :2].tolist()
                began_s = float(loop.clock[thread, BEGAN])
                model.submit(began_s, thread, Operation.READ, first * page_bytes, (end - first) * page_bytes)
                continue
            if at == len(chunk):
                continue
        if model is None or event_s >= duration_s:
            break
        for tag, done_s in model.advance(event_s):
            deliver(loop, tag, done_s)
    operations, misses, reads = loop.series.T
    return Series(interval_s, operations, misses, reads)


def _go_on_hitting(loop: Loop, threads: int, duration_s: float) -> None:
    hit_s, _, think_s = loop.spent_s
    edges_s = np.arange(1, len(loop.series) + 1) * loop.interval_s
    for turn_s in loop.clock[:threads, TURN]:
        # The operations of a thread end at turn_s + hit_s, one period later, and so on.
        ended = np.maximum(0, np.floor((np.minimum(edges_s, duration_s) - turn_s - hit_s) / (hit_s + think_s)).astype(np.int64) + 1)
        loop.series[:, OPERATIONS] += np.diff(ended, prepend=0)


def _next_chunk(pages: Iterator[Ints], cache: PageCache) -> Ints:
    chunk = next(filter(len, pages), _NO_PAGES)
    for page in (chunk.min(initial=0), chunk.max(initial=0)):
        if not 0 <= page < cache.file_pages:
            raise InputError("simulation", field="page", value=int(page), rule=f"must be from 0 to {cache.file_pages - 1}")
    return chunk
