"""What Linux reads when a program reads a file through the page cache: ``mm/readahead.c`` in PostgreSQL's pages of 8 KiB.

The rules are those of ``page_cache_sync_ra`` and ``page_cache_async_ra``, checked against Linux 6.18. They decide by the last window of the
open file, by the end of its last read, and by what of the file is cached already. Two of the kernel's pages are one of these.
"""

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from tierwise.core.units import KIB, PAGE_BYTES

MAX: Final = 128 * KIB // PAGE_BYTES  # pages of the largest window: the kernel's default of 128 KiB
ALIGNED: Final = 16 * KIB // PAGE_BYTES
"""A window that a marker started ends at a multiple of this many pages (file systems with large folios align better)."""
NO_PAGE: Final = -1


class Run(NamedTuple):
    """Pages that follow each other, to be read by one request."""

    first: int
    length: int


@dataclass
class CachedFile:
    """A file of `pages`, and which of them are in the page cache or on their way to it."""

    pages: int
    cached: set[int] = field(default_factory=set)
    marked: dict[int, bool] = field(default_factory=dict)  # pages with the kernel's marker; whether it is on their second half

    def fill(self, first: int, count: int, *, mark: int = NO_PAGE, late: bool = False) -> list[Run]:
        """Take those of the pages that are not cached into the cache; the runs that have to be read. `mark` gets a marker, maybe late."""
        runs: list[Run] = []
        for page in range(first, min(first + count, self.pages)):
            if page in self.cached:
                continue
            self.cached.add(page)
            if page == mark:
                self.marked[page] = late
            if runs and sum(runs[-1]) == page:
                runs[-1] = Run(runs[-1].first, runs[-1].length + 1)
            else:
                runs.append(Run(page, 1))
        return runs


@dataclass
class OpenFile:
    """`file` as one process has opened it: its read-ahead window, and where its last read ended."""

    file: CachedFile
    start: int = 0
    size: int = 0
    ahead: int = 0  # pages of the window behind the marker, itself included
    end: int = NO_PAGE

    def reached(self, page: int, wanted: int) -> list[Run]:
        """Return what is read now where a read comes to `page` and `wanted` of its pages are left."""
        return self._touched(page, wanted) if page in self.file.cached else self._missed(page, wanted)

    def _missed(self, page: int, wanted: int) -> list[Run]:
        if page == 0 or wanted > MAX or page == self.end:
            rounded = 1 << (wanted - 1).bit_length()
            self.start, self.size = page, 2 * rounded if rounded <= MAX // 4 else MAX
            self.ahead = self.size - wanted if self.size > wanted else self.size // 2
        else:
            before = next((count for count in range(MAX) if page - 1 - count not in self.file.cached), MAX)
            if before <= wanted:
                return self.file.fill(page, wanted)
            if page == before:
                before *= 2  # cached from the beginning of the file on
            self.start, self.size, self.ahead = page, min(before + wanted, MAX), 1
            return self._window(late=True)
        return self._window()

    def _touched(self, page: int, wanted: int) -> list[Run]:
        if page not in self.file.marked:
            return []
        late = self.file.marked.pop(page)
        if page == self.start + self.size - self.ahead:
            self.start += self.size
        else:  # the window is of somebody else
            missing = next((other for other in range(page + 1, page + 1 + MAX) if other not in self.file.cached), None)
            if missing is None:
                return []
            self.start, self.size = missing, missing - page + wanted - late
        size = min(2 * self.size, MAX)
        beyond = (self.start + size) % ALIGNED
        self.size = self.ahead = size - beyond if size > beyond else size
        return self._window()

    def _window(self, *, late: bool = False) -> list[Run]:
        return self.file.fill(self.start, self.size, mark=self.start + self.size - self.ahead, late=late)
