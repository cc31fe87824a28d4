"""The nodes of the calculator's grid: what one LRU misses and writes back per transaction, simulated, and what is kept of each node.

A transaction is a lookup through a B-tree, and an update of the row's page or not. The cache begins as one that has run for ever: the order
of its pages is drawn, each page by its share of the requests (the stationary order of LRU under independent requests). One pass of stack
distances gives every size.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tierwise.calculator.grid import WHOLE
from tierwise.calculator.shape import REFERENCE_ROWS, Shape, equivalent_skew, levels_of
from tierwise.core.vocabulary import Layout
from tierwise.simulate.stack_distances import Curve, curve_of

SIZES: Final = (2**13, 2**17)
"""Pages of table and index together."""
WARM: Final = (30, 0)
MEASURED: Final = (24, 3)
"""Transactions for each page before counting and while counting, at each of `SIZES`; only the smaller has writes, which need time."""
RATIOS: Final = (0.02, 0.05, 0.1, 0.17, 0.3, 0.6, 1.2)
SKEWS: Final = (0.0, 0.4, 0.6, 0.75, 0.9, 1.0, 1.1, 1.2)
WRITES: Final = (0.05, 0.2, 0.5)
"""Where each transaction writes, each page that was read is written back."""
LEAST_RAM: Final = 0.004
MOST_EVEN: Final = 0.9
STEPS: Final = 26
NEAR_ALL: Final = (0.93, 0.96, 0.98, 0.99, 1.0)
NEAR_INDEX: Final = (0.7, 0.85, 1.0, 1.15, 1.3)
"""Sizes of the cache beside that of the index: where an index just fits."""
INTERVALS: Final = tuple(2.0**power for power in range(-8, 7))
"""Writes between two checkpoints, beside the table's pages."""
ROUNDS: Final = 5
"""How often every page is used before: all are written first, then some, so that as many are dirty as always."""

Floats = NDArray[np.float64]
Pages = NDArray[np.int32]


@dataclass(frozen=True)
class Counts:
    """Counts per transaction at each size of the cache; `write_backs` for each write and read of the table, for each share of writes."""

    table_reads: Floats
    index_reads: Floats
    write_backs: list[Floats]
    popularity: Floats
    """Each table page's share of the requests for the table."""


class Workload:
    """A table and its index of together `pages`, the table's pages before those of the index, and the transactions on them."""

    def __init__(self, shape: Shape, pages: int, seed: int) -> None:
        index_pages = max(2, round(pages * shape.ratio / (1 + shape.ratio)))
        self.levels = levels_of(index_pages, shape.entries)
        self.pages, self.table_pages = pages, pages - sum(self.levels)
        self.rows, self.entries = int(self.levels[0] * shape.entries), shape.entries
        self.rng = np.random.default_rng(seed)
        ranks = np.arange(1, self.rows + 1, dtype=np.float64)
        self.shares = ranks ** -equivalent_skew(shape.skew, REFERENCE_ROWS, self.rows)
        self.shares /= self.shares.sum()
        self.sums = np.cumsum(self.shares)
        places = np.arange(self.rows)
        strewn = self.rng.permutation(self.rows)
        self.in_index = places if shape.layout is Layout.RECENT else strewn
        self.in_table = strewn if shape.layout is Layout.STREWN else places

    def touched(self, ranks: NDArray[np.int64]) -> Pages:
        """Return the pages that a transaction on the row of each rank requests: from the root to a leaf, and the row's own."""
        leaves, own, start = self.in_index[ranks] * self.levels[0] // self.rows, [], self.table_pages
        for level, count in enumerate(self.levels):
            own.append(start + np.minimum(leaves / self.entries**level, count - 1).astype(np.int32))
            start += count
        return np.asarray(np.stack([*own[::-1], self.in_table[ranks] * self.table_pages // self.rows], axis=1), np.int32)

    def drawn(self, transactions: int) -> Pages:
        return self.touched(np.minimum(np.searchsorted(self.sums, self.rng.random(transactions)), self.rows - 1))

    def popularity(self) -> Floats:
        """Return the requests for each page per transaction."""
        touched = self.touched(np.arange(self.rows))
        return np.asarray(np.sum([np.bincount(column, self.shares, self.pages) for column in touched.T], axis=0))


def simulate(
    shape: Shape, pages: int, writes: Sequence[float], cache_pages: Sequence[int], *, warm: int, measured: int, seed: int
) -> Counts:
    """Return the counts of `measured` transactions for each page, after `warm`."""
    workload = Workload(shape, pages, seed)
    popularity, requests = workload.popularity(), workload.drawn((warm + measured) * pages)
    each, chances = requests.shape[1], workload.rng.random(len(requests))
    filling = np.argsort(-workload.rng.exponential(size=(ROUNDS, pages)) / popularity, axis=1).astype(np.int32)
    trace, begun = np.concatenate([filling.ravel(), requests.ravel()]), filling.size
    middle, in_table = begun + warm * pages * each, filling.ravel() < workload.table_pages
    filled = np.where(np.arange(begun) < pages, 0.0, workload.rng.random(begun))
    relation = np.repeat(np.array([0, 1], np.int32), [workload.table_pages, pages - workload.table_pages])
    found = []
    for share in writes or [0.0]:
        changed = np.zeros(len(trace), np.bool_)
        changed[:begun] = in_table & (filled < share)
        changed[begun + each - 1 :: each] = chances < share
        whole, before = (curve_of(trace[:end], changed[:end], relation, 2) for end in (len(trace), middle))
        found.append(np.array([_counted(whole, size) - _counted(before, size) for size in cache_pages]).T / (measured * pages))
    table_reads, index_reads, _ = found[0]
    backs = [counts[2] / share / np.maximum(counts[0], 1e-9) for share, counts in zip(writes, found, strict=False)]
    for row in backs:
        row[table_reads == 0] = row[table_reads > 0][-1]
    return Counts(table_reads, index_reads, backs, popularity[: workload.table_pages])


def _counted(curve: Curve, size: int) -> Floats:
    found = curve.at(size)
    missed = found.reads + found.writes
    return np.array([missed[0], missed[1], found.write_backs.sum()], np.float64)


def ram_shares(ratio: float) -> list[float]:
    """Return sizes of the cache, as shares of table and index together."""
    index = ratio / (1 + ratio)
    even = np.geomspace(LEAST_RAM, MOST_EVEN, STEPS).tolist()
    return sorted({round(share, 6) for share in (*even, *NEAR_ALL, *(index * near for near in NEAR_INDEX)) if LEAST_RAM <= share <= 1})


def layouts(skew: float) -> list[Layout]:
    return list(Layout) if skew else [Layout.STREWN]


def kept(shape: Shape, size: int, seed: int) -> list[list[int]]:
    """Return the row of a node: reads of the table, of the index, pages changed in intervals, write-backs for each of `WRITES`."""
    pages = SIZES[size]
    caches = [round(share * pages) for share in ram_shares(shape.ratio)]
    found = simulate(shape, pages, WRITES if size == 0 else (), caches, warm=WARM[size], measured=MEASURED[size], seed=seed)
    rows = (found.table_reads, found.index_reads, _changed(found), *found.write_backs)
    return [np.rint(WHOLE * np.asarray(row)).astype(int).tolist() for row in rows]


def _changed(found: Counts) -> list[float]:
    """Return distinct pages per write, by the writes for each page that follow a checkpoint (`INTERVALS`)."""
    pages = len(found.popularity)
    return [float(-np.expm1(-found.popularity * pages * each).sum() / (pages * each)) for each in INTERVALS]
