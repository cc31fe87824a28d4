"""What a page cache does on an access, compiled: what `page_cache` tells of it, whatever the policy."""

from typing import Final

from tierwise.simulate import clock_kernels, lru_kernels, mapped_kernels, two_list_kernels
from tierwise.simulate.cache_table import CAPACITY, CLOCK, FILE_PAGES, HEAD, HIT, LRU, MAPPED, MISS, POLICY, SEEN, TWO_LIST, Table
from tierwise.simulate.compiled import Ints, compiled, inlined

AHEAD: Final = 64
"""Accesses whose numbers are loaded at a time, see `look_ahead`."""


@inlined
def touch(table: Table, page: int) -> int:
    """Take down that `page` was used, if it is resident; if it is not (`MISS`), nothing changes."""
    if not is_resident(table, page):
        return MISS
    policy, found = table[POLICY], HIT
    if policy == LRU:
        lru_kernels.use(table, page)
    elif policy == CLOCK:
        clock_kernels.use(table, page)
    elif policy == TWO_LIST:
        two_list_kernels.use(table, page)
    else:
        found = mapped_kernels.use(table, page)
    return found


@inlined
def is_resident(table: Table, page: int) -> bool:
    policy = table[POLICY]
    if policy == LRU:
        return lru_kernels.is_resident(table, page)
    return bool(table[HEAD + 2 * page if policy == TWO_LIST else HEAD + page])


@inlined
def fault(table: Table, page: int, window: int) -> tuple[int, int]:
    """Take in `page`, which is absent, and with `window` above 1 what else is absent around it.

    Returns the first page and the one after the last that the device has to read. As in the kernel's read-around of a
    mapped file the window is centred, and cut at the ends of the file. `page` itself comes last, as the newest.
    """
    first, end = _around(table, page, window) if window > 1 else (page, page + 1)
    _insert(table, page)
    # The fault is a use; to be read along with another page is none.
    if table[POLICY] == MAPPED:
        mapped_kernels.note(table, page, mapped_kernels.YOUNG)
    elif table[POLICY] == TWO_LIST and table[HEAD + 2 * page] == two_list_kernels.UNUSED:
        table[HEAD + 2 * page] = two_list_kernels.USED
    return first, end


@compiled
def _around(table: Table, page: int, window: int) -> tuple[int, int]:
    """Take in what is absent around `page`, without it."""
    first, end, begin = page, page + 1, max(0, page - window // 2)
    for other in range(begin, min(table[FILE_PAGES], begin + window)):
        if other != page and not is_resident(table, other):
            _insert(table, other)
            first, end = min(first, other), max(end, other + 1)
            if table[POLICY] == MAPPED and other == begin + window - window // 4:
                mapped_kernels.note(table, other, mapped_kernels.MARKED)
    return first, end


@compiled
def read_ahead(table: Table, page: int, window: int) -> tuple[int, int]:
    """Take in what is absent of the `window` pages that begin at the next absent one, looked for as far; returns as `fault` does.

    The kernel does this of mapped pages without anybody waiting for it, and marks the first page to be next.
    """
    begin, pages = page + 1, table[FILE_PAGES]
    while begin < min(pages, page + window) and is_resident(table, begin):
        begin += 1
    first = end = begin
    if begin < min(pages, page + window):
        for other in range(begin, min(pages, begin + window)):
            if not is_resident(table, other):
                mapped_kernels.insert(table, other)
                end = other + 1
        mapped_kernels.note(table, begin, mapped_kernels.MARKED)
    return first, end


@inlined
def _insert(table: Table, page: int) -> None:
    policy = table[POLICY]
    if table[CAPACITY] == 0:
        return
    if policy == LRU:
        lru_kernels.insert(table, page)
    elif policy == CLOCK:
        clock_kernels.insert(table, page)
    elif policy == TWO_LIST:
        two_list_kernels.insert(table, page)
    else:
        mapped_kernels.insert(table, page)


@inlined
def look_ahead(table: Table, pages: Ints, first: int, end: int) -> None:
    """Load what accesses to `pages[first:end]` will need: memory is waited for once, not for each. Changes nothing but time."""
    seen, each = 0, 2 if table[POLICY] == TWO_LIST else 1
    for at in range(first, end):
        seen ^= table[HEAD + each * pages[at]]
    table[SEEN] = seen  # stored, or the compiler would leave the loads out


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
