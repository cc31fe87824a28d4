"""What Linux reads when a program reads a file through the page cache: ``mm/readahead.c`` in PostgreSQL's pages of 8 KiB.

The rules are those of ``page_cache_sync_ra`` and ``page_cache_async_ra``, checked against Linux 6.18. They decide by the last window of the
open file, by the end of its last read, and by what of the file is cached already. Two of the kernel's pages are one of these.
"""

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from tierwise.core.units import KIB, PAGE_BYTES

MAX: Final = 128 * KIB // PAGE_BYTES
"""Pages of the largest window: the kernel's default of 128 KiB."""
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
    marked: dict[int, bool] = field(default_factory=dict)
    """Pages with the kernel's marker; whether it is on their second half."""

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

    def cached_before(self, page: int) -> int:
        return next((count for count in range(MAX) if page - 1 - count not in self.cached), MAX)

    def missing_after(self, page: int) -> int | None:
        return next((other for other in range(page + 1, page + 1 + MAX) if other not in self.cached), None)


@dataclass
class OpenFile:
    """`file` as one process has opened it: its read-ahead window, and where its last read ended."""

    file: CachedFile
    start: int = 0
    size: int = 0
    ahead: int = 0
    """Pages of the window behind the marker, itself included."""
    end: int = NO_PAGE

    def missed(self, page: int, wanted: int) -> list[Run]:
        """Return what is read now where `page` of a read is not cached and `wanted` pages of the read are left."""
        if page == 0 or wanted > MAX or page == self.end:
            self.start, self.size = page, _first_window(wanted)
            self.ahead = self.size - wanted if self.size > wanted else self.size // 2
        else:
            before = self.file.cached_before(page)
            if before <= wanted:
                return self.file.fill(page, wanted)
            if page == before:
                before *= 2  # cached from the beginning of the file on
            self.start, self.size, self.ahead = page, min(before + wanted, MAX), 1
            return self._window(late=True)
        return self._window()

    def touched(self, page: int, wanted: int) -> list[Run]:
        """Return what is read now where `page` of a read is cached and carries the kernel's marker."""
        if page not in self.file.marked:
            return []
        late = self.file.marked.pop(page)
        if page == self.start + self.size - self.ahead:
            self.start += self.size
        else:  # the window is of somebody else
            missing = self.file.missing_after(page)
            if missing is None:
                return []
            self.start, self.size = missing, missing - page + wanted - late
        self.size = self.ahead = self._aligned(min(2 * self.size, MAX))
        return self._window()

    def advised(self, pages: Run) -> list[Run]:
        """Return the runs of pages to be read after posix_fadvise(WILLNEED) on `pages`."""
        return self.file.fill(*pages)

    def _aligned(self, size: int) -> int:
        beyond = (self.start + size) % ALIGNED
        return size - beyond if size > beyond else size

    def _window(self, *, late: bool = False) -> list[Run]:
        return self.file.fill(self.start, self.size, mark=self.start + self.size - self.ahead, late=late)


def _first_window(wanted: int) -> int:
    """Twice what is wanted, rounded up to a power of two, and the largest window for more than a quarter of it."""
    rounded = 1 << (wanted - 1).bit_length()
    return 2 * rounded if rounded <= MAX // 4 else MAX
