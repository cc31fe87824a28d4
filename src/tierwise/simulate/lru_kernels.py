"""Least recently used, without a list: each page keeps the position of its last use, and a bit tells which positions are last uses.

A page is resident if its last use is not before the position of the oldest resident one, and to evict is to look for the next bit: an
access touches the page's own number and some bits, which lie close together, and waits for nothing that it had to look up before.
When the positions are used up, all are counted anew.
"""

import numpy as np

from tierwise.simulate.cache_table import CAPACITY, FILE_PAGES, HEAD, NOW, OLDEST, RESIDENT, SLOTS, Table
from tierwise.simulate.compiled import bits_set, compiled, inlined

BITS = 32
"""The bits of a number. Position 0 is that of pages never used; its number of bits is not used."""


@inlined
def is_resident(table: Table, page: int) -> bool:
    return bool(table[HEAD + page] >= table[OLDEST])


@inlined
def use(table: Table, page: int) -> None:
    """Make `page`, which is resident, the newest."""
    position, bits = table[HEAD + page], HEAD + table[FILE_PAGES]
    table[bits + (position >> 5)] &= ~(1 << (position & 31))
    _stamp(table, page)


@inlined
def insert(table: Table, page: int) -> None:
    """Take in `page`, which is absent, as the newest."""
    if table[RESIDENT] == table[CAPACITY]:
        _evict(table)
    else:
        table[RESIDENT] += 1
    _stamp(table, page)


@inlined
def _stamp(table: Table, page: int) -> None:
    if table[NOW] == BITS * table[SLOTS]:
        _renumber(table)
    now = table[NOW]
    table[HEAD + page] = now
    table[HEAD + table[FILE_PAGES] + (now >> 5)] |= 1 << (now & 31)
    table[NOW] = now + 1


@inlined
def _evict(table: Table) -> None:
    bits = HEAD + table[FILE_PAGES]
    at = table[OLDEST] >> 5
    while not table[bits + at]:
        at += 1
    word = table[bits + at]
    table[bits + at] = word & (word - 1)
    table[OLDEST] = BITS * at + bits_set((word & -word) - 1) + 1


@compiled
def _renumber(table: Table) -> None:
    """Give the resident pages the first positions, in their order."""
    bits, oldest, before = HEAD + table[FILE_PAGES], table[OLDEST], np.empty(table[SLOTS], np.int32)
    count = 0
    for at in range(len(before)):
        before[at] = count
        count += bits_set(table[bits + at])
    for page in range(table[FILE_PAGES]):
        position = table[HEAD + page]
        if position < oldest:
            table[HEAD + page] = 0
            continue
        earlier = table[bits + (position >> 5)] & ((1 << (position & 31)) - 1)
        table[HEAD + page] = BITS + before[position >> 5] + bits_set(earlier)
    for at in range(len(before)):
        table[bits + at] = 0
    for position in range(BITS, BITS + count):
        table[bits + (position >> 5)] |= 1 << (position & 31)
    table[OLDEST], table[NOW] = BITS, BITS + count
