"""A volume over a network: a latency, and limits of requests and bytes a second that were paid for."""

import math

from tierwise.devices.protocol import KnownCompletions, Operation, RateLimit
from tierwise.devices.volume import CloudSpec


class Cloud(KnownCompletions):
    """The volume of `spec`. A request counts once for each `io_size` it begins, or for its share if it continues the one before."""

    def __init__(self, spec: CloudSpec):
        self._spec = spec
        self.capacity_bytes = int(spec.capacity.base)
        self._read_s, self._write_s = spec.read_latency.base, spec.write_latency.base
        self._io_bytes = spec.io_size.base
        self.reset()

    def reset(self) -> None:
        super().reset()
        spec, burst = self._spec, self._spec.burst
        self._iops, self._rate = RateLimit(spec.iops), RateLimit(spec.rate)
        self._credits = RateLimit(spec.sustained_rate, saved=burst.credits.base) if burst else None
        self._end = -1  # of the request before
        self._written_s = -math.inf

    def submit(self, now_s: float, tag: int, operation: Operation, address_bytes: int, size_bytes: int) -> None:
        if operation is Operation.FLUSH:
            self._will_be_done(max(now_s, self._written_s), tag)
            return
        requests = size_bytes / self._io_bytes
        if address_bytes != self._end:
            requests = math.ceil(requests)
        self._end = address_bytes + size_bytes
        enter_s = max(self._iops.enter(now_s, requests), self._rate.enter(now_s, size_bytes))
        if self._credits:
            enter_s = max(enter_s, self._credits.enter(now_s, requests * self._io_bytes))
        if operation is Operation.READ:
            done_s = enter_s + self._read_s
        else:
            done_s = enter_s + self._write_s
            self._written_s = max(self._written_s, done_s)
        self._will_be_done(done_s, tag)
