"""A flash drive: requests wait for a channel, then share one link to the host; first in, first out."""

import math
from heapq import heappop, heappush, heapreplace

from tierwise.devices.protocol import Operation
from tierwise.devices.spec import SsdSpec


class Ssd:
    """The drive of `spec`. A request holds a channel until its last byte has gone over the link."""

    def __init__(self, spec: SsdSpec):
        self.capacity_bytes = int(spec.capacity.base)
        self._latency_s = {
            Operation.READ: spec.read_latency.base,
            Operation.WRITE: spec.write_latency.base,
            Operation.FLUSH: spec.flush_latency.base,
        }
        self._rate = {Operation.READ: spec.read_rate.base, Operation.WRITE: spec.write_rate.base, Operation.FLUSH: math.inf}
        self._channels = int(spec.channels.base)
        self.reset()

    def reset(self) -> None:
        self._free_s = [-math.inf] * self._channels  # a heap: when each channel is free
        self._link_s = -math.inf
        self._written_s = -math.inf  # when everything written so far is down
        self._done: list[tuple[float, int]] = []  # a heap of (completion, tag)

    def submit(self, now_s: float, tag: int, operation: Operation, address_bytes: int, size_bytes: int) -> None:  # noqa: ARG002 - flash has no distances
        if operation is Operation.FLUSH:
            done_s = max(now_s, self._written_s) + self._latency_s[operation]
        else:
            found_s = max(now_s, self._free_s[0]) + self._latency_s[operation]
            self._link_s = done_s = max(found_s, self._link_s) + size_bytes / self._rate[operation]
            heapreplace(self._free_s, done_s)
            if operation is Operation.WRITE:
                self._written_s = done_s
        heappush(self._done, (done_s, tag))

    def next_event_s(self) -> float:
        return self._done[0][0] if self._done else math.inf

    def advance(self, now_s: float) -> list[tuple[int, float]]:
        done = []
        while self._done and self._done[0][0] <= now_s:
            done_s, tag = heappop(self._done)
            done.append((tag, done_s))
        return done
