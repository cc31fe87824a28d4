"""The two lists as Linux 3.2 had them for mapped pages, whose uses it learns of by looking at accessed bits.

A page moves only from one end of a list to another, so the lists are queues.
"""

from tierwise.core.compiled import inlined
from tierwise.simulate import cache_table
from tierwise.simulate.cache_table import ACTIVE, ACTIVE_QUEUE, CAPACITY, HEAD, INACTIVE_QUEUE, RESIDENT, Table, append, take

ABSENT, PRESENT, REFERENCED = 0, 1, 2  # REFERENCED and what follows are bits beside PRESENT
YOUNG, MARKED = 4, 8  # the accessed bit; the first use starts a read-ahead


@inlined
def use(table: Table, page: int) -> int:
    """Set the accessed bit of a resident page, as the processor does: the kernel learns of it when it looks."""
    state = table[HEAD + page]
    table[HEAD + page] = (state | YOUNG) & ~MARKED
    return cache_table.MARKED_HIT if state & MARKED else cache_table.HIT


@inlined
def insert(table: Table, page: int) -> None:
    if table[RESIDENT] == table[CAPACITY]:
        _evict(table)
    table[RESIDENT] += 1
    table[HEAD + page] = PRESENT
    append(table, INACTIVE_QUEUE, page)


@inlined
def note(table: Table, page: int, bit: int) -> None:
    """Note a page that may have gone already, where the cache is as small as the window."""
    if table[HEAD + page] != ABSENT:
        table[HEAD + page] = PRESENT | bit


@inlined
def _evict(table: Table) -> None:
    """Evict the oldest inactive page that was not used since the last look: one used once is spared, one used again is activated. Active
    pages, at most half of all, are moved back whatever their use.
    """
    while True:
        while 2 * table[ACTIVE] > table[RESIDENT]:
            page = take(table, ACTIVE_QUEUE)
            table[ACTIVE] -= 1
            table[HEAD + page] = PRESENT | REFERENCED
            append(table, INACTIVE_QUEUE, page)
        page = take(table, INACTIVE_QUEUE)
        state = table[HEAD + page]
        if not state & YOUNG:
            table[HEAD + page] = ABSENT
            table[RESIDENT] -= 1
            return
        if state & REFERENCED:
            table[HEAD + page] = PRESENT
            table[ACTIVE] += 1
            append(table, ACTIVE_QUEUE, page)
        else:
            table[HEAD + page] = PRESENT | REFERENCED
            append(table, INACTIVE_QUEUE, page)
