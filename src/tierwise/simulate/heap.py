"""Which pages of a table and its index transactions touch, when a row that is updated may find its page full: PostgreSQL's heap.

An update writes a new version of its row. If its page has space, it stays there, and the index is left alone (heap-only tuple). If not,
the row moves to the page where this client's latest row that moved went, or else to the next one that the free space map lists, and the
index gets an entry for it; the old entry leads lookups to the old page as well, until one of them finds the old version dead to all.
A page gets space back when it is looked at, from versions that no transaction can see any more: those replaced by a transaction before all
that still run, or ran when the oldest snapshot was taken. The map learns that a page is full when somebody has looked there in vain,
and of new space only from VACUUM, which does not run here.

Read in PostgreSQL's source: `RelationGetBufferForTuple` (hio.c), `heap_page_prune_opt` (pruneheap.c), `fsm_search_avail` (fsmpage.c).
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tierwise.core.compiled import compiled

ROWS_PER_PAGE: Final = 61
"""The rows in a page of pgbench_accounts: 8,168 bytes over 132, of a row of 121 bytes, aligned to 8, and its line pointer."""
NOWHERE: Final = -1
NEVER: Final = 2**62
LOOKUP, BEGIN, UPDATE, SELECT, INSERT, END = 1, 5, 4, 3, 2, 1
"""Statements, by how many their transaction still has to make; a lookup is its only one."""

Keys = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Touched:
    """Pages in the order of touching, those of the index first in number, with the transaction and whether it changes the page; the client
    of each transaction; and of each update whether its row stayed in its page.
    """

    pages: Keys
    transactions: Keys
    changed: Flags
    clients: Keys
    stayed: Flags


class _Heap(NamedTuple):
    space: Keys  # rows that each page has space for
    dead: Keys  # versions in each page that give space when it is next looked at
    listed: Flags  # whether the free space map has each page as one with space
    pinned: Keys  # clients that hold each page while they read the page to which their row moves; it gives no space back meanwhile
    replaced_in: Keys  # the page of the version that each update replaced
    ends: Keys  # (cursor of the free space map, pages, updates, those among them that no transaction waits for any more)


class _Work(NamedTuple):
    leaves: Keys
    rows: Keys
    writing: Flags
    page_of: Keys  # the page that each row lies in now
    old_page: Keys  # the page to which an old entry of the index leads, too, for each row
    moved_by: Keys  # the update that moved each row
    index_pages: int


class _Log(NamedTuple):
    pages: Keys
    transactions: Keys
    changed: Flags
    end: Keys


def filled_pages(rows: int) -> int:
    return -(-rows // ROWS_PER_PAGE)


def aged_pages(rows: int) -> int:
    """Return pages of a table of `rows`, aged: the first row of every page was updated once, and went to the end."""
    return filled_pages(rows) + filled_pages(filled_pages(rows))


def pages_of(rows: int, places: Keys) -> Keys:
    page, first = places // ROWS_PER_PAGE, places % ROWS_PER_PAGE == 0
    return np.where(first, filled_pages(rows) + page // ROWS_PER_PAGE, page)


def interleaved(rows: int, page: int) -> int:
    """Return number of a page of an aged table if every page at the end stood behind the pages that its rows come from."""
    loaded = filled_pages(rows)
    if page < loaded:
        return page + page // ROWS_PER_PAGE
    return min((page - loaded + 1) * ROWS_PER_PAGE, loaded) + page - loaded


def touch(rows: int, index_pages: int, in_index: Keys, in_table: Keys, writing: Flags, *, clients: int) -> Touched:
    """Return what transactions touch that look up the rows at these places of index and (aged) table, or update them where `writing`. A
    lookup is one statement, an update five; clients take turns, each for one statement.
    """
    places, row_of = np.unique(in_table, return_inverse=True)
    filled, aged = filled_pages(rows), aged_pages(rows)
    updates = int(writing.sum())
    space = np.zeros(aged + filled_pages(updates) + clients, np.int64)
    space[:filled] = 1
    space[aged - 1] = ROWS_PER_PAGE * (aged - filled) - filled
    heap = _Heap(space, np.zeros_like(space), space > 0, np.zeros_like(space), np.zeros(updates, np.int64), np.array([0, aged, 0, 0]))
    leaves, nowhere = in_index * index_pages // rows, np.full(len(places), NOWHERE)
    work = _Work(leaves, row_of, writing, pages_of(rows, places), nowhere, np.zeros_like(nowhere), index_pages)
    lines = 3 * len(in_index) + 6 * updates + len(space)
    log = _Log(np.empty(lines, np.int64), np.empty(lines, np.int64), np.zeros(lines, np.bool_), np.zeros(1, np.int64))
    client_of, stayed = _run(heap, work, log, clients)
    end = int(log.end[0])
    return Touched(log.pages[:end], log.transactions[:end], log.changed[:end], client_of, stayed[writing])


@compiled
def _run(heap: _Heap, work: _Work, log: _Log, clients: int) -> tuple[Keys, Flags]:
    count = len(work.rows)
    client_of, stayed = np.zeros(count, np.int64), np.ones(count, np.bool_)
    running, left, targets = np.zeros(clients, np.int64), np.zeros(clients, np.int64), np.full(clients, NOWHERE)
    numbers, snapshots = np.full(clients, NEVER), np.full(clients, NEVER)
    leaving = np.full(clients, NOWHERE)
    begun, ended, client = 0, 0, 0
    while ended < count:
        client = (client + 1) % clients
        if leaving[client] != NOWHERE:  # the page to which its row moves has been read
            heap.pinned[leaving[client]] -= 1
            leaving[client] = NOWHERE
            continue
        snapshots[client] = NEVER  # the statement of the latest turn is over
        if not left[client]:
            numbers[client] = NEVER
            if begun == count:
                continue
            running[client], client_of[begun], left[client] = begun, client, BEGIN if work.writing[begun] else LOOKUP
            begun += 1
        now, statement = running[client], left[client]
        left[client] -= 1
        ended += not left[client]
        if work.writing[now] and statement in (BEGIN, END):
            continue
        snapshots[client] = min(numbers.min(), heap.ends[2])
        _bury(heap, min(numbers.min(), snapshots.min()))
        if statement == INSERT and work.writing[now]:
            continue
        _look(heap, work, log, now)
        if statement == UPDATE:
            numbers[client] = heap.ends[2]
            page = work.page_of[work.rows[now]]
            targets[client] = _update(heap, work, log, now, targets[client])
            if work.page_of[work.rows[now]] != page:
                stayed[now], leaving[client] = False, page
                heap.pinned[page] += 1
    return client_of, stayed


@compiled
def _bury(heap: _Heap, horizon: int) -> None:
    seen = heap.ends[3]
    while seen < min(horizon, heap.ends[2]):
        heap.dead[heap.replaced_in[seen]] += 1
        seen += 1
    heap.ends[3] = seen


@compiled
def _put(log: _Log, page: int, now: int, changed: bool) -> None:
    end = log.end[0]
    log.pages[end], log.transactions[end], log.changed[end] = page, now, changed
    log.end[0] = end + 1


@compiled
def _look(heap: _Heap, work: _Work, log: _Log, now: int) -> None:
    """Look up the row, by the old entry of the index too until that is found dead; each page frees the space of its dead versions."""
    row = work.rows[now]
    _put(log, work.leaves[now], now, False)
    old, page = work.old_page[row], work.page_of[row]
    if old != NOWHERE:
        _put(log, work.index_pages + old, now, False)
        _prune(heap, old)
        if work.moved_by[row] < heap.ends[3]:
            work.old_page[row] = NOWHERE
    _put(log, work.index_pages + page, now, False)
    _prune(heap, page)


@compiled
def _prune(heap: _Heap, page: int) -> None:
    if not heap.pinned[page]:
        heap.space[page] += heap.dead[page]
        heap.dead[page] = 0


@compiled
def _update(heap: _Heap, work: _Work, log: _Log, now: int, target: int) -> int:
    row, update = work.rows[now], heap.ends[2]
    page = work.page_of[row]
    log.changed[log.end[0] - 1] = True
    heap.replaced_in[update] = page
    heap.ends[2] = update + 1
    if heap.space[page]:
        heap.space[page] -= 1
        return target
    target = _find_space(heap, log, now, target, work.index_pages)
    heap.space[target] -= 1
    _put(log, work.leaves[now], now, True)
    work.page_of[row], work.old_page[row], work.moved_by[row] = target, page, update
    return target


@compiled
def _find_space(heap: _Heap, log: _Log, now: int, target: int, index_pages: int) -> int:
    cursor, pages = heap.ends[0], heap.ends[1]
    while True:
        if target != NOWHERE:
            _put(log, index_pages + target, now, heap.space[target] > 0)
            if heap.space[target] > 0:
                break
            heap.listed[target] = False
        tried = 0
        while tried < pages and not heap.listed[cursor]:
            cursor, tried = (cursor + 1) % pages, tried + 1
        target, cursor = cursor, (cursor + 1) % pages
        if tried == pages:  # none is listed: the table grows
            target, pages = pages, pages + 1
            heap.space[target], heap.listed[target] = ROWS_PER_PAGE, True
    heap.ends[0], heap.ends[1] = cursor, pages
    return target
