"""The page caches' hot loops, compiled: what `page_cache` tells of them, over a table of numbers."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tierwise.simulate.compiled import Ints, compiled, inlined

LRU, CLOCK, TWO_LIST, MAPPED = 0, 1, 2, 3

Table = NDArray[np.int32]
"""A cache as compiled code sees it (`PageCache` makes one): a row for each page, then five rows, counted from the end below."""

OLDER, NEWER, MARK, EVICTED = 0, 1, 2, 3  # columns: neighbours in the list, bits below, age of the cache at the last eviction
STATE, INACTIVE_QUEUE, ACTIVE_QUEUE = 0, 1, 2  # columns of mapped pages: bits below; pages in order, whatever page the row is of
INACTIVE, ACTIVE, KIND, FILLED, AGE = 5, 4, 3, 2, 1  # rows: ends of the lists (of queues: rows of the oldest and of the next), (policy,
# capacity), (resident, active), (age,)
_REFERENCED, _IS_ACTIVE = 1, 2
_YOUNG, _MARKED = 4, 8  # of a mapped page: its accessed bit; its first use starts a read-ahead
MISS, HIT, MARKED_HIT = 0, 1, 2
ABSENT = NEVER = -1
AGES = 2**31 - 1
_LINUX_PAGES_PER_GIB = 2**18

AHEAD: Final = 64
"""Accesses whose rows are loaded at a time, see `look_ahead`."""


@inlined
def touch(table: Table, page: int) -> int:
    """Is `page` resident? If so, take down that it was used; if not (`MISS`), nothing changes."""
    if table[page, OLDER] == ABSENT:
        return MISS
    policy, inactive = table[len(table) - KIND, 0], len(table) - INACTIVE
    if policy == LRU:
        if table[inactive, OLDER] != page:
            _unlink(table, page)
            _link(table, inactive, page)
    elif policy == MAPPED:
        mark = table[page, STATE]
        table[page, STATE] = (mark | _YOUNG) & ~_MARKED  # by the processor: the kernel learns of it when it looks
        if mark & _MARKED:
            return MARKED_HIT
    elif policy == CLOCK or not table[page, MARK]:
        table[page, MARK] = _REFERENCED
    elif table[page, MARK] == _REFERENCED:  # the second use on the inactive list
        _unlink(table, page)
        _activate(table, page)
        _grow_older(table)
    return HIT


@inlined
def fault(table: Table, page: int, window: int) -> tuple[int, int]:
    """Take in `page`, which is absent, and with `window` above 1 what else is absent around it.

    Returns the first page and the one after the last that the device has to read. As in the kernel's read-around of a
    mapped file the window is centred, and cut at the ends of the file. `page` itself comes last, as the newest.
    """
    first, end = page, page + 1
    policy = table[len(table) - KIND, 0]
    if window > 1:
        begin = max(0, page - window // 2)
        for other in range(begin, min(len(table) - INACTIVE, begin + window)):
            if other != page and table[other, OLDER] == ABSENT:
                _insert(table, other)
                first, end = min(first, other), max(end, other + 1)
                if policy == MAPPED and other == begin + window - window // 4:
                    _set_state(table, other, _MARKED)
    _insert(table, page)
    # The fault is a use; to be read along with another page is none.
    if policy == MAPPED:
        _set_state(table, page, _YOUNG)
    elif policy == TWO_LIST and not table[page, MARK]:
        table[page, MARK] = _REFERENCED
    return first, end


@inlined
def read_ahead(table: Table, page: int, window: int) -> tuple[int, int]:
    """Take in what is absent of the `window` pages that begin at the next absent one, looked for as far; returns as `fault` does.

    The kernel does this without anybody waiting for it, and marks the first page to be next.
    """
    begin, pages = page + 1, len(table) - INACTIVE
    while begin < min(pages, page + window) and table[begin, OLDER] != ABSENT:
        begin += 1
    first = end = begin
    if begin < min(pages, page + window):
        for other in range(begin, min(pages, begin + window)):
            if table[other, OLDER] == ABSENT:
                _insert(table, other)
                end = other + 1
        _set_state(table, begin, _MARKED)
    return first, end


@inlined
def _insert(table: Table, page: int) -> None:
    policy, capacity = table[len(table) - KIND, 0], table[len(table) - KIND, 1]
    if capacity == 0:
        return
    filled = len(table) - FILLED
    if table[filled, 0] == capacity:
        _evict(table)
    table[filled, 0] += 1
    if policy == MAPPED:
        table[page, STATE] = 0
        _append(table, INACTIVE, page)
        return
    if policy != LRU:
        table[page, MARK] = 0
    if policy == TWO_LIST and table[page, EVICTED] != NEVER:
        distance = (table[len(table) - AGE, 0] - table[page, EVICTED]) & AGES
        if distance <= table[filled, 1]:  # it would have stayed, had the active list been shorter
            _activate(table, page)
            return
    _link(table, len(table) - INACTIVE, page)


@inlined
def _evict(table: Table) -> None:
    policy, inactive = table[len(table) - KIND, 0], len(table) - INACTIVE
    if policy == MAPPED:
        _evict_mapped(table)
        return
    if policy == TWO_LIST:
        _shrink_active(table)
    victim = table[inactive, NEWER]
    while policy == CLOCK and table[victim, MARK]:  # a second chance: the hand goes on
        table[victim, MARK] = 0
        _unlink(table, victim)
        _link(table, inactive, victim)
        victim = table[inactive, NEWER]
    _unlink(table, victim)
    table[victim, OLDER] = ABSENT
    table[len(table) - FILLED, 0] -= 1
    if policy == TWO_LIST:
        table[victim, EVICTED] = table[len(table) - AGE, 0]
        _grow_older(table)


@inlined
def _evict_mapped(table: Table) -> None:
    """Look at the oldest inactive pages until one was not used since the last look: that one goes.

    A page found used once is spared for another round, one found used again is activated. Active pages, at most half of all, are
    moved back without regard to their use, which is forgotten. A page moves only from one end to another, so the lists are queues.
    """
    filled = len(table) - FILLED
    while True:
        while 2 * table[filled, 1] > table[filled, 0]:
            page = _take(table, ACTIVE)
            table[filled, 1] -= 1
            table[page, STATE] = _REFERENCED
            _append(table, INACTIVE, page)
        page = _take(table, INACTIVE)
        state = table[page, STATE]
        if not state & _YOUNG:
            table[page, STATE] = ABSENT
            table[filled, 0] -= 1
            return
        if state & _REFERENCED:
            table[page, STATE] = _IS_ACTIVE
            table[filled, 1] += 1
            _append(table, ACTIVE, page)
        else:
            table[page, STATE] = _REFERENCED
            _append(table, INACTIVE, page)


@inlined
def _set_state(table: Table, page: int, state: int) -> None:
    """Of a page that may have gone already, where the cache is as small as the window."""
    if table[page, STATE] != ABSENT:
        table[page, STATE] = state


@inlined
def _append(table: Table, end: int, page: int) -> None:
    """Put `page` at the new end of the queue whose row is `end`."""
    row = len(table) - end
    at = table[row, 1]
    table[at, INACTIVE_QUEUE if end == INACTIVE else ACTIVE_QUEUE] = page
    table[row, 1] = at + 1 if at + 1 < len(table) - INACTIVE else 0


@inlined
def _take(table: Table, end: int) -> int:
    """Take the oldest page from the queue whose row is `end`."""
    row = len(table) - end
    at = table[row, 0]
    table[row, 0] = at + 1 if at + 1 < len(table) - INACTIVE else 0
    return int(table[at, INACTIVE_QUEUE if end == INACTIVE else ACTIVE_QUEUE])


@inlined
def _activate(table: Table, page: int) -> None:
    table[page, MARK] = _IS_ACTIVE
    table[len(table) - FILLED, 1] += 1
    _link(table, len(table) - ACTIVE, page)


@inlined
def _shrink_active(table: Table) -> None:
    """Move the oldest active pages to the inactive list while that one is too short."""
    filled, active = len(table) - FILLED, len(table) - ACTIVE
    resident = table[filled, 0]
    gib = resident // _LINUX_PAGES_PER_GIB
    ratio = int(np.sqrt(10 * gib)) if gib else 1
    while (resident - table[filled, 1]) * ratio < table[filled, 1]:
        page = table[active, NEWER]
        _unlink(table, page)
        table[filled, 1] -= 1
        table[page, MARK] = 0
        _link(table, len(table) - INACTIVE, page)


@inlined
def _grow_older(table: Table) -> None:
    """An eviction or an activation: what the refault distance counts."""
    age = len(table) - AGE
    table[age, 0] = (table[age, 0] + 1) & AGES


@inlined
def _link(table: Table, end: int, page: int) -> None:
    """Put `page` at the new end of the list whose row is `end`."""
    newest = table[end, OLDER]
    table[page, OLDER] = newest
    table[page, NEWER] = end
    table[newest, NEWER] = page
    table[end, OLDER] = page


@inlined
def _unlink(table: Table, page: int) -> None:
    older, newer = table[page, OLDER], table[page, NEWER]
    table[older, NEWER] = newer
    table[newer, OLDER] = older


@inlined
def look_ahead(table: Table, pages: Ints, first: int, end: int) -> None:
    """Load the rows that accesses to `pages[first:end]` will need: memory is waited for once, not for each. Changes nothing but time."""
    seen = 0
    for at in range(first, end):
        seen ^= table[pages[at], OLDER]
    policy = table[len(table) - KIND, 0]
    if policy in (LRU, TWO_LIST):  # the others move a page only where they evict
        for at in range(first, end):
            page = pages[at]
            seen ^= table[table[page, OLDER], OLDER] ^ table[table[page, NEWER], OLDER]
    table[len(table) - AGE, 1] = seen  # stored, or the compiler would leave the loads out


@compiled
def replay(table: Table, trace: Ints, window: int) -> int:
    misses = 0
    for at in range(len(trace)):
        if at % AHEAD == 0:
            look_ahead(table, trace, at, min(at + AHEAD, len(trace)))
        if not touch(table, trace[at]):
            fault(table, trace[at], window)
            misses += 1
    return misses
