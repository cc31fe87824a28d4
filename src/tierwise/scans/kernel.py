"""A process's files read through the kernel's page cache: processes and a device on one clock, and Linux's read-ahead."""

import math
from collections import deque
from collections.abc import Generator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import Final, NamedTuple

from tierwise.core.units import KIB, PAGE_BYTES
from tierwise.devices.protocol import DeviceModel, Operation

MAX: Final = 128 * KIB // PAGE_BYTES  # pages of the largest window: the kernel's default of 128 KiB
ALIGNED: Final = 16 * KIB // PAGE_BYTES
"""A window that a marker started ends at a multiple of this many pages (file systems with large folios align better)."""
NO_PAGE: Final = -1


class Run(NamedTuple):
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
    """A file as one process has opened it, with Linux's read-ahead (``mm/readahead.c``) in PostgreSQL's pages of 8 KiB.

    The rules are those of ``page_cache_sync_ra`` and ``page_cache_async_ra``, checked against Linux 6.18: they decide by the last window,
    by the end of the last read, and by what of the file is cached already.
    """

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


Process = Generator["float | Event", None, None]  # yields the seconds for which it computes, or the event that it waits for


@dataclass(eq=False)
class Event:
    happened: bool = False
    waiting: list[Process] = field(default_factory=list)


class Clock:
    """Seconds, from 0 on, of `device` and of processes that share `processors`: who has one keeps it until he waits for something."""

    def __init__(self, device: DeviceModel, processors: float = math.inf):
        self.now_s = self.device_wait_s = 0.0  # `device_wait_s` is what of the time everybody waits for the device
        self._device = device
        self._event_s = device.next_event_s()  # it changes by what is submitted and by going on alone
        self._ready: list[tuple[float, int, Process]] = []  # a heap; each of them has a processor
        self._in_line: deque[Process] = deque()
        self._free = processors
        self._number = count()
        self._reads: dict[int, Event] = {}

    def start(self, process: Process) -> None:
        if self._free > 0:
            self._free -= 1
            heappush(self._ready, (self.now_s, next(self._number), process))
        else:
            self._in_line.append(process)

    def read(self, address_bytes: int, run: Run, done: Event) -> None:
        """Ask the device for the pages of `run` of a file that begins at an address; `done` happens with the last of them."""
        tag = next(self._number)
        self._reads[tag] = done
        self._device.submit(self.now_s, tag, Operation.READ, address_bytes + run.first * PAGE_BYTES, run.length * PAGE_BYTES)
        self._event_s = self._device.next_event_s()

    def happen(self, event: Event) -> None:
        event.happened = True
        for process in event.waiting:
            self.start(process)
        event.waiting.clear()

    def run(self, until: Event) -> float:
        while not until.happened:
            if self._ready and self._ready[0][0] <= self._event_s:
                self.now_s, _, process = heappop(self._ready)
                self._step(process, until)
            else:
                assert self._event_s < math.inf, "everybody waits for nothing"
                done = self._device.advance(self._event_s)
                self._event_s = self._device.next_event_s()
                for tag, done_s in done:
                    self.device_wait_s += 0.0 if self._ready else done_s - self.now_s
                    self.now_s = done_s
                    self.happen(self._reads.pop(tag))
        return self.now_s

    def _step(self, process: Process, until: Event) -> None:
        for wanted in process:
            if isinstance(wanted, Event):
                if not wanted.happened:
                    wanted.waiting.append(process)
                    break
            elif wanted > 0:
                due_s = self.now_s + wanted
                if due_s > self._event_s or until.happened or (self._ready and self._ready[0][0] <= due_s):
                    heappush(self._ready, (due_s, next(self._number), process))
                    return
                self.now_s = due_s
        self._free += 1
        if self._in_line:
            self.start(self._in_line.popleft())


@dataclass(frozen=True, slots=True)
class KernelCosts:
    call_s: float
    copy_s: float
    check_s: float
    request_s: float
    fill_s: float


@dataclass
class Relation:
    clock: Clock
    costs: KernelCosts
    file: CachedFile
    address_bytes: int
    arriving: dict[int, Event] = field(default_factory=dict)

    def read(self, by: OpenFile, run: Run, *, checked: bool = True) -> Process:
        """Yield one call that reads `run` and returns when all of it is there; whether its check sums are seen to at once."""
        page_s = self.costs.copy_s + (self.costs.check_s if checked else 0.0)
        yield self.costs.call_s
        owed_s, end = 0.0, sum(run)
        for page in range(run.first, end):
            if wanted := by.reached(page, end - page):
                yield owed_s
                owed_s = 0.0
                yield from self._fetch(wanted)
            arriving = self.arriving.get(page)
            if arriving and not arriving.happened:
                yield owed_s
                owed_s = 0.0
                yield arriving
            owed_s += page_s
        by.end = end
        yield owed_s

    def submit(self, by: OpenFile, run: Run) -> Process:
        """Yield one call that begins to read `run` and does not wait for it (`arrived`), nor copies it."""
        yield self.costs.call_s
        for page in range(run.first, sum(run)):
            yield from self._fetch(by.reached(page, sum(run) - page))
        by.end = sum(run)

    def arrived(self, run: Run) -> Process:
        for page in range(run.first, sum(run)):
            if arriving := self.arriving.get(page):
                yield arriving

    def advise(self, run: Run) -> Process:
        """Yield one call that has the kernel fetch `run` and does not wait for it: posix_fadvise(WILLNEED)."""
        yield self.costs.call_s
        yield from self._fetch(self.file.fill(*run))

    def _fetch(self, runs: list[Run]) -> Process:
        events = [Event() for _ in runs]
        for run, event in zip(runs, events, strict=True):
            for page in range(run.first, sum(run)):
                self.arriving[page] = event
        for run, event in zip(runs, events, strict=True):
            yield self.costs.request_s + run.length * self.costs.fill_s
            self.clock.read(self.address_bytes, run, event)
