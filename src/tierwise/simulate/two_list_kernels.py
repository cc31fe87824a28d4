"""Linux's inactive and active list with refault distances, for read pages.

Of each page one number is kept. Its two lowest bits are the page's state; the others are of an inactive page its place in its queue, where
-1 is left behind when it is activated, and of one that was evicted the complement of the cache's age then.
"""

import numpy as np

from tierwise.core.compiled import inlined, prefetch
from tierwise.simulate import cache_table
from tierwise.simulate.cache_table import ACTIVE, ACTIVE_QUEUE, AGE, CAPACITY, END, FIRST, HEAD, INACTIVE_QUEUE, RESIDENT, SLOTS, Table

ABSENT, UNUSED, USED, IS_ACTIVE = 0, 1, 2, 3
_LEFT = -1
_STATE, _BITS = 3, 2
_AGES = 2**29 - 1
_LINUX_PAGES_PER_GIB = 2**18


@inlined
def use(table: Table, page: int) -> None:
    """Note that `page` is used: the second use on the inactive list activates, further ones change nothing."""
    known = table[HEAD + page]
    if known & _STATE == UNUSED:
        table[HEAD + page] = known - UNUSED + USED
    elif known & _STATE == USED:
        table[cache_table.begin(table, INACTIVE_QUEUE) + (known >> _BITS)] = _LEFT
        _activate(table, page)
        _grow_older(table)


@inlined
def is_resident(table: Table, page: int) -> bool:
    return bool(table[HEAD + page] & _STATE)


@inlined
def insert(table: Table, page: int, state: int) -> None:
    """Take in `page`, which is absent: to the active list if it would have stayed, had that one been shorter, else as `state` says."""
    if table[RESIDENT] == table[CAPACITY]:
        _evict(table)
    table[RESIDENT] += 1
    gone = table[HEAD + page]
    if gone < 0 and (table[AGE] - ~(gone >> _BITS)) & _AGES <= table[ACTIVE]:
        _activate(table, page)
    else:
        _deactivate(table, page, state)


@inlined
def _evict(table: Table) -> None:
    _shrink_active(table)
    page = _LEFT
    while page == _LEFT:
        page = _take(table, INACTIVE_QUEUE)
    table[HEAD + page] = ~table[AGE] << _BITS | ABSENT
    table[RESIDENT] -= 1
    _grow_older(table)


@inlined
def _take(table: Table, queue: int) -> int:
    soon = table[FIRST + 2 * queue] + cache_table.AHEAD
    if soon < table[SLOTS]:
        prefetch(table, HEAD + table[cache_table.begin(table, queue) + soon])
    return cache_table.take(table, queue)


@inlined
def _shrink_active(table: Table) -> None:
    resident = table[RESIDENT]
    gib = resident // _LINUX_PAGES_PER_GIB
    ratio = int(np.sqrt(10 * gib)) if gib else 1
    while (resident - table[ACTIVE]) * ratio < table[ACTIVE]:
        table[ACTIVE] -= 1
        _deactivate(table, _take(table, ACTIVE_QUEUE), UNUSED)


@inlined
def _activate(table: Table, page: int) -> None:
    table[HEAD + page] = IS_ACTIVE
    table[ACTIVE] += 1
    cache_table.append(table, ACTIVE_QUEUE, page)


@inlined
def _deactivate(table: Table, page: int, state: int) -> None:
    table[HEAD + page] = cache_table.append(table, INACTIVE_QUEUE, page) << _BITS | state
    if table[FIRST] == table[END]:
        _close_ranks(table)


@inlined
def _close_ranks(table: Table) -> None:
    begin, slots = cache_table.begin(table, INACTIVE_QUEUE), table[SLOTS]
    to = at = table[FIRST]
    for _ in range(slots):
        page = table[begin + at]
        if page != _LEFT:
            table[begin + to] = page
            table[HEAD + page] = to << _BITS | (table[HEAD + page] & _STATE)
            to = to + 1 if to + 1 < slots else 0
        at = at + 1 if at + 1 < slots else 0
    table[END] = to


@inlined
def _grow_older(table: Table) -> None:
    table[AGE] = (table[AGE] + 1) & _AGES
