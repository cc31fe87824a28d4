"""A drive that keeps how long it had something to do."""

import math

from tierwise.devices.protocol import DeviceModel, Operation


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
