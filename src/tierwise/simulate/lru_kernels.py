"""Least recently used, without a list: each page keeps the position of its last use, and a bit marks positions that are last uses no more.

A page is resident if its last use is not before the position of the oldest resident one, and to evict is to look for the next position
without a mark: an access touches the page's own number and some bits, which lie close together, and waits for nothing that it had to look
up before. When the positions are used up, all are counted anew.
"""

import numpy as np

from tierwise.core.compiled import Ints, bits_set, compiled, inlined, prefetch, uncounted
from tierwise.simulate.cache_table import AHEAD, CAPACITY, FILE_PAGES, HEAD, NOW, OLDEST, RESIDENT, SLOTS, Table

BITS = 32  # the bits of a number. Position 0 is that of pages never used; its number of bits is not used


@inlined
def is_resident(table: Table, page: int) -> bool:
    return bool(table[HEAD + page] >= table[OLDEST])


@inlined
def use(table: Table, page: int) -> None:
    if table[NOW] == BITS * table[SLOTS]:
        _renumber(table)
    now = table[NOW]
    _stamp(table, page, now)
    table[NOW] = now + 1


@inlined
def insert(table: Table, page: int) -> None:
    if table[RESIDENT] == table[CAPACITY]:
        table[OLDEST] = _behind_oldest(table, table[OLDEST])
    else:
        table[RESIDENT] += 1
    use(table, page)


@compiled
def replay(table: Table, trace: Ints) -> int:
    """Use the pages of `trace`, without branches that depend on what is resident; return how many were absent."""
    table, trace = uncounted(table), uncounted(trace)
    now, oldest, space, misses = table[NOW], table[OLDEST], table[CAPACITY] - table[RESIDENT], 0
    for at in range(len(trace)):
        prefetch(table, HEAD + trace[min(at + AHEAD, len(trace) - 1)])
        if now == BITS * table[SLOTS]:
            table[OLDEST] = oldest
            _renumber(table)
            now, oldest = table[NOW], table[OLDEST]
        absent = table[HEAD + trace[at]] < oldest
        _stamp(table, trace[at], now)
        now += 1
        behind = _behind_oldest(table, oldest)
        oldest = behind if absent & (space == 0) else oldest
        space -= absent & (space > 0)
        misses += absent
    table[NOW], table[OLDEST], table[RESIDENT] = now, oldest, table[CAPACITY] - space
    return misses


@inlined
def _stamp(table: Table, page: int, now: int) -> None:
    position, marks = table[HEAD + page], HEAD + table[FILE_PAGES]
    table[marks + (position >> 5)] |= 1 << (position & 31)
    table[HEAD + page] = now


@inlined
def _behind_oldest(table: Table, oldest: int) -> int:
    marks, at = HEAD + table[FILE_PAGES], oldest >> 5
    unmarked = ~(table[marks + at] | ((1 << (oldest & 31)) - 1))
    while not unmarked:
        at += 1
        unmarked = ~table[marks + at]
    return BITS * at + bits_set((unmarked & -unmarked) - 1) + 1


@compiled
def _renumber(table: Table) -> None:
    marks, oldest, before = HEAD + table[FILE_PAGES], table[OLDEST], np.empty(table[SLOTS], np.int32)
    table[marks + (oldest >> 5)] |= (1 << (oldest & 31)) - 1
    count = 0
    for at in range(oldest >> 5, len(before)):
        before[at] = count
        count += bits_set(~table[marks + at])
    for page in range(table[FILE_PAGES]):
        position = table[HEAD + page]
        if position < oldest:
            table[HEAD + page] = 0
            continue
        earlier = ~table[marks + (position >> 5)] & ((1 << (position & 31)) - 1)
        table[HEAD + page] = BITS + before[position >> 5] + bits_set(earlier)
    for at in range(len(before)):
        table[marks + at] = 0
    table[OLDEST], table[NOW] = BITS, BITS + count
