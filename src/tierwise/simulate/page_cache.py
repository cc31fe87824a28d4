"""Page caches over pages 0 to n-1: LRU, CLOCK and Linux's two lists, for read and for mapped pages, with or without read-around.

None keeps a linked list: of each page of the file there is one number, and beside these half a byte a page (LRU) or queues as
long as the cache. An access touches a few cache lines however large the cache is.

Sources: the comments in the kernel's mm/workingset.c (two lists, promotion at the second use, refault distance); Rik van Riel on the ratio
of the lists (linux-mm, 19 December 2007): the active one may be sqrt(10 x GiB) times the inactive one, and as long below 1 GiB. That was
read for anonymous pages; that files follow it is assumed. Mapped pages: page_check_references in mm/vmscan.c and do_sync_mmap_readahead
and do_async_mmap_readahead in mm/filemap.c, as read in kernels 3.x and 4.x; that at most half of the pages are active is assumed, as
is that no refault distance is kept, of Linux 3.2. Not modelled: several processes, memory zones, kswapd.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from tierwise.core.compiled import Ints
from tierwise.core.errors import InputError
from tierwise.simulate import cache_kernels, cache_table
from tierwise.simulate.lru_kernels import BITS

POLICIES: Final = {"lru": cache_table.LRU, "clock": cache_table.CLOCK, "two-list": cache_table.TWO_LIST, "mapped": cache_table.MAPPED}
MOST_PAGES: Final = 2**30  # the most pages of a file
MOST_LISTED: Final = 2**28 - 1  # the most pages of a cache of ``two-list``, whose places have 29 bits: 2 TiB of 8 KiB
DENSE_PAGES: Final = 2**26  # the most pages of a table indexed by page number, which is faster than looking their numbers up in another one


class PageCache:
    """A cache of `pages` pages over a file of `file_pages`; every fault reads a centred window of `read_around` pages.

    Policies: ``lru``; ``clock``: first in, first out, with a second chance for pages used since; ``two-list``: Linux's lists with refault
    distances, where pages are promoted at their second use, the fault being the first; ``mapped``: these lists as Linux 3.2 had them for
    mapped pages, where with `read_around` the page three quarters into a window is marked: its first use reads on (`run_threads` does).
    """

    def __init__(self, file_pages: int, pages: int, policy: str = "lru", *, read_around: int = 1):
        most = min(file_pages, pages)
        for field, value, good, rule in (
            ("policy", policy, policy in POLICIES, f"must be one of {', '.join(POLICIES)}"),
            ("file_pages", file_pages, 1 <= file_pages <= MOST_PAGES, f"must be from 1 to {MOST_PAGES}"),
            ("pages", pages, pages >= 0, "must be zero or more"),
            ("pages", pages, policy != "two-list" or most <= MOST_LISTED, f"must be at most {MOST_LISTED} for two-list"),
            ("read_around", read_around, 1 <= read_around <= max(1, pages), "must be from 1 to the pages of the cache"),
        ):
            if not good:
                raise InputError("page cache", field=field, value=value, rule=rule)
        self.file_pages, self.read_around = file_pages, read_around
        slots, queues = {
            "lru": (min(4 * file_pages + 2**16, 2**31 - BITS) // BITS, 1),
            "clock": (most, 1),
            "two-list": (2 * most + 1, 2),
            "mapped": (most + 1, 2),
        }[policy]
        self.table = np.zeros(cache_table.HEAD + file_pages + queues * slots, np.int32)
        head = self.table[: cache_table.HEAD]
        head[[cache_table.POLICY, cache_table.FILE_PAGES, cache_table.SLOTS]] = POLICIES[policy], file_pages, slots
        head[[cache_table.CAPACITY, cache_table.NOW, cache_table.OLDEST]] = min(pages, MOST_PAGES), BITS, BITS

    def __len__(self) -> int:
        return int(self.table[cache_table.RESIDENT])

    def __contains__(self, page: int) -> bool:
        return cache_kernels.is_resident(self.table, page)

    def access(self, page: int) -> tuple[int, int] | None:
        """Use one page: None when it was there, else (first, end) of the pages that have to be read."""
        if not 0 <= page < self.file_pages:
            raise InputError("page cache", field="page", value=page, rule=f"must be from 0 to {self.file_pages - 1}")
        return None if cache_kernels.touch(self.table, page) else cache_kernels.fault(self.table, page, self.read_around)


@dataclass(frozen=True)
class CacheResult:
    requests: int
    misses: int

    @property
    def hit_ratio(self) -> float:
        return 1 - self.misses / self.requests


def replay(trace: Ints, pages: int, policy: str = "lru", *, read_around: int = 1) -> CacheResult:
    """Send `trace`, page numbers in the order of access, through an empty cache of `pages` pages; numbers far apart are numbered anew."""
    return replay_stream(lambda: iter([trace]), pages, policy, read_around=read_around)


def replay_stream(chunks: Callable[[], Iterator[Ints]], pages: int, policy: str = "lru", *, read_around: int = 1) -> CacheResult:
    """Replay a trace that need not fit into memory: each call of `chunks` yields it from its beginning, twice or three times."""
    requests, base, last = 0, 2**63, -(2**63)
    for chunk in chunks():
        if len(chunk):
            requests, base, last = requests + len(chunk), min(base, int(chunk.min())), max(last, int(chunk.max()))
    if not requests:
        raise InputError("trace", field="requests", value=0, rule="must be at least one")
    span = max(8 * requests, min(64 * requests, DENSE_PAGES)) + 2**20
    known = np.empty(0, np.int64)
    if last - base > span and read_around == 1:
        for chunk in chunks():
            known = np.union1d(known, chunk)
    cache = PageCache(len(known) or last - base + 1, pages, policy, read_around=read_around)
    numbers = (np.searchsorted(known, chunk) if len(known) else chunk - base for chunk in chunks())
    return CacheResult(requests, sum(cache_kernels.replay(cache.table, chunk, read_around) for chunk in numbers))
