"""Flash as a cache in front of a disk, itself a `DeviceModel`; `cache_policy` says what it holds.

Simpler than dm-cache, bcache and L2ARC: a read of which a part is missing goes to the disk as a whole, and a cached block is overwritten in
its place. Filling takes time of both devices, beside the requests.
"""

from collections.abc import Mapping
from typing import Final

from tierwise.core.errors import InputError
from tierwise.devices.cache_policy import BCACHE, L2ARC, SMQ, CachePolicy
from tierwise.devices.protocol import DeviceModel, KnownCompletions, Operation

POLICIES: Final[Mapping[str, CachePolicy]] = {"bcache": BCACHE, "l2arc": L2ARC, "smq": SMQ}


class SsdCache(KnownCompletions):
    """`disk` behind `flash`. Blocks are filled in the background, beside the requests; flash never holds what the disk does not."""

    def __init__(self, disk: DeviceModel, flash: DeviceModel, policy: CachePolicy, *, cache_bytes: int | None = None):
        size_bytes = flash.capacity_bytes if cache_bytes is None else cache_bytes
        bucket_bytes = policy.bucket_blocks * policy.block_bytes
        if not bucket_bytes <= size_bytes <= flash.capacity_bytes:
            rule = f"must be from one bucket, {bucket_bytes}, to the capacity of the flash, {flash.capacity_bytes}"
            raise InputError("ssd cache", field="cache_bytes", value=size_bytes, rule=rule)
        self.capacity_bytes = disk.capacity_bytes
        self._disk, self._flash, self._policy = disk, flash, policy
        self._slots = size_bytes // bucket_bytes * policy.bucket_blocks
        self.reset()

    def reset(self) -> None:
        super().reset()
        self._disk.reset()
        self._flash.reset()
        self._residents = self._policy.begin(self._slots, self.capacity_bytes)
        self._slot_of: dict[int, int] = {}  # cached block -> slot
        self._block_in: dict[int, int] = {}
        self._free: list[int] = []  # slots that were given back
        self._used = 0  # slots that were ever taken
        self._filling: dict[int, int] = {}  # block -> number of the part that brings it
        self._parts = 0  # numbers what is sent down
        self._tag_of: dict[int, int] = {}  # part -> request
        self._left: dict[int, int] = {}  # request -> parts still out
        self._fills: dict[int, tuple[int, int | None]] = {}  # part of a filling -> block, and the slot once it is being written
        self._hits = self._reads = 0

    def hits(self) -> tuple[int, int]:
        return self._hits, self._reads

    def submit(self, now_s: float, tag: int, operation: Operation, address_bytes: int, size_bytes: int) -> None:
        self._left[tag] = 0
        if operation is Operation.FLUSH:
            self._disk.submit(now_s, self._part(tag), operation, address_bytes, size_bytes)
            return
        pieces = self._pieces(address_bytes, size_bytes)
        passes_by = self._residents.passes_by(address_bytes, size_bytes)
        if operation is Operation.READ:
            self._reads += 1
            if all(block in self._slot_of for block, _, _ in pieces):
                self._hits += 1
                self._on_flash(now_s, tag, operation, pieces)
                return
        self._disk.submit(now_s, self._part(tag), operation, address_bytes, size_bytes)
        if operation is Operation.WRITE:
            self._overwrite(now_s, tag, pieces, keep=self._policy.writes_through and not passes_by)
        if not passes_by:
            self._take_in(now_s, operation, pieces)

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
            slot = self._slot_of[block]
            self._residents.hit(now_s, self._bucket(slot))
            self._flash.submit(now_s, self._part(tag), operation, slot * self._policy.block_bytes + offset, length)

    def _overwrite(self, now_s: float, tag: int, pieces: list[tuple[int, int, int]], *, keep: bool) -> None:
        for piece in pieces:
            block, _, _ = piece
            self._filling.pop(block, None)  # what it brings is stale
            if block not in self._slot_of:
                continue
            if keep:
                self._on_flash(now_s, tag, Operation.WRITE, [piece])
                continue
            slot = self._slot_of.pop(block)
            del self._block_in[slot]
            if self._policy.bucket_blocks == 1:  # else it stays a hole until its bucket goes
                self._residents.remove(slot)
                self._free.append(slot)

    def _take_in(self, now_s: float, operation: Operation, pieces: list[tuple[int, int, int]]) -> None:
        policy = self._policy
        for block, _, length in pieces:
            if block in self._slot_of or block in self._filling or (length < policy.block_bytes and not policy.copies):
                continue
            if not self._residents.admits(now_s, block, operation):
                continue
            if policy.makes_space_first and len(self._slot_of) + len(self._filling) >= self._slots:
                self._make_space()
            elif policy.copies:
                address = block * policy.block_bytes
                size = min(policy.block_bytes, self.capacity_bytes - address)
                self._disk.submit(now_s, self._fill_part(block), Operation.READ, address, size)
            else:
                self._write_block(now_s, block)

    def _write_block(self, now_s: float, block: int) -> None:
        if not self._free and self._used == self._slots:
            self._make_space()
        if self._free:
            slot = self._free.pop()
        elif self._used < self._slots:
            slot, self._used = self._used, self._used + 1
        else:  # every slot is being filled
            self._filling.pop(block, None)
            return
        size = self._policy.block_bytes
        self._flash.submit(now_s, self._fill_part(block, slot), Operation.WRITE, slot * size, size)

    def _make_space(self) -> None:
        busy = {slot for _, slot in self._fills.values() if slot is not None}
        bucket = self._residents.next_to_go({self._bucket(slot) for slot in busy})
        if bucket is None:
            return
        length = self._policy.bucket_blocks
        for slot in reversed(range(bucket * length, (bucket + 1) * length)):
            if (block := self._block_in.pop(slot, None)) is not None:
                del self._slot_of[block]
            self._free.append(slot)

    def _bucket(self, slot: int) -> int:
        return slot // self._policy.bucket_blocks

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
            self._slot_of[block], self._block_in[slot] = slot, block
            self._residents.add(done_s, block, self._bucket(slot))
