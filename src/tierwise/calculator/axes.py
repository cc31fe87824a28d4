"""The nodes of the grid, and what is kept of each."""

from typing import Final

import numpy as np

from tierwise.calculator.node import Counts, simulate
from tierwise.calculator.shape import Shape
from tierwise.core.vocabulary import Layout

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
WHOLE: Final = 1e5
"""Counts are kept in parts of this."""


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
