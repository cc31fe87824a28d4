"""Equal drives behind one controller: striping with or without redundancy, and a write cache with or without a battery."""

from collections import deque
from heapq import heappop, heappush

from tierwise.devices.protocol import DeviceModel, Operation
from tierwise.devices.spec import ArraySpec

Part = tuple[int, Operation, int, int]
"""What one member does for a request: member, operation, address on it, size."""


class Array:
    """The array of `spec` over `members`, which queue and move independently of each other.

    A request completes with the last of its parts. A write of raid5 reads and writes its data and its parity in place.
    With a write cache a write completes once it is in the cache; as many cached writes as there are members go down at once.
    """

    def __init__(self, spec: ArraySpec, members: list[DeviceModel]):
        self._members = members
        self._level, self._stripe = spec.level.value, int(spec.stripe.base)
        columns = {"raid0": len(members), "raid5": len(members) - 1, "raid10": len(members) // 2}[self._level]
        self._columns = columns
        self.capacity_bytes = columns * min(member.capacity_bytes for member in members) // self._stripe * self._stripe
        cache = spec.write_cache
        self._cache_bytes = int(cache.size.base) if cache else 0
        self._cache_s = cache.latency.base if cache else 0.0
        self._battery = cache.battery_backed.value if cache else False
        self.reset()

    def reset(self) -> None:
        for member in self._members:
            member.reset()
        self._load = [0] * len(self._members)
        self._parts = 0  # numbers the parts
        self._request_of: dict[int, tuple[int, int]] = {}  # part -> (tag, member)
        self._left: dict[int, int] = {}  # parts of a request still out
        self._cached: deque[tuple[int, int]] = deque()  # (address, size) still to go down
        self._destaging: dict[int, int] = {}  # tag below zero, as no request of the driver's has -> size
        self._dirty_bytes = 0
        self._waiting: deque[tuple[int, Operation, int, int]] = deque()  # writes without room, and flushes behind them
        self._done: list[tuple[float, int]] = []  # a heap of (completion, tag)

    def submit(self, now_s: float, tag: int, operation: Operation, address_bytes: int, size_bytes: int) -> None:
        if operation is Operation.READ or not self._cache_bytes:
            self._send(now_s, tag, operation, address_bytes, size_bytes)
        elif operation is Operation.FLUSH and self._battery:
            heappush(self._done, (now_s + self._cache_s, tag))
        else:
            self._waiting.append((tag, operation, address_bytes, size_bytes))
            self._admit(now_s)

    def next_event_s(self) -> float:
        event_s = min(member.next_event_s() for member in self._members)
        return min(event_s, self._done[0][0]) if self._done else event_s

    def advance(self, now_s: float) -> list[tuple[int, float]]:
        # One event of the members at a time: what it sets free may begin at once, before the next one.
        while (event_s := min(member.next_event_s() for member in self._members)) <= now_s:
            for member in self._members:
                for part, done_s in member.advance(event_s):
                    self._part_done(part, done_s)
        done = []
        while self._done and self._done[0][0] <= now_s:
            done_s, tag = heappop(self._done)
            done.append((tag, done_s))
        return done

    def _send(self, now_s: float, tag: int, operation: Operation, address: int, size: int) -> None:
        parts = self._flushes() if operation is Operation.FLUSH else self._split(operation, address, size)
        self._left[tag] = len(parts)
        for member, what, where, length in parts:
            self._parts += 1
            self._request_of[self._parts] = (tag, member)
            self._load[member] += 1
            self._members[member].submit(now_s, self._parts, what, where, length)

    def _part_done(self, part: int, done_s: float) -> None:
        tag, member = self._request_of.pop(part)
        self._load[member] -= 1
        self._left[tag] -= 1
        if self._left[tag]:
            return
        del self._left[tag]
        if tag not in self._destaging:
            heappush(self._done, (done_s, tag))
            return
        self._dirty_bytes -= self._destaging.pop(tag)
        self._admit(done_s)

    def _admit(self, now_s: float) -> None:
        """Take waiting writes into the cache while there is room, let go the flushes that nothing holds, and send cached writes down."""
        while self._waiting:
            tag, operation, address, size = self._waiting[0]
            if self._dirty_bytes and (operation is Operation.FLUSH or self._dirty_bytes + size > self._cache_bytes):
                break
            self._waiting.popleft()
            heappush(self._done, (now_s + self._cache_s, tag))
            if operation is Operation.WRITE:
                self._cached.append((address, size))
                self._dirty_bytes += size
        while self._cached and len(self._destaging) < len(self._members):
            address, size = self._cached.popleft()
            tag = -1 - self._parts  # new, because every request that is sent has parts
            self._destaging[tag] = size
            self._send(now_s, tag, Operation.WRITE, address, size)

    def _flushes(self) -> list[Part]:
        return [(member, Operation.FLUSH, 0, 0) for member in range(len(self._members))]

    def _split(self, operation: Operation, address: int, size: int) -> list[Part]:
        """`address` to `address + size` by stripes."""
        parts: list[Part] = []
        end = address + size
        while address < end:
            stripe, offset = divmod(address, self._stripe)
            length = min(self._stripe - offset, end - address)
            row, column = divmod(stripe, self._columns)
            parts += self._place(operation, row, column, row * self._stripe + offset, length)
            address += length
        return parts

    def _place(self, operation: Operation, row: int, column: int, where: int, length: int) -> list[Part]:
        """The members that hold this piece, and what they do for it."""
        if self._level == "raid10":
            pair = 2 * column, 2 * column + 1
            if operation is Operation.WRITE:
                return [(member, operation, where, length) for member in pair]
            return [(min(pair, key=lambda member: (self._load[member], (member + row) % 2)), operation, where, length)]
        if self._level == "raid0":
            return [(column, operation, where, length)]
        parity = self._columns - row % (self._columns + 1)  # left-symmetric
        data = (parity + 1 + column) % (self._columns + 1)
        if operation is Operation.READ:
            return [(data, operation, where, length)]
        return [(member, what, where, length) for member in (data, parity) for what in (Operation.READ, Operation.WRITE)]
