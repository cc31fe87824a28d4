"""Page caches over pages 0 to n-1: LRU, CLOCK and Linux's two lists, for read and for mapped pages, with or without read-around.

All keep their pages within one table of numbers, in circular lists or, of mapped pages, in queues: 8 bytes (LRU), 12 (mapped) or 16 for
each page that can be asked for, and an access touches a few cache lines however large the cache is. Compiled code takes the table
alone: one array costs it no reference counting.

Sources: the comments in the kernel's mm/workingset.c (two lists, promotion at the second use, refault distance); Rik van Riel on the ratio
of the lists (linux-mm, 19 December 2007): the active one may be sqrt(10 x GiB) times the inactive one, and as long below 1 GiB. That was
read for anonymous pages; that files follow it is assumed. Mapped pages: page_check_references in mm/vmscan.c and do_sync_mmap_readahead
and do_async_mmap_readahead in mm/filemap.c, as read in kernels 3.x and 4.x; that at most half of the pages are active is assumed, as
is that no refault distance is kept, of Linux 3.2. Not modelled: several processes, memory zones, kswapd.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tierwise.core.errors import InputError
from tierwise.simulate import cache_kernels

POLICIES: Final = {
    "lru": cache_kernels.LRU,
    "clock": cache_kernels.CLOCK,
    "two-list": cache_kernels.TWO_LIST,
    "mapped": cache_kernels.MAPPED,
}


class PageCache:
    """A cache of `pages` pages over a file of `file_pages`; every fault reads a centred window of `read_around` pages.

    Args:
        policy: ``lru``; ``clock``: first in, first out, with a second chance for pages used since; ``two-list``: Linux's inactive and
            active list with refault distances; pages are promoted at their second use, the fault being the first; ``mapped``: the same
            lists as Linux 3.2 had them for mapped pages, of whose uses it learns by looking at accessed bits, and with `read_around` the
            page three quarters into a window that is marked: its first use reads on (`run_threads` does).

    Raises:
        InputError: an unknown policy, or a size that cannot be.
    """

    def __init__(self, file_pages: int, pages: int, policy: str = "lru", *, read_around: int = 1):
        if policy not in POLICIES:
            raise InputError("page cache", field="policy", value=policy, rule=f"must be one of {', '.join(POLICIES)}")
        if not 1 <= file_pages < 2**31 - 8:
            raise InputError("page cache", field="file_pages", value=file_pages, rule="must be from 1 to 2^31 - 9")
        if pages < 0:
            raise InputError("page cache", field="pages", value=pages, rule="must be zero or more")
        if read_around < 1 or (read_around > max(1, pages)):
            raise InputError("page cache", field="read_around", value=read_around, rule="must be from 1 to the pages of the cache")
        self.file_pages, self.pages, self.read_around = file_pages, pages, read_around
        rows = file_pages + cache_kernels.INACTIVE
        if policy == "mapped":  # column by column, because an access that finds its page needs no more than the first
            table = np.zeros((rows, 3), np.int32, order="F")
        else:
            table = np.zeros((rows, 2 if policy == "lru" else 4), np.int32)
            table[:file_pages, cache_kernels.EVICTED :] = cache_kernels.NEVER
            for end in (cache_kernels.INACTIVE, cache_kernels.ACTIVE):
                table[-end, :2] = len(table) - end
        table[:file_pages, cache_kernels.OLDER] = cache_kernels.ABSENT
        table[-cache_kernels.KIND, :2] = POLICIES[policy], pages
        self.table = table

    def __len__(self) -> int:
        """Pages that are resident."""
        return int(self.table[-cache_kernels.FILLED, 0])

    def __contains__(self, page: int) -> bool:
        return bool(self.table[page, cache_kernels.OLDER] != cache_kernels.ABSENT)

    def access(self, page: int) -> tuple[int, int] | None:
        """Use one page: None when it was there, else (first, end) of the pages that have to be read."""
        if not 0 <= page < self.file_pages:
            raise InputError("page cache", field="page", value=page, rule=f"must be from 0 to {self.file_pages - 1}")
        return None if cache_kernels.touch(self.table, page) else cache_kernels.fault(self.table, page, self.read_around)


@dataclass(frozen=True)
class CacheResult:
    """What a cache made of a trace."""

    requests: int
    misses: int

    @property
    def hit_ratio(self) -> float:
        """Share of the requests that found their page."""
        return 1 - self.misses / self.requests


def replay(trace: NDArray[np.int64], pages: int, policy: str = "lru", *, read_around: int = 1) -> CacheResult:
    """Send `trace`, page numbers in the order of access, through a cache of `pages` pages that is empty at first.

    Page numbers may be any; where they lie far apart they are numbered anew (not with read-around, which needs to know neighbours).

    Raises:
        InputError: an empty trace, an unknown policy, no pages.
    """
    if not len(trace):
        raise InputError("trace", field="requests", value=0, rule="must be at least one")
    base, last = int(trace.min()), int(trace.max())
    if last - base > 8 * len(trace) + 2**20 and read_around == 1:
        distinct, trace = np.unique(trace, return_inverse=True)
        base, last = 0, len(distinct) - 1
    cache = PageCache(last - base + 1, pages, policy, read_around=read_around)
    return CacheResult(len(trace), cache_kernels.replay(cache.table, trace - base, read_around))
