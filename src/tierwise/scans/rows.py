"""Where the rows of a range lie in a table, by the correlation of their column, and how many pages they touch."""

import math
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
import scipy
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NEARLY_NONE: Final = 1e-6  # a correlation so near to 0 is 0: the jitter would span hundreds of tables
NEARLY_WHOLE: Final = 2.0**-25
"""A correlation so near to 1 is 1: ``pg_stats`` keeps it in single precision, whose next number below 1 is twice as far away."""
DRAWN_WHOLE: Final = 6_000_000
"""The largest number of rows that are put in order to the last one; of more, each row of the range is placed by itself."""
REACH: Final = 8.0  # standard deviations beyond which no jitter goes
ENTRY_BYTES: Final = 64  # what a page takes of a bitmap's memory in PostgreSQL 18: an entry of 48 bytes and two pointers (``tidbitmap.c``)
GRID: Final = 1_000_000  # the most pages for which the share of wanted rows is computed; of a larger table, these are evenly spread


@dataclass(frozen=True, slots=True)
class Table:
    """`pages` hold `rows`; a column has this `correlation` in ``pg_stats``, and the middle share `selectivity` of its range is wanted.

    Rows lie in the order of rank + jitter. The rank is a row's place in the order of the column, 0 to rows - 1; the jitter is normal with
    mean 0 and the standard deviation `jitter_rows`. Below 0 the table lies the other way round.
    """

    pages: int
    rows: int
    correlation: float
    selectivity: float

    @property
    def matched(self) -> int:
        return min(self.rows, max(math.ceil(self.selectivity), round(self.rows * self.selectivity)))

    @property
    def first(self) -> int:
        return (self.rows - self.matched) // 2

    @property
    def jitter_rows(self) -> float:
        return jitter(self.correlation) * self.rows


@cache
def jitter(correlation: float) -> float:
    """Return the standard deviation, in shares of the table, with which x, uniform in 0 to 1, and x + jitter have this rank correlation."""
    wanted = abs(correlation)
    if wanted >= 1 - NEARLY_WHOLE:
        return 0.0
    if wanted <= NEARLY_NONE:
        return math.inf
    return math.exp(float(scipy.optimize.brentq(lambda log_sd: rank_correlation(math.exp(log_sd)) - wanted, math.log(1e-6), math.log(1e7))))


def touched_pages(table: Table) -> float:
    """Return the expected number of distinct pages that hold a row of the range."""
    if not table.matched:
        return 0.0
    if not table.jitter_rows:
        first, last = (rank * table.pages // table.rows for rank in (table.first, table.first + table.matched - 1))
        return float(min(last - first + 1, table.matched))
    reach = min(float(table.rows), 2 * REACH * table.jitter_rows)
    first_page = math.floor(max(0.0, (table.first - reach) / table.rows) * table.pages)
    end_page = math.ceil(min(1.0, (table.first + table.matched + reach) / table.rows) * table.pages)
    within = end_page - first_page  # no other page is touched
    seen = min(within, GRID)
    wanted = _share_wanted(table, (first_page + (np.arange(seen) + 0.5) * within / seen) / table.pages)
    fewer, more = divmod(table.rows, table.pages)  # `more` pages hold one row more than the others
    none = (1 - wanted) ** fewer * (1 - wanted * more / table.pages)
    return float(min((1 - none).mean() * within, table.matched))


def lossy_share(touched: float, memory_bytes: int) -> float:
    """Return the share of the `touched` pages of which a bitmap no longer knows which rows are wanted.

    Whenever its entries outgrow its memory, the server keeps only the page numbers of some entries, until half of the memory is free.
    """
    most = memory_bytes // ENTRY_BYTES
    if touched <= most:
        return 0.0
    return math.ceil((touched - most) / (most / 2)) * (most / 2) / touched


def pages_in_order(table: Table, draw: np.random.Generator) -> Ints:
    """Return the page of each row of the range, in the order of the column: one draw of the jitter."""
    ranks = np.arange(table.first, table.first + table.matched)
    sd = table.jitter_rows
    if not sd:
        places = ranks
    elif sd == math.inf:
        places = draw.permutation(table.rows)[: table.matched] if table.rows <= DRAWN_WHOLE else draw.integers(table.rows, size=len(ranks))
    else:
        around = math.ceil(2 * REACH * sd)  # whoever may come to lie among the range
        first, end = max(0, table.first - around), min(table.rows, table.first + table.matched + around)
        if end - first <= DRAWN_WHOLE:
            order = np.argsort(np.arange(first, end) + draw.normal(scale=sd, size=end - first))
            all_places = np.empty_like(order)
            all_places[order] = np.arange(first, end)
            places = all_places[table.first - first :][: table.matched]
        else:
            moved = (ranks + 0.5) / table.rows + draw.normal(scale=sd / table.rows, size=len(ranks))
            places = np.minimum(table.rows - 1, (_share_before(moved, sd / table.rows) * table.rows).astype(np.int64))
    pages = places * table.pages // table.rows
    return pages if table.correlation >= 0 else table.pages - 1 - pages


def _share_wanted(table: Table, places: Floats) -> Floats:
    low, high = table.first / table.rows, (table.first + table.matched) / table.rows
    sd = table.jitter_rows / table.rows
    if sd == math.inf:
        return np.full_like(places, table.matched / table.rows)
    reach = REACH * sd
    grid = np.unique(np.concatenate([np.linspace(-reach, 1 + reach, 20_001), *(np.linspace(x - reach, x + reach, 2_001) for x in (0, 1))]))
    moved = np.interp(places, _share_before(grid, sd), grid)
    every = scipy.special.ndtr((1 - moved) / sd) - scipy.special.ndtr(-moved / sd)
    return np.asarray((scipy.special.ndtr((high - moved) / sd) - scipy.special.ndtr((low - moved) / sd)) / np.maximum(every, 1e-300))


def _share_before(moved: Floats, sd: float) -> Floats:
    return np.clip(sd * (_sum_below(moved / sd) - _sum_below((moved - 1) / sd)), 0.0, 1.0)


def _sum_below(u: Floats) -> Floats:
    return np.asarray(u * scipy.special.ndtr(u) + np.exp(-(u**2) / 2) / math.sqrt(2 * math.pi))


def rank_correlation(sd: float) -> float:
    """Return Spearman's of x and x + jitter: 12 E[x P(x' + jitter' < x + jitter)] - 3, where the two jitters differ by sqrt(2) sd."""
    width = math.sqrt(2) * sd

    def weighed(x: float) -> float:
        below, beyond = _sum_below(np.array([x / width, (x - 1) / width]))
        return float(x * width * (below - beyond))

    edges = sorted(edge for edge in (6 * width, 1 - 6 * width) if 0 < edge < 1)
    return 12 * float(scipy.integrate.quad(weighed, 0, 1, points=edges or None, epsabs=1e-13, limit=200)[0]) - 3
