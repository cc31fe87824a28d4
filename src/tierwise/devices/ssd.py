"""A flash drive: requests wait for a channel, then for the link to the host; first in, first out. Erasing may hold channels up."""

import math
from heapq import heapreplace

from tierwise.core.units import KIB, PAGE_BYTES
from tierwise.devices.protocol import KnownCompletions, Operation, RateLimit
from tierwise.devices.spec import Erase, SsdSpec

_RATED_BYTES = 4 * KIB  # data sheets state random writes of this size


class Ssd(KnownCompletions):
    """The drive of `spec` without its write cache. A request holds a channel until its last byte has gone over the link.

    Reads follow each other on the link and so do writes, each at their rate and as if the others were not there. A write that does
    not continue the one before it costs, beside its transfer, what is missing to `random_write_iops`: blocks are moved and erased.
    """

    def __init__(self, spec: SsdSpec):
        self.capacity_bytes = int(spec.capacity.base)
        self._read_s, self._write_s, self._flush_s = spec.read_latency.base, spec.write_latency.base, spec.flush_latency.base
        self._ordered_s = spec.ordered_read_latency.base if spec.ordered_read_latency else self._read_s
        self._read_rate, self._write_rate = spec.read_rate.base, spec.write_rate.base
        self._channels = int(spec.channels.base)
        self._max_read_iops = spec.max_read_iops
        random_s = 1 / spec.random_write_iops.base if spec.random_write_iops else 0.0
        self._random_s = max(0.0, random_s - _RATED_BYTES / self._write_rate)
        self.reset()

    def reset(self) -> None:
        super().reset()
        self._free_s = [-math.inf] * self._channels  # a heap: when each channel is free
        self._read_until_s = -math.inf  # when every read so far has gone over the link
        self._written_s = -math.inf  # when everything written so far is down
        self._read_end = self._write_end = -1
        self._reads = RateLimit(self._max_read_iops.base) if self._max_read_iops else None

    def submit(self, now_s: float, tag: int, operation: Operation, address_bytes: int, size_bytes: int) -> None:
        if operation is Operation.READ:
            enter_s = self._reads.enter(now_s) if self._reads else now_s
            found_s = max(enter_s, self._free_s[0]) + (self._ordered_s if address_bytes == self._read_end else self._read_s)
            self._read_end = address_bytes + size_bytes
            self._read_until_s = done_s = max(found_s, self._read_until_s) + size_bytes / self._read_rate
            heapreplace(self._free_s, done_s)
        elif operation is Operation.WRITE:
            ready_s = max(now_s, self._free_s[0]) + self._write_s
            extra_s = 0.0 if address_bytes == self._write_end else self._random_s
            self._written_s = done_s = max(ready_s, self._written_s + extra_s) + size_bytes / self._write_rate
            self._write_end = address_bytes + size_bytes
            heapreplace(self._free_s, done_s)
        else:
            done_s = max(now_s, self._written_s) + self._flush_s
        self._will_be_done(done_s, tag)


class ErasingSsd(Ssd):
    """The drive of `spec`, without its write cache, with pages that lie in the channel which their address says.

    A read waits for its own channels, where `Ssd` takes whichever is free; each time a block's worth is written, the channel that was
    written last erases one and serves nothing meanwhile. What collecting garbage would write beside is not known, and left out.
    """

    def __init__(self, spec: SsdSpec, erase: Erase):
        self._erase_s, self._block_bytes = erase.latency.base, int(erase.block.base)
        super().__init__(spec)

    def reset(self) -> None:
        super().reset()
        self._unerased_bytes = 0

    def submit(self, now_s: float, tag: int, operation: Operation, address_bytes: int, size_bytes: int) -> None:
        if operation is Operation.FLUSH:
            super().submit(now_s, tag, operation, address_bytes, size_bytes)
            return
        first, last = address_bytes // PAGE_BYTES, (address_bytes + max(1, size_bytes) - 1) // PAGE_BYTES
        own = [page % self._channels for page in range(max(first, last - self._channels + 1), last + 1)]
        free_s = max(self._free_s[channel] for channel in own)
        erased_s = 0.0
        if operation is Operation.READ:
            enter_s = self._reads.enter(now_s) if self._reads else now_s
            self._read_until_s = done_s = max(max(enter_s, free_s) + self._read_s, self._read_until_s) + size_bytes / self._read_rate
        else:
            extra_s = 0.0 if address_bytes == self._write_end else self._random_s
            ready_s = max(max(now_s, free_s) + self._write_s, self._written_s + extra_s)
            self._written_s = done_s = ready_s + size_bytes / self._write_rate
            self._write_end = address_bytes + size_bytes
            erased, self._unerased_bytes = divmod(self._unerased_bytes + size_bytes, self._block_bytes)
            erased_s = erased * self._erase_s
        for channel in own:
            self._free_s[channel] = done_s
        self._free_s[own[-1]] += erased_s
        self._will_be_done(done_s, tag)
