"""Transactions on single rows of a table with a B-tree, from the keys that they draw to a rate, on any placement: no server, no clock.

Many clients look up rows by key, and some update them. The server's buffers decide which pages are read at all (the same for
every placement); the reads, commits and one checkpoint that reach the storage are a trace, replayed on the devices of each placement.
Modelled like pgbench on a database that was in use: rows lie in the order of their keys, an update stays in its page if that has space
(`heap`), a commit writes and flushes the log, with an image of each page that it is the first to change since the checkpoint. A client
that needs a buffer of a page which was changed since the last checkpoint writes that page first. Not modelled: locks, group commit,
upper levels of the tree (always cached), hint bits.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tierwise.core.errors import InputError
from tierwise.core.units import PAGE_BYTES
from tierwise.core.vocabulary import Layout
from tierwise.devices.protocol import DeviceModel, Operation
from tierwise.simulate.heap import Touched, aged_pages, touch
from tierwise.simulate.replay import Access, Trace, lay_out_tiers, replay
from tierwise.simulate.shared_buffers import Scans, sweep

TABLE: Final = "table"
INDEX: Final = "index"
WAL: Final = "wal"
WAL_PAGES: Final = 2048  # the log goes round in one segment of 16 MiB
CHECKPOINT: Final = -1  # chain of the checkpoint's writes
SEEN: Final = 3  # reads before the trace that are kept, for each page of the index: enough to fill a cache of the index's size
OTHER_PAGES: Final = 209
"""The shared buffers that hold neither table nor index: catalogues that sessions read when they begin, the history's pages, maps. Median of
19 windows of pgbench with eight clients on PostgreSQL 18 (pg_buffercache; from 99 of 1,850 to 286 of 5,523)."""
FANOUT: Final = 285  # pages of the B-tree for each one above them, which is always cached: 70 % of 8,152 bytes over 20, of a key of 4 bytes
UPDATE_BYTES: Final = 200
"""Bytes in the log of an update, its insert and its commit: 73, 79 and 34 on average (pg_walinspect, PostgreSQL 18), aligned to 8."""

Keys = NDArray[np.int64]


@dataclass(frozen=True)
class Rows:
    """A table of `rows`, loaded and aged as pgbench's accounts (`heap`), and the pages of its index."""

    rows: int
    index_pages: int

    @property
    def table_pages(self) -> int:
        return aged_pages(self.rows)


@dataclass(frozen=True)
class Load:
    clients: int
    writes: float  # share of transactions that update their row
    skew: float  # exponent of a Zipfian over the rows; 0: uniform
    host_s: float  # a transaction's time outside the storage
    layout: Layout = Layout.STREWN


@dataclass(frozen=True)
class Recorded:
    """What reaches the storage of `transactions` on `clients` chains: one trace, and which chain each access belongs to.

    `spent_s` is each client's time outside the storage; chain `CHECKPOINT` is nobody's. `before` are the reads (relation, page) that came
    before the trace and after the caches had filled: what a cache on flash has seen.
    """

    rows: Rows
    trace: Trace
    chains: list[int]
    transactions: list[int]
    spent_s: list[float]
    sizes_bytes: dict[str, int]
    before: list[tuple[str, int]]
    stayed: float  # share of the updates that stayed in their page


def draw_rows(rows: int, load: Load, count: int, rng: np.random.Generator) -> tuple[Keys, Keys]:
    """Draw `count` rows that are looked up: their places in the index, and in the table, from 0 to `rows` - 1."""
    if load.skew == 0:
        places = rng.integers(0, rows, count)
        return places, places
    shares = _shares(rows, load.skew)
    ranks = np.asarray(np.minimum(np.searchsorted(shares, rng.random(count) * shares[-1]), rows - 1), np.int64)
    strewn = np.asarray(_permutation(rows)[ranks], np.int64)  # the same rows are popular whatever the seed
    return ranks if load.layout is Layout.RECENT else strewn, strewn if load.layout is Layout.STREWN else ranks


@lru_cache(maxsize=1)
def _shares(rows: int, skew: float) -> NDArray[np.float64]:
    return np.cumsum(np.arange(1, rows + 1, dtype=np.float64) ** -skew)


@lru_cache(maxsize=1)
def _permutation(rows: int) -> Keys:
    return np.random.default_rng(rows).permutation(rows)


def record(
    rows: Rows, load: Load, *, memory_pages: int, transactions: int, lookups: int, warm: int, seed: int, other_pages: int = OTHER_PAGES
) -> Recorded:
    """Run `transactions` transactions through shared buffers of `memory_pages`, and keep what these do not hold.

    Before them come `lookups` of rows at random, each made twice, then `warm` transactions. A checkpoint begins after a quarter of them and
    writes every page that was changed, by those before them as well, in order.
    """
    buffers = memory_pages - other_pages - rows.index_pages // FANOUT
    if buffers < 2 or transactions < load.clients:
        rule = f"must be one for every client, and the memory {memory_pages - buffers + 2} pages or more, not {memory_pages}"
        raise InputError("simulated load", field="transactions", value=transactions, rule=rule)
    rng = np.random.default_rng(seed)
    # Where keys are random, the two places of a row have nothing in common.
    filling = np.repeat(rng.integers(0, rows.rows, (2, lookups)), 2, axis=1)
    places = draw_rows(rows.rows, load, warm + transactions, rng)
    in_index, in_table = np.concatenate([filling if load.layout is Layout.RANDOM_KEYS else filling[[0, 0]], places], axis=1)
    first = 2 * lookups + warm
    writing = (np.arange(len(in_table)) >= 2 * lookups) & (rng.random(len(in_table)) < load.writes)
    touched = touch(rows.rows, rows.index_pages, in_index, in_table, writing, clients=load.clients)
    begun, midst = (int(np.argmax(touched.transactions >= number)) for number in (first, first + transactions // 4))
    no_scans = Scans(np.zeros(len(touched.pages), np.bool_), np.zeros(int(touched.pages.max()) + 1, np.int32), np.full((1, 1), -1))
    missed, evicted, dirty = sweep(touched.pages, touched.changed, midst, no_scans, buffers)
    seen = slice(int(np.argmax(touched.transactions >= lookups)), begun)
    reads = [_place(rows, page) for page in touched.pages[seen][missed[seen]][-SEEN * rows.index_pages :].tolist()]
    return _recorded(_Window(rows, load, touched, missed, evicted, dirty, writing, midst, first), reads)


@dataclass(frozen=True)
class _Window:
    """Transactions from number `first` on, and a checkpoint, which writes the pages `dirty` and begins at line `midst` of `touched`."""

    rows: Rows
    load: Load
    touched: Touched
    missed: NDArray[np.bool_]
    evicted: Keys
    dirty: Keys
    writing: NDArray[np.bool_]
    midst: int
    first: int

    @property
    def log_bytes(self) -> Keys:
        """Bytes of the log, by transaction: records, and images of pages that are changed for the first time since a checkpoint."""
        sizes = self.writing * np.int64(UPDATE_BYTES)
        lines = np.arange(len(self.touched.pages))
        for part in (lines[: self.midst], lines[self.midst :]):
            changed = part[self.touched.changed[part]]
            _, first = np.unique(self.touched.pages[changed], return_index=True)
            np.add.at(sizes, self.touched.transactions[changed[first]], PAGE_BYTES)
        return sizes

    def lines(self) -> Iterator[tuple[int, list[tuple[int, int, bool, int]]]]:
        """Each transaction and its lines: itself, the page, whether that was missed, and which one was written to make space (-1: none)."""
        own = np.flatnonzero(self.touched.transactions >= self.first)
        own = own[np.argsort(self.touched.transactions[own], kind="stable")]
        columns = (self.touched.transactions, self.touched.pages, self.missed, self.evicted)
        for number, found in groupby(zip(*(column[own].tolist() for column in columns), strict=True), key=itemgetter(0)):
            yield number, list(found)


def _place(rows: Rows, page: int) -> tuple[str, int]:
    return (INDEX, page) if page < rows.index_pages else (TABLE, page - rows.index_pages)


def _recorded(window: _Window, seen: list[tuple[str, int]]) -> Recorded:
    rows, load, stayed = window.rows, window.load, window.touched.stayed
    accesses: list[Access] = []
    chains: list[int] = []
    waiting_s = dict.fromkeys((CHECKPOINT, *range(load.clients)), 0.0)
    spent_s, done = [0.0] * load.clients, [0] * load.clients
    last: dict[int, int] = {}

    def issue(chain: int, relation: str, page: int, operation: Operation, size_bytes: int = PAGE_BYTES) -> None:
        accesses.append(Access(relation, page, size_bytes, operation, waiting_s[chain], last.get(chain)))
        chains.append(chain)
        last[chain], waiting_s[chain] = len(accesses) - 1, 0.0

    log_bytes, logged_bytes, clients = window.log_bytes.tolist(), 0, window.touched.clients.tolist()
    quarter = window.first + (len(log_bytes) - window.first) // 4
    for number, lines in window.lines():
        client = clients[number]
        waiting_s[client] += load.host_s
        spent_s[client] += load.host_s
        done[client] += 1
        for _, page, missed, written in lines:
            if written >= 0:
                issue(client, *_place(rows, written), Operation.WRITE)
            if missed:
                issue(client, *_place(rows, page), Operation.READ)
        if log_bytes[number]:
            begin, logged_bytes = logged_bytes // PAGE_BYTES, logged_bytes + log_bytes[number]
            end = -(-logged_bytes // PAGE_BYTES)  # the page in which the commit before ended is written again
            issue(client, WAL, begin % WAL_PAGES, Operation.WRITE, (end - begin) * PAGE_BYTES)
            issue(client, WAL, 0, Operation.FLUSH, 0)
        if number == quarter:
            last |= {CHECKPOINT: last[client]} if client in last else {}
            for page in window.dirty.tolist():
                issue(CHECKPOINT, *_place(rows, page), Operation.WRITE)
    pages = {TABLE: max(rows.table_pages, int(window.touched.pages.max()) + 1 - rows.index_pages), INDEX: rows.index_pages, WAL: WAL_PAGES}
    sizes = {name: count * PAGE_BYTES for name, count in pages.items()}
    return Recorded(rows, Trace(accesses), chains, done, spent_s, sizes, seen, float(stayed.mean()) if len(stayed) else 1.0)


def rate(recorded: Recorded, placement: Mapping[str, str], devices: Mapping[str, DeviceModel], *, started_s: float = 0.0) -> float:
    """Return transactions a second of `recorded` with its relations on the tiers of `placement`: the sum of the clients' own rates."""
    if not recorded.trace.accesses:
        return sum(recorded.transactions) / max(recorded.spent_s)
    found = replay(recorded.trace, placement, devices, lay_out_tiers(recorded.sizes_bytes, placement), started_s=started_s)
    taken_s = list(recorded.spent_s)
    for chain, latency_s in zip(recorded.chains, found.latencies_s, strict=True):
        if chain != CHECKPOINT:
            taken_s[chain] += latency_s
    return sum(count / time_s for count, time_s in zip(recorded.transactions, taken_s, strict=True))
