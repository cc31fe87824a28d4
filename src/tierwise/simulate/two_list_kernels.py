"""Linux's inactive and active list with refault distances, for read pages.

Of each page its state is kept, and beside that a number: of an inactive one its place in its queue, where -1 is left behind when it is
activated; of one that was evicted the complement of the cache's age then.
"""

import numpy as np

from tierwise.simulate.cache_table import (
    ACTIVE,
    ACTIVE_QUEUE,
    AGE,
    AHEAD,
    CAPACITY,
    END,
    FILE_PAGES,
    FIRST,
    HEAD,
    INACTIVE_QUEUE,
    RESIDENT,
    SLOTS,
    Table,
    append,
    take,
)
from tierwise.simulate.compiled import Ints, compiled, inlined, prefetch, uncounted

ABSENT, UNUSED, USED, IS_ACTIVE = 0, 1, 2, 3
_LEFT = -1
_AGES = 2**31 - 1
_LINUX_PAGES_PER_GIB = 2**18


@inlined
def use(table: Table, page: int) -> None:
    """Note that `page` is used: the second use on the inactive list activates, further ones change nothing."""
    state = HEAD + 2 * page
    if table[state] == UNUSED:
        table[state] = USED
    elif table[state] == USED:
        table[_inactive(table) + table[state + 1]] = _LEFT
        _activate(table, page)
        _grow_older(table)


@inlined
def insert(table: Table, page: int, state: int) -> None:
    """Take in `page`, which is absent: to the active list if it would have stayed, had that one been shorter, else as `state` says."""
    if table[RESIDENT] == table[CAPACITY]:
        _evict(table)
    table[RESIDENT] += 1
    gone = table[HEAD + 2 * page + 1]
    if gone < 0 and (table[AGE] - ~gone) & _AGES <= table[ACTIVE]:
        _activate(table, page)
    else:
        _deactivate(table, page, state)


@compiled
def replay(table: Table, trace: Ints) -> int:
    """Use the pages of `trace`, taking in those that are absent; returns how many were."""
    table, trace, misses = uncounted(table), uncounted(trace), 0
    for at in range(len(trace)):
        prefetch(table, HEAD + 2 * trace[min(at + AHEAD, len(trace) - 1)])
        page = trace[at]
        if table[HEAD + 2 * page]:
            use(table, page)
        else:
            misses += 1
            insert(table, page, USED)
    return misses


@inlined
def _evict(table: Table) -> None:
    _shrink_active(table)
    page = _LEFT
    while page == _LEFT:
        page = take(table, INACTIVE_QUEUE, _inactive(table))
    table[HEAD + 2 * page] = ABSENT
    table[HEAD + 2 * page + 1] = ~table[AGE]
    table[RESIDENT] -= 1
    _grow_older(table)


@inlined
def _shrink_active(table: Table) -> None:
    """Move the oldest active pages to the inactive list while that one is too short."""
    resident = table[RESIDENT]
    gib = resident // _LINUX_PAGES_PER_GIB
    ratio = int(np.sqrt(10 * gib)) if gib else 1
    while (resident - table[ACTIVE]) * ratio < table[ACTIVE]:
        table[ACTIVE] -= 1
        _deactivate(table, take(table, ACTIVE_QUEUE, _inactive(table) + table[SLOTS]), UNUSED)


@inlined
def _activate(table: Table, page: int) -> None:
    table[HEAD + 2 * page] = IS_ACTIVE
    table[ACTIVE] += 1
    append(table, ACTIVE_QUEUE, _inactive(table) + table[SLOTS], page)


@inlined
def _deactivate(table: Table, page: int, state: int) -> None:
    """Put `page` at the new end of the inactive list."""
    table[HEAD + 2 * page] = state
    table[HEAD + 2 * page + 1] = append(table, INACTIVE_QUEUE, _inactive(table), page)
    if table[FIRST] == table[END]:
        _close_ranks(table)


@inlined
def _close_ranks(table: Table) -> None:
    """Leave out of a queue that is full what left it."""
    begin, slots = _inactive(table), table[SLOTS]
    to = at = table[FIRST]
    for _ in range(slots):
        page = table[begin + at]
        if page != _LEFT:
            table[begin + to] = page
            table[HEAD + 2 * page + 1] = to
            to = to + 1 if to + 1 < slots else 0
        at = at + 1 if at + 1 < slots else 0
    table[END] = to


@inlined
def _grow_older(table: Table) -> None:
    """An eviction or an activation: what the refault distance counts."""
    table[AGE] = (table[AGE] + 1) & _AGES


@inlined
def _inactive(table: Table) -> int:
    """Where the inactive queue begins; the active one follows."""
    return int(HEAD + 2 * table[FILE_PAGES])
