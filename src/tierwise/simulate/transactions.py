"""Transactions on single rows of a table with a B-tree, from the keys that they draw to a rate, on any placement: no server, no clock.

Many clients look up rows by key, and some update them. The server's buffers decide which pages are read at all (the same for
every placement); the reads, commits and one checkpoint that reach the storage are a trace, replayed on the devices of each placement.
Modelled like pgbench: rows lie in the order of their keys, an update stays in its page, a commit writes and flushes the log.
Not modelled: locks, group commit, upper levels of the tree (always cached), pages that clients write to make room.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tierwise.core.errors import InputError
from tierwise.core.units import PAGE_BYTES
from tierwise.core.words import Layout
from tierwise.devices.model import DeviceModel, Operation
from tierwise.simulate.compiled import compiled
from tierwise.simulate.replay import Access, Trace, lay_out, replay

TABLE: Final = "table"
INDEX: Final = "index"
WAL: Final = "wal"
WAL_PAGES: Final = 2048
"""The log goes round in one segment of 16 MiB."""
CHECKPOINT: Final = -1
"""Chain of the checkpoint's writes."""
SEEN: Final = 3
"""Reads before the trace that are kept, for each page of the index: enough to fill a cache of the index's size."""
MOST_USES: Final = 5
"""BM_MAX_USAGE_COUNT"""

Keys = NDArray[np.int64]


@dataclass(frozen=True)
class Rows:
    """A table of `rows`, its blocks and those of its index."""

    rows: int
    table_pages: int
    index_pages: int


@dataclass(frozen=True)
class Load:
    """What the clients do.

    `skew` is the exponent of a Zipfian over the rows; 0: uniform. `writes` is the share of transactions that update their row. `host_s`
    is a transaction's time outside the storage.
    """

    clients: int
    writes: float
    skew: float
    host_s: float
    layout: Layout = Layout.STREWN


@dataclass(frozen=True)
class Recorded:
    """What reaches the storage of `transactions` on `clients` chains: one trace, and which chain each access belongs to.

    `spent_s` is each client's time outside the storage; chain `CHECKPOINT` is nobody's. `before` are the reads (relation, page) that came
    before the trace and after the caches had filled: what a cache on flash has seen.
    """

    trace: Trace
    chains: list[int]
    transactions: list[int]
    spent_s: list[float]
    sizes_bytes: dict[str, int]
    before: list[tuple[str, int]]

    @property
    def reads(self) -> dict[str, int]:
        """Reads of the table and of the index."""
        names = [access.relation for access in self.trace.accesses if access.operation is Operation.READ]
        return {name: names.count(name) for name in (TABLE, INDEX)}


def draw_rows(rows: int, load: Load, count: int, rng: np.random.Generator) -> tuple[Keys, Keys]:
    """Of `count` rows that are looked up: their places in the index, and in the table, from 0 to `rows` - 1."""
    if load.skew == 0:
        places = rng.integers(0, rows, count)
        return places, places
    shares = np.cumsum(np.arange(1, rows + 1, dtype=np.float64) ** -load.skew)
    ranks = np.asarray(np.minimum(np.searchsorted(shares, rng.random(count) * shares[-1]), rows - 1), np.int64)
    strewn = np.asarray(np.random.default_rng(rows).permutation(rows)[ranks], np.int64)  # the same rows are popular whatever the seed
    return ranks if load.layout is Layout.RECENT else strewn, strewn if load.layout is Layout.STREWN else ranks


def record(rows: Rows, load: Load, *, memory_pages: int, transactions: int, warm: int, seed: int) -> Recorded:
    """Run `warm` and then `transactions` transactions through shared buffers of `memory_pages`, and keep what these do not hold.

    The checkpoint begins after a quarter of the transactions and writes every page that was updated in as many before, in order.

    Raises:
        InputError: no memory, or not a transaction for every client.
    """
    if memory_pages < 2 or transactions < load.clients:
        rule = f"must be one for every client, and the memory two pages or more, not {memory_pages}"
        raise InputError("simulated load", field="transactions", value=transactions, rule=rule)
    rng = np.random.default_rng(seed)
    in_index, in_table = draw_rows(rows.rows, load, warm + transactions, rng)
    writing = rng.random(len(in_table)) < load.writes
    leaves, blocks = in_index * rows.index_pages // rows.rows, in_table * rows.table_pages // rows.rows
    asked = np.stack([leaves, rows.index_pages + blocks] * 2, axis=1)  # an update, then a look at what it did
    made = np.stack([np.ones_like(writing)] * 2 + [writing] * 2, axis=1)
    missed = np.zeros_like(made)
    missed[made] = shared_buffers(asked[made], rows.index_pages + rows.table_pages, memory_pages)
    before = slice(max(0, warm - transactions), warm)
    dirty = np.unique(blocks[before][writing[before]])
    steps = (column[warm:].tolist() for column in (leaves, blocks, writing, missed[:, 0], missed[:, 1]))
    history = zip(*(column[warm // 2 : warm].tolist() for column in (leaves, blocks, missed[:, 0], missed[:, 1])), strict=True)
    reads = [read for leaf, block, *gone in history for read, miss in zip(((INDEX, leaf), (TABLE, block)), gone, strict=True) if miss]
    return _recorded(rows, load, list(zip(*steps, strict=True)), dirty.tolist(), reads[-SEEN * rows.index_pages :])


@compiled
def shared_buffers(trace: Keys, pages: int, buffers: int) -> NDArray[np.bool_]:
    """Which accesses to page numbers below `pages` miss, by PostgreSQL's clock sweep: a buffer is passed by once for each use, five times
    at most."""
    place, held, uses = np.full(pages, -1), np.full(buffers, -1), np.zeros(buffers, np.int64)
    missed = np.zeros(len(trace), np.bool_)
    hand = 0
    for at in range(len(trace)):
        page = trace[at]
        buffer = place[page]
        if buffer >= 0:
            uses[buffer] = min(uses[buffer] + 1, MOST_USES)
            continue
        missed[at] = True
        while uses[hand]:
            uses[hand] -= 1
            hand = (hand + 1) % buffers
        if held[hand] >= 0:
            place[held[hand]] = -1
        held[hand], place[page], uses[hand] = page, hand, 1
        hand = (hand + 1) % buffers
    return missed


def _recorded(
    rows: Rows, load: Load, steps: Sequence[tuple[int, int, bool, bool, bool]], dirty: Sequence[int], seen: list[tuple[str, int]]
) -> Recorded:
    """`steps`: leaf, block, whether it writes, whether leaf and block are missed, of each transaction; dealt to the clients in turn."""
    accesses: list[Access] = []
    chains: list[int] = []
    last: list[int | None] = [None] * load.clients
    waiting_s, spent_s, done = [0.0] * load.clients, [0.0] * load.clients, [0] * load.clients

    def issue(client: int, relation: str, page: int, operation: Operation) -> None:
        size_bytes = 0 if operation is Operation.FLUSH else PAGE_BYTES
        accesses.append(Access(relation, page, size_bytes, operation, waiting_s[client], last[client]))
        chains.append(client)
        last[client], waiting_s[client] = len(accesses) - 1, 0.0

    for number, (leaf, block, writes, leaf_missed, block_missed) in enumerate(steps):
        client = number % load.clients
        waiting_s[client] += load.host_s
        spent_s[client] += load.host_s
        done[client] += 1
        if leaf_missed:
            issue(client, INDEX, leaf, Operation.READ)
        if block_missed:
            issue(client, TABLE, block, Operation.READ)
        if writes:
            issue(client, WAL, number % WAL_PAGES, Operation.WRITE)
            issue(client, WAL, 0, Operation.FLUSH)
        if number == len(steps) // 4:
            before = last[client]
            for page in dirty:
                accesses.append(Access(TABLE, page, PAGE_BYTES, Operation.WRITE, 0.0, before))
                chains.append(CHECKPOINT)
                before = len(accesses) - 1
    sizes = {TABLE: rows.table_pages, INDEX: rows.index_pages, WAL: WAL_PAGES}
    return Recorded(Trace(accesses), chains, done, spent_s, {name: pages * PAGE_BYTES for name, pages in sizes.items()}, seen)


def addresses(recorded: Recorded, placement: Mapping[str, str]) -> dict[str, list[int]]:
    """Where the extents of each relation lie on the device of its tier."""
    laid: dict[str, list[int]] = {}
    for tier in set(placement.values()):
        laid |= lay_out({name: size for name, size in recorded.sizes_bytes.items() if placement[name] == tier})
    return laid


def rate(recorded: Recorded, placement: Mapping[str, str], devices: Mapping[str, DeviceModel], *, started_s: float = 0.0) -> float:
    """Transactions a second of `recorded` with its relations on the tiers of `placement`, from `started_s` of the devices' clock on.

    The sum of the clients' own rates, so that it does not matter which of them happens to end last.
    """
    if not recorded.trace.accesses:
        return sum(recorded.transactions) / max(recorded.spent_s)
    found = replay(recorded.trace, placement, devices, addresses(recorded, placement), started_s=started_s)
    taken_s = list(recorded.spent_s)
    for chain, latency_s in zip(recorded.chains, found.latencies_s, strict=True):
        if chain != CHECKPOINT:
            taken_s[chain] += latency_s
    return sum(count / time_s for count, time_s in zip(recorded.transactions, taken_s, strict=True))
