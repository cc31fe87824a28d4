"""Which blocks of a disk a cache on flash holds: after bcache and ZFS's L2ARC, and a count of reads; `smq` has dm-cache's own policy.

Sources: Linux, Documentation/admin-guide/bcache.rst and drivers/md/bcache/{alloc,bcache.h,request}.c; ZFS, the comment "Level 2 ARC" of
arc.c, and openzfs/zfs commit 887a3c533 for l2arc_write_max. Simpler than both: bcache's extents of any size are pages of 8 KiB, and its
detection of sequential streams knows no processes; L2ARC, which takes what is near the end of the cache in memory, is fed what was just
read from the disk, as all of that comes to the end sooner or later. Metadata take no space and no requests.
"""

import math
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from tierwise.core.units import KIB, MIB, PAGE_BYTES
from tierwise.devices.protocol import Operation

STREAMS: Final = 128
"""Sequential streams that bcache follows: RECENT_IO of bcache.h."""


@dataclass(frozen=True)
class CachePolicy:
    """When a block comes to the flash, and what a write does to it. All leave the disk complete, which is what each does by default."""

    block_bytes: int
    uses: int = 1  # reads of a block that the disk has served when the block is taken in; counted for as many blocks as the flash holds
    copies: bool = (
        False  # whether the block is read from the disk once more, as a whole; else it is taken from a request that held all of it
    )
    least_recent_goes: bool = True  # what makes space: the bucket used least recently, or (no) the one that was written first
    writes_through: bool = True  # whether a write goes to both, and completes with the later; else the block leaves the flash
    takes_writes: bool = False  # whether a block that is written is taken in as well
    bucket_blocks: int = 1  # blocks that are given up together
    fill_rate: float = math.inf  # bytes a second that are taken in at most, a second's worth at once; what comes beyond is not taken in
    sequential_bytes: float = math.inf  # a sequential stream passes the flash by from here on

    def begin(self, slots: int, capacity_bytes: int) -> "Residents":  # noqa: ARG002
        """Return the state of an empty cache of `slots` blocks before a disk of `capacity_bytes`."""
        return Residents(self, slots)


class Residents:
    """The buckets in use of a cache, and what it remembers of blocks that it does not hold."""

    def __init__(self, policy: CachePolicy, slots: int):
        self._policy, self._slots = policy, slots
        self._buckets: OrderedDict[int, None] = OrderedDict()  # the next to go first
        self._seen: OrderedDict[int, int] = OrderedDict()  # block that is not cached -> reads that the disk has served
        self._streams: OrderedDict[int, int] = OrderedDict()  # end of a stream -> its bytes
        self._paid_s = -math.inf

    def passes_by(self, address: int, size: int) -> bool:
        """Take down a request, and return whether it belongs to a sequential stream that is not cached."""
        if self._policy.sequential_bytes == math.inf:
            return False
        length = self._streams.pop(address, 0) + size
        self._streams[address + size] = length
        if len(self._streams) > STREAMS:
            self._streams.popitem(last=False)
        return length >= self._policy.sequential_bytes

    def admits(self, now_s: float, block: int, operation: Operation) -> bool:
        """Return whether `block`, which the disk has just been sent a request for, is to be taken in."""
        if operation is Operation.WRITE and not self._policy.takes_writes:
            return False
        seen = self._seen[block] = self._seen.pop(block, 0) + 1
        if len(self._seen) > self._slots:
            self._seen.popitem(last=False)
        if seen < self._policy.uses or self._paid_s > now_s:
            return False
        self._paid_s = max(self._paid_s, now_s - 1) + self._policy.block_bytes / self._policy.fill_rate
        return True

    def hit(self, now_s: float, bucket: int) -> None:  # noqa: ARG002
        if self._policy.least_recent_goes:
            self._buckets.move_to_end(bucket)

    def add(self, now_s: float, block: int, bucket: int) -> None:  # noqa: ARG002
        self._seen.pop(block, None)
        self._buckets[bucket] = None

    def remove(self, bucket: int) -> None:
        self._buckets.pop(bucket, None)

    def next_to_go(self, busy: Iterable[int]) -> int | None:
        """Give up a bucket, and return it; None where all are `busy`."""
        busy = set(busy)
        found = next((bucket for bucket in self._buckets if bucket not in busy), None)
        if found is not None:
            del self._buckets[found]
        return found


BCACHE: Final = CachePolicy(PAGE_BYTES, takes_writes=True, bucket_blocks=512 * KIB // PAGE_BYTES, sequential_bytes=4 * MIB)
"""bcache.rst: writethrough by default; buckets of 1,024 sectors, as its example shows; sequential_cutoff of 4 MiB."""

L2ARC: Final = CachePolicy(PAGE_BYTES, least_recent_goes=False, writes_through=False, fill_rate=32 * MIB)
"""Records of a PostgreSQL page; l2arc_write_max, 32 MiB, with l2arc_feed_secs of 1. It is written in a circle."""
