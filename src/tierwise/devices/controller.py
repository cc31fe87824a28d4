"""What a controller can do at most: it stands before its cache and its drives."""

import math
from collections import deque

from tierwise.devices.parameter import Parameter
from tierwise.devices.protocol import DeviceModel, Operation, RateLimit


class Controller:
    """Lets `max_iops` requests and `max_rate` bytes a second through to `below`, in the order in which they come; flushes cost nothing."""

    def __init__(self, below: DeviceModel, *, max_iops: Parameter | None, max_rate: Parameter | None):
        self._below = below
        self.capacity_bytes = below.capacity_bytes
        self._max_iops, self._max_rate = max_iops, max_rate
        self.reset()

    def reset(self) -> None:
        self._below.reset()
        self._iops = RateLimit(self._max_iops.base) if self._max_iops else None
        self._rate = RateLimit(self._max_rate.base) if self._max_rate else None
        self._held: deque[tuple[float, int, Operation, int, int]] = deque()  # not let through yet, by the time when they will be

    def submit(self, now_s: float, tag: int, operation: Operation, address_bytes: int, size_bytes: int) -> None:
        enter_s = self._held[-1][0] if self._held else now_s
        if operation is not Operation.FLUSH:
            if self._iops:
                enter_s = max(enter_s, self._iops.enter(now_s))
            if self._rate:
                enter_s = max(enter_s, self._rate.enter(now_s, size_bytes))
        if enter_s > now_s:
            self._held.append((enter_s, tag, operation, address_bytes, size_bytes))
        else:
            self._below.submit(now_s, tag, operation, address_bytes, size_bytes)

    def next_event_s(self) -> float:
        event_s = self._below.next_event_s()
        return min(event_s, self._held[0][0]) if self._held else event_s

    def advance(self, now_s: float) -> list[tuple[int, float]]:
        done: list[tuple[int, float]] = []
        while (event_s := self.next_event_s()) <= now_s and event_s < math.inf:
            done += self._below.advance(event_s)
            if self._held and self._held[0][0] == event_s:
                self._below.submit(*self._held.popleft())
        return done
