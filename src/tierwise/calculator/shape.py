"""The shape of a workload apart from its size: how large the index is beside the table, how skewed the load is, where hot rows lie."""

from dataclasses import dataclass
from math import ceil, log
from typing import Final

from tierwise.core.vocabulary import Layout

ENTRIES: Final = 366  # the most entries in a leaf: 90 % of 8,152 bytes over 20, of a key of 8 bytes
ROWS: Final = 61  # the most rows in a page of the table: rows of pgbench_accounts. A larger index has larger keys, not more rows
HOT: Final = 0.1
REFERENCE_ROWS: Final = 1e6
_SUMMED: Final = 32
_BISECTIONS: Final = 50
_MOST_SKEW: Final = 4.0


@dataclass(frozen=True)
class Shape:
    """`skew` is the exponent of a Zipfian over a million rows that has as large a share of the requests on its hottest tenth."""

    ratio: float
    skew: float
    layout: Layout

    @property
    def entries(self) -> float:
        """Return entries in a page of the index."""
        return entries_of(self.ratio)


def entries_of(ratio: float) -> float:
    return min(ENTRIES, ROWS / ratio)


def levels_of(index_pages: int, entries: float) -> list[int]:
    """Return pages of each level of a B-tree of about `index_pages`, from the leaves to the root."""
    levels = [max(1, round(index_pages * (1 - 1 / entries)))]
    while levels[-1] > 1:
        levels.append(ceil(levels[-1] / entries))
    return levels


def rows_of(index_pages: float, ratio: float) -> float:
    entries = entries_of(ratio)
    return index_pages * (1 - 1 / entries) * entries


def equivalent_skew(skew: float, rows: float, other_rows: float) -> float:
    """Return the exponent over `other_rows` whose hottest tenth gets the share of the requests that `skew` gives it over `rows`."""
    if not skew:
        return 0.0
    share, low, high = _hot_share(skew, rows), 0.0, _MOST_SKEW
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if _hot_share(middle, other_rows) < share else (low, middle)
    return (low + high) / 2


def _hot_share(skew: float, rows: float) -> float:
    return _harmonic(max(1.0, HOT * rows), skew) / _harmonic(rows, skew)


def _harmonic(count: float, skew: float) -> float:
    """Return the sum of i^-skew over 1 to `count`, by Euler and Maclaurin's formula behind the first terms."""
    first = min(_SUMMED, int(count))
    total: float = sum(float(i) ** -skew for i in range(1, first + 1))
    if count <= first:
        return total
    power = 1 - skew
    area = (count**power - first**power) / power if abs(power) > 1e-6 else log(count / first)
    return float(total + area + (count**-skew - first**-skew) / 2)
