"""A disk drive: seek over distance, a platter that really turns, a rate that falls towards the inside, read-ahead; first in, first out."""

import math
import random
from collections import deque

from tierwise.devices.protocol import Operation
from tierwise.devices.spec import HddSpec


class Hdd:
    """The drive of `spec`; the seed decides where the platter stands at time 0.

    A place on the disk is measured in *turns*: how often the platter turns while everything before it is read.
    Its fraction is the angle of the place; track and cylinder switches are thought to be hidden by skew and to be
    part of the sustained rate.
    """

    def __init__(self, spec: HddSpec, *, seed: int, stretch: float):
        self.capacity_bytes = int(spec.capacity.base)
        self._turn_s = 1 / spec.rotation.base
        self._outer = spec.outer_rate.base
        self._slope = (spec.inner_rate.base - spec.outer_rate.base) / self.capacity_bytes
        self._turns_total = self._turns(self.capacity_bytes)
        self._surfaces = spec.surfaces.base
        self._curve = spec.curve_s
        self._overhead_s = spec.overhead.base
        self._interface = spec.interface_rate.base
        self._read_ahead = int(spec.read_ahead.base)
        self._phase = random.Random(seed).random()
        self._stretch = stretch
        self.reset()

    def reset(self) -> None:
        self._queue: deque[tuple[float, int, Operation, int, int]] = deque()
        self._serving: int | None = None
        self._done_s = -math.inf  # when the request in service completes, or the last one did
        # The buffer holds what lies between `_start` and the head, which leaves `_from` at `_from_s` and stops at `_limit` at `_limit_s`.
        self._start = self._from = self._limit = 0
        self._from_s = self._limit_s = -math.inf

    def submit(self, now_s: float, tag: int, operation: Operation, address_bytes: int, size_bytes: int) -> None:
        self._queue.append((now_s, tag, operation, address_bytes, size_bytes))
        if self._serving is None:
            self._next()

    def next_event_s(self) -> float:
        return math.inf if self._serving is None else self._done_s

    def advance(self, now_s: float) -> list[tuple[int, float]]:
        done = []
        while self._serving is not None and self._done_s <= now_s:
            done.append((self._serving, self._done_s))
            self._next()
        return done

    def _next(self) -> None:
        """Begin the oldest request, as soon as it is there and the drive is free."""
        if not self._queue:
            self._serving = None
            return
        came_s, self._serving, operation, address, size = self._queue.popleft()
        begin_s = max(came_s, self._done_s) + self._overhead_s
        match operation:
            case Operation.READ:
                self._done_s = self._read(begin_s, address, address + size)
            case Operation.WRITE:
                self._done_s = self._transfer(begin_s, address, address + size)
                self._start = address + size  # what was buffered may be stale
                self._ahead(self._done_s, address + size, address + size)
            case Operation.FLUSH:
                self._done_s = begin_s  # first in, first out: every earlier write is on the platter

    def _read(self, begin_s: float, address: int, end: int) -> float:
        """When `address` to `end` has reached the host."""
        buffered = self._start <= address <= self._limit
        if not buffered or (end > self._limit and begin_s > self._limit_s):
            done_s = self._transfer(begin_s, self._limit if buffered else address, end)
            self._start = self._start if buffered else address
            self._ahead(done_s, end, end + self._read_ahead)
            return done_s
        passed_s = self._from_s + (self._turns(end) - self._turns(self._from)) * self._turn_s
        if begin_s <= self._limit_s:  # the head has not stopped: it goes on for longer
            self._ahead(self._from_s, self._from, max(self._limit, end + self._read_ahead))
        elif self._limit - end < self._read_ahead // 2:  # it has, and the buffer runs low: it sets off again
            self._ahead(begin_s + self._wait_s(begin_s, self._turns(self._limit)), self._limit, self._limit + self._read_ahead)
        self._start = max(self._start, end - self._read_ahead)
        return max(begin_s + (end - address) / self._interface, passed_s)

    def _ahead(self, from_s: float, start: int, limit: int) -> None:
        """The head leaves `start` at `from_s` and reads on to `limit`, unless a request takes it away."""
        self._from_s, self._from, self._limit = from_s, start, min(limit, self.capacity_bytes)
        self._limit_s = from_s + (self._turns(self._limit) - self._turns(start)) * self._turn_s

    def _transfer(self, begin_s: float, address: int, end: int) -> float:
        """When the head has been moved to `address` and has passed `end`."""
        gone_s = min(max(0.0, begin_s - self._from_s), self._limit_s - self._from_s) if self._limit > self._from else 0.0
        head, place = self._turns(self._from) + gone_s / self._turn_s, self._turns(address)
        there_s = begin_s + self._seek_s(head, place)
        return there_s + self._wait_s(there_s, place) + (self._turns(end) - place) * self._turn_s

    def _seek_s(self, head: float, place: float) -> float:
        """From `head` to `place`, in turns. What comes by within a turn, or lies in the same cylinder, needs no seek."""
        distance = abs(place - head) * self._stretch
        if 0 <= place - head < 1 or distance < self._surfaces:
            return 0.0
        share = min(1.0, distance / self._turns_total)
        fixed_s, root_s, linear_s = self._curve
        return fixed_s + root_s * math.sqrt(share) + linear_s * share

    def _wait_s(self, now_s: float, place: float) -> float:
        """Until the platter has turned to `place`."""
        return (place - now_s / self._turn_s - self._phase) % 1.0 * self._turn_s

    def _turns(self, address: int) -> float:
        """Turns of the platter before `address`: the integral of 1 / (rate x time of a turn)."""
        if self._slope == 0:
            return address / (self._outer * self._turn_s)
        return math.log1p(self._slope * address / self._outer) / (self._slope * self._turn_s)
