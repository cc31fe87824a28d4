"""What every device model can do, and what several of them are made of."""

import math
from collections.abc import Iterator
from enum import IntEnum
from heapq import heappop, heappush
from itertools import islice
from typing import Protocol, runtime_checkable


class Operation(IntEnum):
    READ = 0
    WRITE = 1
    FLUSH = 2


class DeviceModel(Protocol):
    """A device as a machine of events; time is whatever clock the driver goes by, in seconds.

    The driver submits requests, looks up the next event and advances to it. A request may be submitted a little before the time of the
    last advance (an emulator learns of requests late); it is then served as if it had come in time, as far as that is possible.
    """

    capacity_bytes: int

    def submit(self, now_s: float, tag: int, operation: Operation, address_bytes: int, size_bytes: int) -> None:
        """Take a request; `tag`, unique among the outstanding ones, is zero or more (below zero between the layers of a device)."""

    def next_event_s(self) -> float:
        """Return when something will happen next; `math.inf` when idle. Not every event completes a request."""

    def advance(self, now_s: float) -> list[tuple[int, float]]:
        """Return (tag, completion in seconds) of what completed up to `now_s`, in time order."""

    def reset(self) -> None:
        """Bring the device to where it stood after `build`; outstanding requests are forgotten."""


def ends_s(device: DeviceModel, requests: Iterator[tuple[Operation, int]], size_bytes: int, depth: int) -> Iterator[float]:
    """Yield when each of `requests` (operation, address) ends; `depth` of them always wait, until there are no more."""
    for tag, (operation, address_bytes) in enumerate(islice(requests, depth)):
        device.submit(0.0, tag, operation, address_bytes, size_bytes)
    while (event_s := device.next_event_s()) < math.inf:
        for tag, end_s in device.advance(event_s):
            yield end_s
            for operation, address_bytes in islice(requests, 1):
                device.submit(end_s, tag, operation, address_bytes, size_bytes)


@runtime_checkable
class CountsHits(Protocol):
    def hits(self) -> tuple[int, int]:
        """Return (reads that its flash served, reads) since the last reset."""


class KnownCompletions:
    def reset(self) -> None:
        self._done: list[tuple[float, int]] = []  # a heap of (completion, tag)

    def next_event_s(self) -> float:
        return self._done[0][0] if self._done else math.inf

    def advance(self, now_s: float) -> list[tuple[int, float]]:
        done = []
        while self._done and self._done[0][0] <= now_s:
            done_s, tag = heappop(self._done)
            done.append((tag, done_s))
        return done

    def _will_be_done(self, done_s: float, tag: int) -> None:
        heappush(self._done, (done_s, tag))


class RateLimit:
    """Lets `rate` units a second through, one after the other; what was not used is saved up to `saved` units."""

    def __init__(self, rate: float, *, saved: float = 0.0):
        self._rate, self._saved_s = rate, saved / rate
        self._paid_s = -math.inf  # what has gone through is paid for at this time

    def enter(self, now_s: float, amount: float = 1.0) -> float:
        enter_s = max(now_s, self._paid_s - self._saved_s)
        self._paid_s = max(now_s, self._paid_s) + amount / self._rate
        return enter_s
