"""An access to a page cache of any policy, compiled; see `page_cache`."""

from tierwise.core.compiled import Ints, compiled, inlined, prefetch, uncounted
from tierwise.simulate import clock_kernels, lru_kernels, mapped_kernels, two_list_kernels
from tierwise.simulate.cache_table import AHEAD, CAPACITY, CLOCK, FILE_PAGES, HEAD, HIT, LRU, MAPPED, MISS, POLICY, TWO_LIST, Table


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
    if policy == TWO_LIST:
        return two_list_kernels.is_resident(table, page)
    return bool(table[HEAD + page])


@inlined
def fault(table: Table, page: int, window: int) -> tuple[int, int]:
    """Take in `page` with its centred `window`; return the first page that the device reads and the one after the last."""
    first, end = _around(table, page, window) if window > 1 else (page, page + 1)
    # The fault is a use; to be read along with another page is none.
    _insert(table, page, two_list_kernels.USED)
    if table[POLICY] == MAPPED:
        mapped_kernels.note(table, page, mapped_kernels.YOUNG)
    return first, end


@compiled
def _around(table: Table, page: int, window: int) -> tuple[int, int]:
    first, end, begin = page, page + 1, max(0, page - window // 2)
    for other in range(begin, min(table[FILE_PAGES], begin + window)):
        if other != page and not is_resident(table, other):
            _insert(table, other, two_list_kernels.UNUSED)
            first, end = min(first, other), max(end, other + 1)
            if table[POLICY] == MAPPED and other == begin + window - window // 4:
                mapped_kernels.note(table, other, mapped_kernels.MARKED)
    return first, end


@compiled
def read_ahead(table: Table, page: int, window: int) -> tuple[int, int]:
    """Take in the absent ones of the `window` pages from the next absent one on, as the kernel does; returns as `fault` does."""
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


@compiled
def _insert(table: Table, page: int, state: int) -> None:
    policy = table[POLICY]
    if table[CAPACITY] == 0:
        return
    if policy == LRU:
        lru_kernels.insert(table, page)
    elif policy == CLOCK:
        clock_kernels.insert(table, page)
    elif policy == TWO_LIST:
        two_list_kernels.insert(table, page, state)
    else:
        mapped_kernels.insert(table, page)


@compiled
def replay(table: Table, trace: Ints, window: int) -> int:
    if table[POLICY] == LRU and window == 1 and table[CAPACITY] > 0:
        return lru_kernels.replay(table, trace)
    table, trace, misses = uncounted(table), uncounted(trace), 0
    for at in range(len(trace)):
        prefetch(table, HEAD + trace[min(at + AHEAD, len(trace) - 1)])
        if not touch(table, trace[at]):
            fault(table, trace[at], window)
            misses += 1
    return misses
