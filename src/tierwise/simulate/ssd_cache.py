"""Flash as a cache in front of a disk, itself a `DeviceModel`: after dm-cache, which promotes, and after ZFS's L2ARC, which feeds.

Sources: the kernel's admin-guide/device-mapper/cache and cache-policies; the comment "Level 2 ARC" of ZFS's arc.c; openzfs/zfs commit
887a3c533 for l2arc_write_max. Simpler than both: dm-cache's stochastic multi-queue becomes LRU with a count of uses, and L2ARC, which takes
what is near the end of the cache in memory, is fed what was just read from the disk, as all of that comes to the end sooner or later.
"""

import math
from collections import OrderedDict
from dataclasses import dataclass

from tierwise.core.errors import InputError
from tierwise.core.units import KIB, MIB
from tierwise.devices.known_completions import KnownCompletions
from tierwise.devices.protocol import DeviceModel, Operation


@dataclass(frozen=True)
class SsdCachePolicy:
    """When a block comes to the flash, and what a write does to it."""

    block_bytes: int
    uses: int  # reads of a block that the disk has served when the block is taken in; counted for as many blocks as the flash holds
    copies: bool  # whether the block is read from the disk once more, as a whole; else it is taken from a request, if that held all of it
    least_recent_goes: bool  # what makes space: the block used least recently, or (no) the one that was written first
    writes_through: bool
    """Whether a write goes to both, and completes with the later; else it goes to the disk, and the block leaves the flash."""
    fill_rate: float = math.inf  # bytes a second that are taken in at most, a second's worth at once; what comes beyond is not taken in


DM_CACHE = SsdCachePolicy(256 * KIB, uses=2, copies=True, least_recent_goes=True, writes_through=True)
"""The policy of dm-cache in writethrough mode; block size and count are assumed."""

L2ARC = SsdCachePolicy(8 * KIB, uses=1, copies=False, least_recent_goes=False, writes_through=False, fill_rate=8 * MIB)
"""The policy of L2ARC with records of a PostgreSQL page and the l2arc_write_max of 8 MiB that it had until 2023 (32 since)."""


class SsdCache(KnownCompletions):
    """`disk` behind `flash`. Blocks are filled in the background, beside the requests; flash never holds what the disk does not."""

    def __init__(self, disk: DeviceModel, flash: DeviceModel, policy: SsdCachePolicy, *, cache_bytes: int | None = None):
        size_bytes = flash.capacity_bytes if cache_bytes is None else cache_bytes
        if not policy.block_bytes <= size_bytes <= flash.capacity_bytes:
            rule = f"must be from one block, {policy.block_bytes}, to the capacity of the flash, {flash.capacity_bytes}"
            raise InputError("ssd cache", field="cache_bytes", value=size_bytes, rule=rule)
        self.capacity_bytes = disk.capacity_bytes
        self._disk, self._flash, self._policy = disk, flash, policy
        self._slots = size_bytes // policy.block_bytes
        self.reset()

    def reset(self) -> None:
        super().reset()
        self._disk.reset()
        self._flash.reset()
        self._cached: OrderedDict[int, int] = OrderedDict()  # block -> slot, the next to go first
        self._free: list[int] = []  # slots that were given back
        self._used = 0  # slots that were ever taken
        self._seen: OrderedDict[int, int] = OrderedDict()  # block that is not cached -> reads that the disk has served
        self._filling: dict[int, int] = {}  # block -> number of the part that brings it
        self._fill_paid_s = -math.inf
        self._parts = 0  # numbers what is sent down
        self._tag_of: dict[int, int] = {}  # part -> request
        self._left: dict[int, int] = {}  # request -> parts still out
        self._fills: dict[int, tuple[int, int | None]] = {}  # part of a filling -> block, and the slot once it is being written

    def submit(self, now_s: float, tag: int, operation: Operation, address_bytes: int, size_bytes: int) -> None:
        self._left[tag] = 0
        pieces = [] if operation is Operation.FLUSH else self._pieces(address_bytes, size_bytes)
        if operation is Operation.READ and all(block in self._cached for block, _, _ in pieces):
            self._on_flash(now_s, tag, operation, pieces)
            return
        self._disk.submit(now_s, self._part(tag), operation, address_bytes, size_bytes)
        if operation is Operation.READ:
            self._take_in(now_s, pieces)
        elif operation is Operation.WRITE:
            self._overwrite(now_s, tag, pieces)

    def next_event_s(self) -> float:
        return min(self._disk.next_event_s(), self._flash.next_event_s(), super().next_event_s())

    def advance(self, now_s: float) -> list[tuple[int, float]]:
        while (event_s := min(self._disk.next_event_s(), self._flash.next_event_s())) <= now_s:
            for device in (self._disk, self._flash):
                for part, done_s in device.advance(event_s):
                    self._part_done(part, done_s)
        return super().advance(now_s)

    def _pieces(self, address: int, size: int) -> list[tuple[int, int, int]]:
        pieces, end, length = [], address + size, self._policy.block_bytes
        while address < end:
            block, offset = divmod(address, length)
            pieces.append((block, offset, min(length - offset, end - address)))
            address += pieces[-1][2]
        return pieces

    def _on_flash(self, now_s: float, tag: int, operation: Operation, pieces: list[tuple[int, int, int]]) -> None:
        for block, offset, length in pieces:
            if self._policy.least_recent_goes:
                self._cached.move_to_end(block)
            self._flash.submit(now_s, self._part(tag), operation, self._cached[block] * self._policy.block_bytes + offset, length)

    def _overwrite(self, now_s: float, tag: int, pieces: list[tuple[int, int, int]]) -> None:
        for piece in pieces:
            self._filling.pop(piece[0], None)  # what it brings is stale
            if self._policy.writes_through and piece[0] in self._cached:
                self._on_flash(now_s, tag, Operation.WRITE, [piece])
            elif piece[0] in self._cached:
                self._free.append(self._cached.pop(piece[0]))

    def _take_in(self, now_s: float, pieces: list[tuple[int, int, int]]) -> None:
        policy = self._policy
        for block, _, length in pieces:
            if block in self._cached or block in self._filling or (length < policy.block_bytes and not policy.copies):
                continue
            seen = self._seen[block] = self._seen.pop(block, 0) + 1
            if len(self._seen) > self._slots:
                self._seen.popitem(last=False)
            if seen < policy.uses or self._fill_paid_s > now_s:
                continue
            self._fill_paid_s = max(self._fill_paid_s, now_s - 1) + policy.block_bytes / policy.fill_rate
            if policy.copies:
                address = block * policy.block_bytes
                size = min(policy.block_bytes, self.capacity_bytes - address)
                self._disk.submit(now_s, self._fill_part(block), Operation.READ, address, size)
            else:
                self._write_block(now_s, block)

    def _write_block(self, now_s: float, block: int) -> None:
        if self._free:
            slot = self._free.pop()
        elif self._used < self._slots:
            slot, self._used = self._used, self._used + 1
        elif self._cached:
            _, slot = self._cached.popitem(last=False)
        else:  # every slot is being filled
            self._filling.pop(block, None)
            return
        size = self._policy.block_bytes
        self._flash.submit(now_s, self._fill_part(block, slot), Operation.WRITE, slot * size, size)

    def _fill_part(self, block: int, slot: int | None = None) -> int:
        self._parts += 1
        self._filling[block] = self._parts
        self._fills[self._parts] = (block, slot)
        return self._parts

    def _part(self, tag: int) -> int:
        self._parts += 1
        self._tag_of[self._parts] = tag
        self._left[tag] += 1
        return self._parts

    def _part_done(self, part: int, done_s: float) -> None:
        if part in self._tag_of:
            tag = self._tag_of.pop(part)
            self._left[tag] -= 1
            if not self._left[tag]:
                del self._left[tag]
                self._will_be_done(done_s, tag)
            return
        block, slot = self._fills.pop(part)
        if self._filling.get(block) != part:  # overwritten since
            if slot is not None:
                self._free.append(slot)
        elif slot is None:  # the copy has been read
            self._write_block(done_s, block)
        else:
            del self._filling[block]
            self._seen.pop(block, None)
            self._cached[block] = slot
