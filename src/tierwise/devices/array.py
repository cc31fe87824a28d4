"""Equal drives side by side: striping with or without redundancy."""

import math
from collections.abc import Iterable, Iterator, Sequence

from tierwise.core.units import PAGE_BYTES
from tierwise.devices.protocol import DeviceModel, Operation
from tierwise.devices.spec import ArraySpec

Part = tuple[Operation, int, int, int]  # what one member does for a request: operation, member, address on it, size
Span = tuple[int, int, int]  # member, address on it, size


class Stripes:
    """The layout of `level` over `members` drives in stripes of `stripe_bytes` (none for raid1); parity is left-symmetric."""

    def __init__(self, level: str, members: int, member_bytes: int, stripe_bytes: int | None):
        self._members = members
        self._copies = {"raid1": members, "raid10": 2}.get(level, 1)
        self._parities = {"raid5": 1, "raid6": 2}.get(level, 0)
        self._columns = members // self._copies - self._parities
        self._stripe = stripe_bytes or member_bytes
        self.capacity_bytes = self._columns * (member_bytes // self._stripe * self._stripe)
        self.row_bytes = self._columns * (stripe_bytes or PAGE_BYTES)
        """What is best written at once: with it no parity need be read. Any size will do for raid1."""

    def reads(self, address: int, size: int, load: Sequence[int]) -> list[Part]:
        """Return the parts of a read; of several copies the one on the member with the least `load` is read."""
        stripe, offset = divmod(address, self._stripe)
        if offset + size <= self._stripe:
            row, column = divmod(stripe, self._columns)
            return [(Operation.READ, self._least_loaded(row, column, load), row * self._stripe + offset, size)]
        pieces = self._pieces(address, size)
        return _joined(Operation.READ, ((self._least_loaded(row, column, load), where, length) for row, column, where, length in pieces))

    def writes(self, address: int, size: int) -> tuple[list[Part], list[Part]]:
        """Return what a write must read first (old data and parity of a row that is not written as a whole), and what it writes then."""
        if not self._parities:
            pieces, copies = self._pieces(address, size), range(self._copies)
            copied = ((column * self._copies + copy, where, length) for _, column, where, length in pieces for copy in copies)
            return [], _joined(Operation.WRITE, copied)
        before: list[Span] = []
        spans: list[Span] = []
        row_bytes = self._columns * self._stripe
        end = address + size
        while address < end:
            row, start = divmod(address, row_bytes)
            length = min(row_bytes - start, end - address)
            own = list(self._row_spans(row, address, length))
            spans += own
            before += own if length < row_bytes else []
            address += length
        return _joined(Operation.READ, before), _joined(Operation.WRITE, spans)

    def _row_spans(self, row: int, address: int, length: int) -> Iterator[Span]:
        low, high = (row + 1) * self._stripe, row * self._stripe
        for _, column, where, count in self._pieces(address, length):
            low, high = min(low, where), max(high, where + count)
            yield self._data_member(row, column), where, count
        for parity in range(self._parities):
            yield (self._first_parity(row) + parity) % self._members, low, high - low

    def _pieces(self, address: int, size: int) -> Iterator[tuple[int, int, int, int]]:
        end = address + size
        while address < end:
            stripe, offset = divmod(address, self._stripe)
            length = min(self._stripe - offset, end - address)
            row, column = divmod(stripe, self._columns)
            yield row, column, row * self._stripe + offset, length
            address += length

    def _least_loaded(self, row: int, column: int, load: Sequence[int]) -> int:
        if self._copies == 1:
            return self._data_member(row, column)
        first = column * self._copies
        return min(range(first, first + self._copies), key=load.__getitem__)

    def _data_member(self, row: int, column: int) -> int:
        return (self._first_parity(row) + self._parities + column) % self._members if self._parities else column

    def _first_parity(self, row: int) -> int:
        return self._members - 1 - row % self._members


def _joined(operation: Operation, spans: Iterable[Span]) -> list[Part]:
    joined: list[list[int]] = []  # member, start, end
    last: dict[int, list[int]] = {}  # member -> its last span
    for member, address, size in spans:
        if member in last and last[member][2] == address:
            last[member][2] += size
        else:
            last[member] = [member, address, address + size]
            joined.append(last[member])
    return [(operation, member, start, end - start) for member, start, end in joined]


class Array:
    """The array of `spec`, without its controller, over independent `members`; a write of a part of a parity row reads what it replaces."""

    def __init__(self, spec: ArraySpec, members: Sequence[DeviceModel]):
        self._members = members
        smallest = min(member.capacity_bytes for member in members)
        stripe = int(spec.stripe.base) if spec.stripe else None
        self._stripes = Stripes(spec.level.value, len(members), smallest, stripe)
        self.capacity_bytes, self.row_bytes = self._stripes.capacity_bytes, self._stripes.row_bytes
        self.reset()

    def reset(self) -> None:
        for member in self._members:
            member.reset()
        self._event_s = [math.inf] * len(self._members)  # next of each member
        self._load = [0] * len(self._members)  # parts that each member has
        self._parts = 0  # numbers the parts
        self._tag_of: dict[int, int] = {}  # part -> request
        self._left: dict[int, int] = {}  # parts of a request still out
        self._then: dict[int, list[Part]] = {}  # what a request does once its first parts are through

    def submit(self, now_s: float, tag: int, operation: Operation, address_bytes: int, size_bytes: int) -> None:
        if operation is Operation.READ:
            self._send(now_s, tag, self._stripes.reads(address_bytes, size_bytes, self._load))
        elif operation is Operation.WRITE:
            before, parts = self._stripes.writes(address_bytes, size_bytes)
            if before:
                self._then[tag] = parts
            self._send(now_s, tag, before or parts)
        else:
            self._send(now_s, tag, [(operation, member, 0, 0) for member in range(len(self._members))])

    def next_event_s(self) -> float:
        return min(self._event_s)

    def advance(self, now_s: float) -> list[tuple[int, float]]:
        done: list[tuple[int, float]] = []
        # One event at a time: what it sets free may begin at once, before the next one.
        while (event_s := self.next_event_s()) <= now_s and event_s < math.inf:
            number = self._event_s.index(event_s)
            member = self._members[number]
            for part, done_s in member.advance(event_s):
                self._load[number] -= 1
                self._part_done(part, done_s, done)
            self._event_s[number] = member.next_event_s()
        return done

    def _send(self, now_s: float, tag: int, parts: list[Part]) -> None:
        self._left[tag] = len(parts)
        for operation, number, where, length in parts:
            self._parts += 1
            self._tag_of[self._parts] = tag
            self._load[number] += 1
            member = self._members[number]
            member.submit(now_s, self._parts, operation, where, length)
            self._event_s[number] = member.next_event_s()

    def _part_done(self, part: int, done_s: float, done: list[tuple[int, float]]) -> None:
        tag = self._tag_of.pop(part)
        self._left[tag] -= 1
        if self._left[tag]:
            return
        del self._left[tag]
        if parts := self._then.pop(tag, None):
            self._send(done_s, tag, parts)
        else:
            done.append((tag, done_s))
