"""Any device, slowed by a factor, and drives that keep how long they had something to do."""

import math
from collections.abc import Sequence
from statistics import fmean

from tierwise.devices.protocol import CountsHits, DeviceModel, Operation


class BusyTime:
    """`below`, one drive, with the time in which it had a request at least: what a cache before it sends down counts too."""

    def __init__(self, below: DeviceModel):
        self.capacity_bytes = below.capacity_bytes
        self._below = below
        self._requests, self._busy_s = 0, 0.0
        self._since_s = self._until_s = -math.inf

    def submit(self, now_s: float, tag: int, operation: Operation, address_bytes: int, size_bytes: int) -> None:
        if not self._requests:
            self._since_s = max(now_s, self._until_s)
        self._requests += 1
        self._below.submit(now_s, tag, operation, address_bytes, size_bytes)

    def next_event_s(self) -> float:
        return self._below.next_event_s()

    def advance(self, now_s: float) -> list[tuple[int, float]]:
        done = self._below.advance(now_s)
        self._requests -= len(done)
        if done and not self._requests:
            self._until_s = max(self._since_s, done[-1][1])
            self._busy_s += self._until_s - self._since_s
        return done

    def reset(self) -> None:
        self._below.reset()
        self._requests, self._busy_s = 0, 0.0
        self._since_s = self._until_s = -math.inf

    def busy_s(self, now_s: float) -> float:
        """Return the seconds since the last reset in which the drive had a request."""
        return self._busy_s + (max(0.0, now_s - self._since_s) if self._requests else 0.0)


class SlowedDevice:
    """`below`, made of `drives`, with all its times multiplied by a factor, which may be changed at any time.

    So a slow host has devices that it is quick enough for, and two devices that are slowed by one factor keep their ratio.
    """

    def __init__(self, below: DeviceModel, drives: Sequence[BusyTime] = ()):
        self.capacity_bytes = below.capacity_bytes
        self._below, self._drives = below, drives
        self._factor = 1.0
        self._origin_s = 0.0  # when the device's clock was at zero; not slowed, both clocks are the same to the last bit

    def slow(self, now_s: float, factor: float) -> None:
        self._origin_s, self._factor = now_s - self._below_s(now_s) * factor, factor

    def submit(self, now_s: float, tag: int, operation: Operation, address_bytes: int, size_bytes: int) -> None:
        self._below.submit(self._below_s(now_s), tag, operation, address_bytes, size_bytes)

    def next_event_s(self) -> float:
        event_s = self._below.next_event_s()
        return event_s if event_s == math.inf else self._drivers_s(event_s)

    def advance(self, now_s: float) -> list[tuple[int, float]]:
        below_s = self._below_s(now_s)
        event_s = self._below.next_event_s()
        if event_s < math.inf and self._drivers_s(event_s) <= now_s:
            below_s = max(below_s, event_s)  # whatever rounding says, a reported event is reached
        return [(tag, self._drivers_s(done_s)) for tag, done_s in self._below.advance(below_s)]

    def reset(self) -> None:
        self._below.reset()

    def busy_s(self, now_s: float) -> float:
        """Return how long its drives had something to do, the mean of them, by the driver's clock."""
        return self._factor * fmean(drive.busy_s(self._below_s(now_s)) for drive in self._drives)

    def hits(self) -> tuple[int, int] | None:
        """Return (hits, reads) of its cache on flash since the last reset; None where it has none."""
        return self._below.hits() if isinstance(self._below, CountsHits) else None

    def _below_s(self, now_s: float) -> float:
        return (now_s - self._origin_s) / self._factor

    def _drivers_s(self, below_s: float) -> float:
        return self._origin_s + below_s * self._factor
