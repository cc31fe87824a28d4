"""dm-cache's policy *smq*, the stochastic multi-queue.

Sources: Linux, drivers/md/dm-cache-policy-smq.c and Documentation/admin-guide/device-mapper/cache-policies.rst. Simpler: no block is
dirty, because `lvmcache` uses *writethrough* by default (lvmcache(7)). Blocks migrate at once, and a promotion that finds no free block
replaces one; the kernel demotes one then, and promotes at a later miss.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from tierwise.core.units import KIB
from tierwise.devices.cache_policy import CachePolicy, Residents
from tierwise.devices.protocol import Operation

LEVELS: Final = 64  # NR_HOTSPOT_LEVELS and NR_CACHE_LEVELS
HOTSPOT_PERIOD_S, CACHE_PERIOD_S = 1.0, 10.0  # HOTSPOT_UPDATE_PERIOD and CACHE_UPDATE_PERIOD
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
        self._hit: set[int] = set()  # in this period

    def __len__(self) -> int:
        return len(self.level_of)

    def push(self, entry: int, level: int) -> None:
        self.level_of[entry] = level
        self._levels[level][entry] = None

    def remove(self, entry: int) -> None:
        del self._levels[self.level_of.pop(entry)][entry]
        self._hit.discard(entry)

    def use(self, entry: int, jump: int) -> None:
        """Move `entry` up by `jump` levels, but only once in a period."""
        level = self.level_of[entry]
        above = level if entry in self._hit else min(LEVELS - 1, level + jump)
        del self._levels[level][entry]
        if above > level and self._levels[above]:
            oldest, _ = self._levels[above].popitem(last=False)
            self.push(oldest, level)
        self.push(entry, above)
        self._hit.add(entry)

    def oldest_first(self) -> Iterator[int]:
        return (entry for level in self._levels for entry in level)

    def end_period(self, in_top: int = -1) -> None:
        """Have the same number of entries in each level, but `in_top` of them in the top levels, if given."""
        self._hit.clear()
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


@dataclass(frozen=True)
class SmqPolicy(CachePolicy):
    def begin(self, slots: int, capacity_bytes: int) -> Residents:
        return Multiqueue(self, slots, capacity_bytes)


SMQ: Final = SmqPolicy(256 * KIB, copies=True)
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
        self._cache.use(bucket, 1)

    def add(self, now_s: float, block: int, bucket: int) -> None:  # noqa: ARG002
        self._cache.push(bucket, LEVELS - 1)

    def remove(self, bucket: int) -> None:
        self._cache.remove(bucket)

    def next_to_go(self, busy: Iterable[int]) -> int | None:
        busy = set(busy)
        found = next((bucket for bucket in self._cache.oldest_first() if bucket not in busy), None)
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
