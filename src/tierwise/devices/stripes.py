"""Where an array keeps its bytes: addresses of the array into work of its members."""

from collections.abc import Iterator, Sequence

from tierwise.core.units import PAGE_BYTES
from tierwise.devices.protocol import Operation

Part = tuple[Operation, int, int, int]
"""What one member does for a request: operation, member, address on it, size."""


class Stripes:
    """The layout of `level` over `members` drives of `member_bytes`, in stripes of `stripe_bytes` (none for raid1).

    Parity moves by one member from row to row (left-symmetric), the second parity of raid6 beside the first.
    """

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
        parts = _Joined(Operation.READ)
        for row, column, offset, length in self._pieces(address, size):
            parts.add(self._least_loaded(row, column, load), row * self._stripe + offset, length)
        return parts.all()

    def writes(self, address: int, size: int) -> tuple[list[Part], list[Part]]:
        """Return the parts of a write: what must be read first, and what is written then.

        A row that is not written as a whole costs reading the old data and each old parity.
        """
        before, parts = _Joined(Operation.READ), _Joined(Operation.WRITE)
        if not self._parities:
            for row, column, offset, length in self._pieces(address, size):
                for copy in range(self._copies):
                    parts.add(column * self._copies + copy, row * self._stripe + offset, length)
            return [], parts.all()
        row_bytes = self._columns * self._stripe
        end = address + size
        while address < end:
            row, start = divmod(address, row_bytes)
            length = min(row_bytes - start, end - address)
            for member, where, count in self._row_places(row, address, length):
                parts.add(member, where, count)
                if length < row_bytes:
                    before.add(member, where, count)
            address += length
        return before.all(), parts.all()

    def _row_places(self, row: int, address: int, length: int) -> Iterator[tuple[int, int, int]]:
        """Member, address on it and size of the data and the parities of a write within `row`."""
        low, high = self._stripe, 0
        for _, column, offset, count in self._pieces(address, length):
            low, high = min(low, offset), max(high, offset + count)
            yield self._data_member(row, column), row * self._stripe + offset, count
        for parity in range(self._parities):
            yield (self._first_parity(row) + parity) % self._members, row * self._stripe + low, high - low

    def _pieces(self, address: int, size: int) -> Iterator[tuple[int, int, int, int]]:
        end = address + size
        while address < end:
            stripe, offset = divmod(address, self._stripe)
            length = min(self._stripe - offset, end - address)
            yield *divmod(stripe, self._columns), offset, length
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


class _Joined:
    """Parts of one operation; what follows on the same member is one part with it."""

    def __init__(self, operation: Operation):
        self._operation = operation
        self._spans: list[list[int]] = []  # member, start, end
        self._last: dict[int, list[int]] = {}  # member -> its last span

    def add(self, member: int, address: int, size: int) -> None:
        last = self._last.get(member)
        if last and last[2] == address:
            last[2] += size
        else:
            self._last[member] = span = [member, address, address + size]
            self._spans.append(span)

    def all(self) -> list[Part]:
        return [(self._operation, member, start, end - start) for member, start, end in self._spans]
