"""Which blocks of a disk a cache on flash holds: after bcache, ZFS's L2ARC and dm-cache's policy *smq*, the stochastic multi-queue.

Sources: Linux, Documentation/admin-guide/bcache.rst and drivers/md/bcache/{alloc,bcache.h,request}.c; ZFS, the comment "Level 2 ARC" of
arc.c, and openzfs/zfs commit 887a3c533 for l2arc_write_max. Simpler than both: bcache's extents of any size are pages of 8 KiB, and its
detection of sequential streams knows no processes; L2ARC, which takes what is near the end of the cache in memory, is fed what was just
read from the disk, as all of that comes to the end sooner or later. Metadata take no space and no requests.

*smq*: Linux since 4.12, drivers/md/dm-cache-policy-smq.c and Documentation/admin-guide/device-mapper/cache-policies.rst. Simpler: no block
is dirty, because `lvmcache` uses *writethrough* by default (lvmcache(7)), and a demotion takes no time.
"""

import math
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from tierwise.core.units import KIB, MIB, PAGE_BYTES
from tierwise.devices.protocol import Operation

STREAMS: Final = 128  # sequential streams that bcache follows: RECENT_IO of bcache.h


@dataclass(frozen=True)
class CachePolicy:
    """When a block comes to the flash, and what a write does to it. All leave the disk complete, which is what each does by default."""

    block_bytes: int
    uses: int = 1  # reads of a block that the disk has served when the block is taken in; counted for as many blocks as the flash holds
    copies: bool = False  # whether the block is read from the disk again, as a whole; else it is taken from a request that held all of it
    least_recent_goes: bool = True  # what makes space: the bucket used least recently, or (no) the one that was written first
    writes_through: bool = True  # whether a write goes to both, and completes with the later; else the block leaves the flash
    makes_space_first: bool = False  # whether a block that finds no space only has one given up, so that a later block finds it
    takes_writes: bool = False  # whether a block that is written is taken in as well
    bucket_blocks: int = 1  # blocks that are given up together
    fill_rate: float = math.inf  # bytes a second that are taken in at most, a second's worth at once; what comes beyond is not taken in
    sequential_bytes: float = math.inf  # a sequential stream passes the flash by from here on
    multiqueue: bool = False  # whether the levels of smq take blocks in and give them up, in place of `uses` and `least_recent_goes`

    def begin(self, slots: int, capacity_bytes: int) -> "Residents":
        return Multiqueue(self, slots, capacity_bytes) if self.multiqueue else Residents(self, slots)


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


LEVELS: Final = 64  # NR_HOTSPOT_LEVELS and NR_CACHE_LEVELS
HOTSPOT_PERIOD_S, CACHE_PERIOD_S = 1.0, 60.0  # HOTSPOT_UPDATE_PERIOD and CACHE_UPDATE_PERIOD
HOTSPOT_BLOCKS: Final = 16  # cache blocks of a hotspot block at most: calc_hotspot_params
LEAST_HOTSPOTS: Final = 1024  # the same function
TOP_LEVELS: Final = 8  # nr_top_levels of the hotspot queue
HIT_LEVEL: Final = LEVELS * 3 // 4  # stats_init: a request at this level or above speaks for the queue
POOR, FAIR = 1 / 16, 1 / 8  # stats_assess: shares of such requests below which a queue does poorly, or fairly


class Queue:
    """LRU lists in levels; what is used changes places with the oldest of a level above."""

    def __init__(self) -> None:
        self.level_of: dict[int, int] = {}
        self._levels: list[OrderedDict[int, None]] = [OrderedDict() for _ in range(LEVELS)]
        self.hit: set[int] = set()  # in this period

    def __len__(self) -> int:
        return len(self.level_of)

    def push(self, entry: int, level: int) -> None:
        self.level_of[entry] = level
        self._levels[level][entry] = None

    def remove(self, entry: int) -> None:
        del self._levels[self.level_of.pop(entry)][entry]
        self.hit.discard(entry)

    def use(self, entry: int, jump: int) -> None:
        """Move `entry` up by `jump` levels, but only once in a period."""
        level = self.level_of[entry]
        above = level if entry in self.hit else min(LEVELS - 1, level + jump)
        del self._levels[level][entry]
        if above > level and self._levels[above]:
            oldest, _ = self._levels[above].popitem(last=False)
            self.push(oldest, level)
        self.push(entry, above)
        self.hit.add(entry)

    def oldest_first(self, levels: int = LEVELS) -> Iterator[int]:
        return (entry for level in self._levels[:levels] for entry in level)

    def end_period(self, in_top: int = -1) -> None:
        """Have the same number of entries in each level, but `in_top` of them in the top levels, if given."""
        self.hit.clear()
        in_top = min(in_top, len(self))
        low = LEVELS if in_top < 0 else LEVELS - TOP_LEVELS
        targets = [*_shares(len(self) - max(0, in_top), low), *_shares(max(0, in_top), LEVELS - low)]
        order = list(self.oldest_first())
        for level, target in enumerate(targets):
            self._levels[level] = OrderedDict.fromkeys(order[:target])
            self.level_of.update(dict.fromkeys(order[:target], level))
            del order[:target]


def _shares(count: int, levels: int) -> list[int]:
    return [count // levels + (level < count % levels) for level in range(levels)]


SMQ: Final = CachePolicy(256 * KIB, copies=True, makes_space_first=True, multiqueue=True)
"""Documentation/admin-guide/device-mapper/cache.rst: "Typically we've been using block sizes of 256KB - 1024KB"."""


class Multiqueue(Residents):
    """The blocks of the cache by levels, and before them the hotspots: larger blocks of the disk that were missed."""

    def __init__(self, policy: CachePolicy, slots: int, capacity_bytes: int):
        super().__init__(policy, slots)
        self._cache, self._hotspots = Queue(), Queue()
        self._most_hotspots = max(slots // 4, LEAST_HOTSPOTS)
        self._blocks_each = HOTSPOT_BLOCKS
        while self._blocks_each > 1 and self._blocks_each * policy.block_bytes * self._most_hotspots > capacity_bytes:
            self._blocks_each //= 2
        self._in_top = min(self._most_hotspots // LEVELS, slots // self._blocks_each)
        self._hotspots_due_s = self._cache_due_s = self._tick_due_s = 0.0
        self._lookups = self._high = 0  # requests for hotspots, and those of them that found one of a high level
        self._jump, self._promoted_from = 1, LEVELS

    def admits(self, now_s: float, block: int, operation: Operation) -> bool:  # noqa: ARG002
        self._tick(now_s)
        hotspot, queue = block // self._blocks_each, self._hotspots
        self._lookups += 1
        if hotspot in queue.level_of:
            self._high += queue.level_of[hotspot] >= HIT_LEVEL
            queue.use(hotspot, self._jump)
        else:
            if len(queue) >= self._most_hotspots:
                queue.remove(next(queue.oldest_first()))
            queue.push(hotspot, 0)
        return queue.level_of[hotspot] >= self._promoted_from

    def hit(self, now_s: float, bucket: int) -> None:
        self._tick(now_s)
        if bucket not in self._cache.hit:
            self._cache.use(bucket, 1)

    def add(self, now_s: float, block: int, bucket: int) -> None:  # noqa: ARG002
        self._cache.push(bucket, LEVELS - 1)

    def remove(self, bucket: int) -> None:
        self._cache.remove(bucket)

    def next_to_go(self, busy: Iterable[int]) -> int | None:
        """Give up a block of the lower levels, as `queue_demotion` does: a block that came in this period stays."""
        found = next((bucket for bucket in self._cache.oldest_first(LEVELS // 2) if bucket not in busy), None)
        if found is not None:
            self._cache.remove(found)
        return found

    def _tick(self, now_s: float) -> None:
        """Do what the kernel does each second: see how well the hotspots foresee requests, and promote and move by that."""
        if now_s < self._tick_due_s:
            return
        self._tick_due_s = now_s + HOTSPOT_PERIOD_S
        confidence = self._high / self._lookups if self._lookups else 0.0
        # update_promote_levels and update_level_jump: all levels above 64 less 64, 32 or 16 are promoted.
        share, self._jump = (4, 4) if confidence < POOR else (2, 2) if confidence < FAIR else (1, 1)
        self._promoted_from = LEVELS - LEVELS // share
        self._lookups = self._high = 0
        self._hotspots.end_period(self._in_top)
        if now_s >= self._cache_due_s:
            self._cache_due_s = now_s + CACHE_PERIOD_S
            self._cache.end_period()
