"""A write cache before a device: writes are reported once they are in it and go down in the background."""

import math
from collections import deque

from tierwise.core.units import KIB, MIB
from tierwise.devices.protocol import DeviceModel, KnownCompletions, Operation
from tierwise.devices.spec import WriteCache

_BLOCK_BYTES = 4 * KIB  # the cache's grain
_WINDOW_BYTES = 4 * MIB  # the most that goes down at once, in bytes: beyond it an arm gains nothing, and reads wait


class WriteBack(KnownCompletions):
    """The cache of `spec` before `below`, which has at most `depth` writes of the cache to do at a time.

    Windows of some rows of `row_bytes` that are dirty as a whole go down first: so writes in order become full stripes. Else the
    oldest block goes, with its neighbours in its window; one such write at a time while the cache is at most half full and nobody
    waits. A block that is written again while it waits goes down once. A read is served from the cache if all of it is still there.
    A write that finds no free space waits until there is some; one that is larger than the cache passes it by, once it is empty.
    """

    def __init__(self, spec: WriteCache, below: DeviceModel, *, row_bytes: int, depth: int):
        self.capacity_bytes = below.capacity_bytes
        self._below = below
        self._blocks = int(spec.size.base) // _BLOCK_BYTES
        self._latency_s = spec.latency.base
        self._battery = spec.battery_backed.value
        rows = max(1, min(_WINDOW_BYTES, int(spec.size.base) // 8) // row_bytes)
        self._window, self._depth = max(1, rows * row_bytes // _BLOCK_BYTES), depth
        self.reset()

    def reset(self) -> None:
        super().reset()
        self._below.reset()
        self._dirty: dict[int, None] = {}  # blocks still to go down, oldest first
        self._dirty_of: dict[int, int] = {}  # window -> how many of its blocks are dirty
        self._whole: deque[int] = deque()  # windows that are dirty as a whole
        self._out: dict[int, range] = {}  # blocks on their way down, by a tag below zero, as no request of a driver has
        self._going = 0  # how many these are
        self._tag = 0
        self._waiting: deque[tuple[float, int, Operation, int, int]] = deque()  # writes without space, and flushes behind them

    def submit(self, now_s: float, tag: int, operation: Operation, address_bytes: int, size_bytes: int) -> None:
        if operation is Operation.READ:
            if self._holds(address_bytes, size_bytes):
                self._will_be_done(now_s + self._latency_s, tag)
            else:
                self._below.submit(now_s, tag, operation, address_bytes, size_bytes)
        elif operation is Operation.FLUSH and self._battery:
            self._will_be_done(now_s + self._latency_s, tag)
        else:
            self._waiting.append((now_s, tag, operation, address_bytes, size_bytes))
            self._admit(now_s)

    def next_event_s(self) -> float:
        return min(self._below.next_event_s(), super().next_event_s())

    def advance(self, now_s: float) -> list[tuple[int, float]]:
        # One event of the device at a time: what it frees space for may begin at once, before the next one.
        while (event_s := self._below.next_event_s()) <= now_s and event_s < math.inf:
            for tag, done_s in self._below.advance(event_s):
                if tag < 0:
                    self._going -= len(self._out.pop(tag))
                    self._admit(done_s)
                else:
                    self._will_be_done(done_s, tag)
        return super().advance(now_s)

    def _holds(self, address: int, size: int) -> bool:
        if not self._dirty and not self._out:
            return False
        return all(block in self._dirty or any(block in run for run in self._out.values()) for block in _blocks(address, size))

    def _admit(self, now_s: float) -> None:
        while self._waiting:
            came_s, tag, operation, address, size = self._waiting[0]
            blocks = _blocks(address, size)
            if (self._dirty or self._out) and (operation is Operation.FLUSH or self._is_too_full(blocks)):
                break
            self._waiting.popleft()
            now_s = max(now_s, came_s)  # the driver may submit an earlier request later
            if operation is Operation.FLUSH or len(blocks) > self._blocks:
                self._below.submit(now_s, tag, operation, address, size)
            else:
                self._take(blocks)
                self._will_be_done(now_s + self._latency_s, tag)
        while self._dirty and (run := self._next_run()):
            self._tag -= 1
            self._out[self._tag] = run
            self._going += len(run)
            start, end = run.start * _BLOCK_BYTES, min(run.stop * _BLOCK_BYTES, self.capacity_bytes)
            self._below.submit(now_s, self._tag, Operation.WRITE, start, end - start)

    def _is_too_full(self, blocks: range) -> bool:
        free = self._blocks - len(self._dirty) - self._going
        return len(blocks) > free and sum(block not in self._dirty for block in blocks) > free

    def _take(self, blocks: range) -> None:
        for block in blocks:
            if block not in self._dirty:
                self._dirty[block] = None
                window = block // self._window
                self._dirty_of[window] = count = self._dirty_of.get(window, 0) + 1
                if count == self._window:
                    self._whole.append(window)

    def _next_run(self) -> range:
        busy = bool(self._waiting) or 2 * len(self._dirty) > self._blocks
        if len(self._out) >= (self._depth if self._whole or busy else 1):
            return range(0)
        if self._whole:
            window = self._whole.popleft()
            run = range(window * self._window, (window + 1) * self._window)
        else:
            run = self._around(next(iter(self._dirty)))
            window = run.start // self._window
        for block in run:
            del self._dirty[block]
        self._dirty_of[window] -= len(run)
        if not self._dirty_of[window]:
            del self._dirty_of[window]
        return run

    def _around(self, block: int) -> range:
        low = block - block % self._window
        start, stop = block, block + 1
        while start > low and start - 1 in self._dirty:
            start -= 1
        while stop < low + self._window and stop in self._dirty:
            stop += 1
        return range(start, stop)


def _blocks(address: int, size: int) -> range:
    return range(address // _BLOCK_BYTES, -(-(address + size) // _BLOCK_BYTES))
