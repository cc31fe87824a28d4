"""PostgreSQL 18's read stream: which pages a sequential or a bitmap scan reads, how far ahead, and who reads them.

The rules are those of ``read_stream.c``: pages that follow each other become one read; the look-ahead doubles with each read that the scan
must wait for, and falls by one with each page found in shared buffers, of which there are none here. Under `sync` no read begins before it
is wanted, but pages that do not follow each other are announced to the kernel. Without concurrency every method reads as `sync` does.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from tierwise.scans.kernel import NO_PAGE, Clock, Event, OpenFile, Process, Relation, Run
from tierwise.scans.processor import IoMethod

COMBINED: Final = 16  # pages of one read at most: io_combine_limit
IN_PLACE: Final = 4  # while no more than this many reads have not been seen to their end io_uring still runs the next one where it is begun


@dataclass(frozen=True, slots=True)
class Reads:
    """How the server reads, and seconds: of the session for a page and for a read that others make, and until who waits is awake."""

    method: IoMethod
    workers: int
    concurrency: int
    ask_s: float
    hand_s: float
    wake_s: float


@dataclass(eq=False)
class _Read:
    run: Run
    done: Event = field(default_factory=Event)
    to_copy: bool = False  # whether the session copies the pages itself, when they have arrived
    ended: bool = False
    """Whether the session has seen to the end of it: under io_uring it does so when it waits for one, for all that are done."""


class Readers:
    """A stream's readers: a number of workers, or as many threads of the kernel as there are reads.

    Under io_uring, as ``method_io_uring.c`` says, only what is begun while more than `IN_PLACE` reads are under way goes to a thread; what
    is begun before runs in the session, which also copies it. Under way is also what is done and of which the session does not know yet.
    """

    def __init__(self, clock: Clock, relation: Relation, reads: Reads):
        self._clock, self._relation, self._reads = clock, relation, reads
        self._queue: deque[_Read] = deque()
        self._idle: deque[Event] = deque()
        self._session = OpenFile(relation.file)
        if reads.method is IoMethod.WORKER:
            for _ in range(reads.workers):
                clock.start(self._worker(OpenFile(relation.file)))

    def begin(self, read: _Read, under_way: int) -> Process:
        yield self._reads.hand_s
        if self._reads.method is IoMethod.WORKER:
            self._queue.append(read)
            if self._idle:
                self._clock.happen(self._idle.popleft())
        elif under_way > IN_PLACE:
            self._clock.start(self._thread(read))
        else:
            read.to_copy = True
            yield from self._relation.submit(self._session, read.run)
            self._clock.start(self._arrival(read))

    def _worker(self, opened: OpenFile) -> Process:
        while True:
            while not self._queue:
                woken = Event()
                self._idle.append(woken)
                yield woken
                yield self._reads.wake_s
            read = self._queue.popleft()
            yield from self._relation.read(opened, read.run)
            self._clock.happen(read.done)

    def _thread(self, read: _Read) -> Process:
        yield self._reads.wake_s
        yield from self._relation.read(self._session, read.run, checked=False)
        self._clock.happen(read.done)

    def _arrival(self, read: _Read) -> Process:
        yield from self._relation.arrived(read.run)
        self._clock.happen(read.done)


class Stream:
    """`pages`, in their order, for a session that takes `page_s` for each once it is there."""

    def __init__(self, clock: Clock, relation: Relation, reads: Reads, *, sequential: bool):
        if not reads.concurrency:
            reads = replace(reads, method=IoMethod.SYNC)
        self._relation, self._reads = relation, reads
        self._readers = Readers(clock, relation, reads)
        self._opened = OpenFile(relation.file)
        self._most = (reads.concurrency + 1) * COMBINED
        self._advises = reads.method is IoMethod.SYNC and not sequential and reads.concurrency > 0
        self._distance = 1
        self._pending: list[int] = []  # pages of the read that is being put together
        self._begun: deque[_Read] = deque()
        self._pinned = 0
        self._next = self._advised_from = NO_PAGE
        self._ungot: int | None = None

    def scan(self, pages: Iterator[int], page_s: float) -> Process:
        while True:
            yield from self._look_ahead(pages)
            if not self._begun:
                return
            read = self._begun[0]
            yield from self._wait(read)
            self._begun.popleft()
            self._distance = min(2 * self._distance, self._most) if self._distance else 0
            if read.run.first == self._advised_from:
                self._advised_from = NO_PAGE
            for _ in range(read.run.length):
                self._pinned -= 1
                yield from self._look_ahead(pages)
                yield page_s

    def _look_ahead(self, pages: Iterator[int]) -> Process:
        most = max(1, self._reads.concurrency)
        while len(self._begun) < most and self._pinned + len(self._pending) < self._distance:
            if len(self._pending) == COMBINED:
                yield from self._begin()
                continue
            page = self._ungot if self._ungot is not None else next(pages, None)
            self._ungot = None
            if page is None:
                self._distance = 0
            elif self._pending and page != self._pending[-1] + 1:
                yield from self._begin()
                if len(self._begun) == most:
                    self._ungot = page
                    return
                self._pending = [page]
            else:
                self._pending.append(page)
        whole = len(self._pending) == COMBINED or not self._distance or (len(self._pending) >= self._distance and not self._pinned)
        if self._pending and whole and len(self._begun) < most:
            yield from self._begin()

    def _begin(self) -> Process:
        read = _Read(Run(self._pending[0], len(self._pending)))
        self._pending = []
        jump, first = read.run.first != self._next, not self._pinned
        self._next = sum(read.run)
        self._begun.append(read)
        self._pinned += read.run.length
        yield self._reads.ask_s * read.run.length
        if self._reads.method is not IoMethod.SYNC:
            yield from self._readers.begin(read, sum(not other.ended for other in self._begun) - 1)
        elif self._advises:
            if jump:
                self._advised_from = read.run.first
            if not first if jump else self._advised_from != NO_PAGE:
                yield from self._relation.advise(read.run)

    def _wait(self, read: _Read) -> Process:
        if self._reads.method is IoMethod.SYNC:
            yield from self._relation.read(self._opened, read.run)
            return
        if not read.done.happened:
            yield read.done
            yield self._reads.wake_s
        if self._reads.method is IoMethod.IO_URING and not read.ended:
            costs = self._relation.costs
            for other in self._begun:
                if other.done.happened and not other.ended:
                    other.ended = True
                    yield other.run.length * (costs.check_s + (costs.copy_s if other.to_copy else 0.0))
