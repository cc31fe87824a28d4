"""A disk drive: an arm that seeks over cylinders, a platter that really turns, a buffer that reads ahead and takes writes.

A command passes through the electronics, which answer from the buffer what they can and else wait for the arm. The arm does one
job at a time; of the commands that the drive has accepted it takes the one that it reaches soonest (shortest positioning time
first). Else it writes down what the buffer has taken, and after a read it reads on until the segment is full or it is called away.
"""

import math
import random
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import islice
from operator import itemgetter
from typing import Final, NamedTuple, Self

from tierwise.devices.buffer import Buffer, Segment
from tierwise.devices.geometry import Geometry, Spiral, Spot
from tierwise.devices.protocol import Operation
from tierwise.devices.seek import SeekCurve, datasheet_curve
from tierwise.devices.spec import HddSpec

PATIENCE_S: Final = 1.0
"""What has waited for so long is next, wherever it lies."""

DESTAGED_AT_ONCE: Final = 32
"""The arm takes the nearest of this many buffered writes, the oldest ones."""


@dataclass(frozen=True)
class Mechanics:
    """The parts of a disk drive that move: geometry, arm and platters."""

    geometry: Geometry
    seek: SeekCurve
    turn_s: float
    head_switch_s: float = 0.0  # to another track of the cylinder, or to the same one anew
    write_settle_s: float = 0.0  # below zero: a write begins so much sooner than a read, though never before the arm sets off


@dataclass(frozen=True)
class Electronics:
    """What does not: the handling of commands, the link to the host (bytes per second), and the buffer."""

    overhead_s: float
    interface_rate: float
    cache_bytes: int
    segments: int
    read_ahead_bytes: int
    write_back: bool
    queue: int = 1


class _Job(NamedTuple):
    """Work for the arm, which may begin at `ready_s`; without `tag` the host has been answered already."""

    tag: int | None
    write: bool
    address: int
    end: int
    spot: Spot
    ready_s: float


class Hdd:
    """The drive of `mechanics` and `electronics`; the seed decides where the platter stands at time 0."""

    def __init__(self, mechanics: Mechanics, electronics: Electronics, *, seed: int, stretch: float = 1.0):
        self._geometry, self._seek, self._turn_s = mechanics.geometry, mechanics.seek, mechanics.turn_s
        self._head_switch_s, self._settle_s = mechanics.head_switch_s, mechanics.write_settle_s
        self._drive = electronics
        self._segment_bytes = electronics.cache_bytes // electronics.segments
        self._ahead_bytes = min(electronics.read_ahead_bytes, self._segment_bytes)
        self._phase = random.Random(seed).random()
        self._stretch = stretch
        self.capacity_bytes = self._geometry.capacity_bytes
        self.reset()

    @classmethod
    def of(cls, spec: HddSpec, *, seed: int, stretch: float) -> Self:
        turn_s = 1 / spec.rotation.base
        geometry = Spiral(int(spec.capacity.base), turn_s, spec.outer_rate.base, spec.inner_rate.base, int(spec.surfaces.base))
        curve = datasheet_curve(spec, geometry.cylinders)
        electronics = Electronics(
            overhead_s=spec.overhead.base,
            interface_rate=spec.interface_rate.base,
            cache_bytes=int(spec.cache.base),
            segments=int(spec.segments.base),
            read_ahead_bytes=int(spec.read_ahead.base),
            write_back=spec.write_back.value,
            queue=int(spec.queue.base),
        )
        mechanics = Mechanics(geometry, curve, turn_s, spec.head_switch.base, spec.write_settle.base)
        return cls(mechanics, electronics, seed=seed, stretch=stretch)

    def reset(self) -> None:
        self._waiting: deque[tuple[float, int, Operation, int, int]] = deque()  # not accepted yet
        self._draining = False  # a flush or a write waits until buffered writes are on the platter
        self._accepted = 0
        self._open_s = -math.inf  # nothing is accepted before: an earlier event found no space for it
        self._done: list[tuple[float, int]] = []  # a heap of (completion, tag)
        self._link_s = -math.inf  # when the link is or was free
        self._jobs: list[_Job] = []  # of the host, the oldest first
        self._dirty: deque[_Job] = deque()
        self._dirty_bytes = 0
        self._busy: _Job | None = None
        self._buffer = Buffer(self._drive.segments, self._segment_bytes)
        self._free_s = -math.inf  # when the arm is or was free
        self._head: Spot = (0.0, 0.0)
        # Where a read ended the head reads on: from `_from_turns` at `_from_s` to the address `_limit` at `_limit_s`.
        self._live: Segment | None = None
        self._from_s = self._limit_s = -math.inf
        self._from_turns = 0.0
        self._limit = 0

    def submit(self, now_s: float, tag: int, operation: Operation, address_bytes: int, size_bytes: int) -> None:
        while self._busy and self._free_s <= now_s:  # before this request: it decides whether the head has read on meanwhile
            self._finish(self._busy)
            self._accept(self._free_s)
        self._waiting.append((now_s, tag, operation, address_bytes, size_bytes))
        self._accept(now_s)

    def next_event_s(self) -> float:
        done_s = self._done[0][0] if self._done else math.inf
        return done_s if self._busy is None else min(done_s, self._free_s)

    def advance(self, now_s: float) -> list[tuple[int, float]]:
        done = []
        while (event_s := self.next_event_s()) <= now_s:
            if self._busy and self._free_s == event_s:
                self._finish(self._busy)
            else:
                done_s, tag = heappop(self._done)
                done.append((tag, done_s))
                self._accepted -= 1
            self._open_s = event_s
            self._accept(event_s)
        return done

    def _accept(self, now_s: float) -> None:
        while self._waiting and self._accepted < self._drive.queue:
            came_s, tag, operation, address, size = self._waiting[0]
            self._draining = self._held_up(operation, size)
            if self._draining:
                break
            self._waiting.popleft()
            self._accepted += 1
            begin_s = max(came_s, self._open_s) + self._drive.overhead_s
            if operation is Operation.READ:
                self._read(begin_s, tag, address, address + size)
            elif operation is Operation.WRITE:
                self._write(begin_s, tag, address, address + size)
            else:
                heappush(self._done, (begin_s, tag))
        if self._busy is None and (self._jobs or self._dirty):
            self._start(max(now_s, self._free_s))

    def _held_up(self, operation: Operation, size: int) -> bool:
        if operation is Operation.FLUSH:
            return self._dirty_bytes > 0 or any(job.write for job in (*self._jobs, self._busy) if job)
        return operation is Operation.WRITE and self._dirty_bytes > 0 and self._dirty_bytes + size > self._drive.cache_bytes

    def _read(self, begin_s: float, tag: int, address: int, end: int) -> None:
        live = self._live
        if live:
            self._catch_up(live, begin_s)
            if live.start <= address <= self._limit and (end <= self._limit or begin_s <= self._limit_s):
                # The head has passed it or, if it goes on for long enough, will do so.
                passed_s = -math.inf
                if end > live.end:
                    passed_s = self._from_s + (self._geometry.end(end)[0] - self._from_turns) * self._turn_s
                self._read_on(begin_s, end)
                self._answer(max(begin_s, passed_s - (end - address) / self._drive.interface_rate), tag, end - address)
                return
        if self._buffer.find(address, end):
            self._answer(begin_s, tag, end - address)
        else:
            self._jobs.append(_Job(tag, False, address, end, self._geometry.spot(address), begin_s))

    def _write(self, begin_s: float, tag: int, address: int, end: int) -> None:
        self._call_away(begin_s)
        self._buffer.written(address, end)
        if not self._drive.write_back:
            self._jobs.append(_Job(tag, True, address, end, self._geometry.spot(address), begin_s))
            return
        self._buffer.put(address, end)
        self._dirty_bytes += end - address
        done_s = self._answer(begin_s, tag, end - address)
        last = self._dirty[-1] if self._dirty else None
        if last and last.end == address and end - last.address <= self._segment_bytes:
            self._dirty[-1] = last._replace(end=end)
        else:
            self._dirty.append(_Job(None, True, address, end, self._geometry.spot(address), done_s))

    def _answer(self, begin_s: float, tag: int, size: int) -> float:
        self._link_s = max(begin_s, self._link_s) + size / self._drive.interface_rate
        heappush(self._done, (self._link_s, tag))
        return self._link_s

    def _start(self, now_s: float) -> None:
        self._call_away(now_s)
        job, there_s = self._choose(now_s)
        self._head = self._geometry.end(job.end)
        passed_s = there_s + (self._head[0] - job.spot[0]) * self._turn_s
        if job.tag is None:
            self._dirty.remove(job)
        else:
            self._jobs.remove(job)
            if not job.write:
                self._answer(max(there_s, passed_s - (job.end - job.address) / self._drive.interface_rate), job.tag, job.end - job.address)
            else:
                heappush(self._done, (passed_s, job.tag))
        self._busy, self._free_s = job, passed_s

    def _choose(self, now_s: float) -> tuple[_Job, float]:
        if self._jobs and now_s - self._jobs[0].ready_s > PATIENCE_S:
            return self._jobs[0], self._there_s(now_s, self._jobs[0])
        candidates: Iterable[_Job] = self._jobs
        if self._draining or not self._jobs:
            candidates = [*self._jobs, *islice(self._dirty, DESTAGED_AT_ONCE)]
        return min(((job, self._there_s(now_s, job)) for job in candidates), key=itemgetter(1))

    def _there_s(self, now_s: float, job: _Job) -> float:
        """When the arm has moved, and the platter has turned, to where the job begins."""
        begin_s = max(now_s, job.ready_s)
        turns, cylinder = job.spot
        head_turns, head_cylinder = self._head
        distance = abs(cylinder - head_cylinder) * self._stretch
        if not 0 <= turns - head_turns < 1:  # else it comes by, and skew hides what switches that takes
            set_off_s = begin_s
            begin_s += self._head_switch_s if distance < 1 else self._seek(distance)
            if job.write:
                begin_s = max(set_off_s, begin_s + self._settle_s)
        return begin_s + self._wait_s(begin_s, turns)

    def _finish(self, job: _Job) -> None:
        self._busy = None
        if job.write:
            if job.tag is None:
                self._dirty_bytes -= job.end - job.address
            return
        self._live = self._buffer.put(job.address, job.end)
        self._from_s, self._from_turns, self._limit, self._limit_s = self._free_s, self._head[0], job.end, self._free_s
        self._read_on(self._free_s, job.end)

    def _read_on(self, now_s: float, end: int) -> None:
        """Have the head read until `end` and the read-ahead are in the buffer; one that has stopped sets off when the buffer runs low."""
        if now_s > self._limit_s:
            if self._limit - end >= self._ahead_bytes // 2:
                return
            turns = self._geometry.spot(self._limit)[0]
            self._from_s, self._from_turns = now_s + self._wait_s(now_s, turns), turns
        self._limit = min(self.capacity_bytes, max(self._limit, end + self._ahead_bytes))
        self._limit_s = self._from_s + (self._geometry.end(self._limit)[0] - self._from_turns) * self._turn_s

    def _catch_up(self, live: Segment, now_s: float) -> None:
        if now_s >= self._limit_s:
            live.end = self._limit
        elif now_s > self._from_s:
            live.end = max(live.end, min(self._limit, self._geometry.address(self._from_turns + (now_s - self._from_s) / self._turn_s)))
        live.start = max(live.start, live.end - self._segment_bytes)

    def _call_away(self, now_s: float) -> None:
        if self._live:
            self._catch_up(self._live, now_s)
            self._head, self._live = self._geometry.end(self._live.end), None

    def _wait_s(self, now_s: float, turns: float) -> float:
        wait = (turns - now_s / self._turn_s - self._phase) % 1.0
        return 0.0 if wait > 1 - 1e-9 else wait * self._turn_s
