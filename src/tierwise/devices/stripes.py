"""Where an array keeps its bytes: addresses of the array into work of its members."""

from collections.abc import Iterable, Iterator, Sequence

from tierwise.core.units import PAGE_BYTES
from tierwise.devices.protocol import Operation

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
