"""Numbers from 0 for pages whose own lie far apart, in the order in which they are met: a hash table, compiled."""

import numpy as np

from tierwise.core.compiled import Ints, compiled

_FREE = -(2**63)
_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio, which strews neighbours


class PageNumbers:
    """16 bytes for each of at least twice as many slots as there are pages."""

    def __init__(self) -> None:
        self._count, self._slots = 0, np.full((2**16, 2), _FREE)

    def __len__(self) -> int:
        """Return how many pages were met so far."""
        return self._count

    def of(self, pages: Ints) -> Ints:
        """Return the number of each of `pages`, any but -2^63; those that are new get the next ones."""
        numbers = np.empty(len(pages), np.int64)
        done = 0
        while True:
            done, self._count = _number(self._slots, self._count, pages, done, numbers)
            if done == len(pages):
                return numbers
            met = self._slots[self._slots[:, 0] != _FREE]
            self._slots = np.full((2 * len(self._slots), 2), _FREE)
            _put(self._slots, met)


@compiled
def _slot_of(slots: Ints, page: int) -> int:
    """Where `page` is, or would be."""
    mask = len(slots) - 1
    at = np.int64((np.uint64(page) * _SPREAD) >> np.uint64(32)) & mask
    while slots[at, 0] != _FREE and slots[at, 0] != page:
        at = (at + 1) & mask
    return int(at)


@compiled
def _number(slots: Ints, count: int, pages: Ints, done: int, numbers: Ints) -> tuple[int, int]:
    """Fill `numbers` from `done` on until half of the slots are used; returns how far that came, and the pages met."""
    for at in range(done, len(pages)):
        slot = _slot_of(slots, pages[at])
        if slots[slot, 0] == _FREE:
            if 2 * count >= len(slots):
                return at, count
            slots[slot, 0], slots[slot, 1] = pages[at], count
            count += 1
        numbers[at] = slots[slot, 1]
    return len(pages), count


@compiled
def _put(slots: Ints, met: Ints) -> None:
    for at in range(len(met)):
        slot = _slot_of(slots, met[at, 0])
        slots[slot, 0], slots[slot, 1] = met[at, 0], met[at, 1]
