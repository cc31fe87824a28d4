"""The counts per transaction of any workload inside the grid, interpolated between its nodes."""

import json
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import log, log2
from typing import Any, Final

from tierwise.calculator.shape import REFERENCE_ROWS, equivalent_skew, rows_of
from tierwise.core import paths
from tierwise.core.errors import InputError
from tierwise.core.vocabulary import Layout

LEAST_PAGES: Final = 2**12
WHOLE: Final = 1e5  # counts are kept in parts of this
ERROR: Final = 0.016  # how far 95 % of the times of ``scripts/check_grid.py`` were from direct simulations at most
_NODES: Final = 4
_BEYOND: Final = 1.0  # how far sizes are followed, in steps between the grid's two sizes; a larger workload counts as one of this size

Weights = list[tuple[int, float]]


@dataclass(frozen=True)
class Counted:
    """Per transaction: reads of table and index, pages of the table that are written back when they leave the cache."""

    table_reads: float
    index_reads: float
    write_backs: float


@dataclass(frozen=True)
class Point:
    """A place in the grid: the nodes around it, with their weights."""

    nodes: list[tuple[str, str, float]]
    sizes: list[float]
    writes: Weights
    share: float
    pages: int

    def counts(self, ram_pages: float) -> Counted:
        """Return the counts with a cache of `ram_pages`."""
        ram = min(1.0, ram_pages / self.pages)
        table_reads, index_reads = self._blended(0, ram), self._blended(1, ram)
        backs = sum(
            weight * (self._blended(3 + at, ram, smallest=True) if at < len(whole()["writes"]) else 1.0) for at, weight in self.writes
        )
        return Counted(table_reads, index_reads, self.share * backs * table_reads)

    def changed(self, writes_per_page: float) -> float:
        """Return distinct pages of the table for each write, where each page has had `writes_per_page` since a checkpoint."""
        intervals = whole()["intervals"]
        at: float = log2(max(writes_per_page, intervals[0]))
        found: float = self._blended(2, min(at, log2(intervals[-1])), [log2(each) for each in intervals])
        return found * min(1.0, float(intervals[-1]) / max(writes_per_page, float(intervals[0])))

    def _blended(self, row: int, at: float, axis: Sequence[float] | None = None, *, smallest: bool = False) -> float:
        grid, total = whole(), 0.0
        for name, ratio, weight in self.nodes:
            for size, part in enumerate([1.0] if smallest else self.sizes):
                total += weight * part * _between(axis or grid["ram"][ratio], grid["nodes"][f"{name} {size}"][row], at)
        return max(0.0, total / WHOLE)


def point(table_pages: int, index_pages: int, *, skew: float, layout: Layout, writes: float) -> Point:
    """Return where a workload lies in the grid; nothing is computed outside."""
    grid, pages, ratio = whole(), table_pages + index_pages, index_pages / table_pages
    if pages < LEAST_PAGES:
        raise _outside("--table-pages + --index-pages", pages, f"must be at least {LEAST_PAGES} pages")
    if not grid["ratios"][0] <= ratio <= grid["ratios"][-1]:
        raise _outside("--index-pages", index_pages, f"must be {grid['ratios'][0]:g} to {grid['ratios'][-1]:g} times --table-pages")
    if not 0 <= writes <= 1:
        raise _outside("--writes", writes, "must be 0 to 1")
    even = equivalent_skew(skew, rows_of(index_pages, ratio), REFERENCE_ROWS)
    if not 0 <= even <= grid["skews"][-1]:
        raise _outside("--skew", skew, f"gives the hottest rows more requests than the exponent {grid['skews'][-1]:g} over a million rows")
    size = (log2(pages) - log2(grid["sizes"][0])) / (log2(grid["sizes"][1]) - log2(grid["sizes"][0]))
    size = min(_BEYOND, size)
    nodes = []
    for skew_at, one in _weights(grid["skews"], even):
        for ratio_at, other in _weights([log(each) for each in grid["ratios"]], log(ratio)):
            exponent, share = grid["skews"][skew_at], f"{grid['ratios'][ratio_at]:g}"
            name = f"{layout if exponent else Layout.STREWN} {exponent:g} {share}"
            nodes.append((name, share, one * other))
    return Point(nodes, [1 - size, size], _by_writes(grid["writes"], writes), writes, pages)


def version() -> dict[str, Any]:
    return {key: whole()[key] for key in ("version", "command", "seed", "processor_s")}


def least_ram() -> float:
    """Return the smallest cache that is computed, as a share of table and index."""
    return float(max(shares[0] for shares in whole()["ram"].values()))


def _outside(field: str, value: float, rule: str) -> InputError:
    return InputError("not computed", field=field, value=value, rule=rule, remedy="the grid of the calculator ends there")


def _by_writes(nodes: Sequence[float], writes: float) -> Weights:
    """Return the weights of the shares of writes; behind the last node stands the share 1."""
    ends = [*nodes, 1.0]
    at = min(max(bisect_right(ends, writes) - 1, 0), len(ends) - 2)
    part = min(1.0, max(0.0, log(max(writes, ends[0]) / ends[at]) / log(ends[at + 1] / ends[at])))
    return [(at, 1 - part), (at + 1, part)]


def _weights(nodes: Sequence[float], at: float) -> Weights:
    """Return the weights of Lagrange's polynomial through the four nodes around `at`."""
    first = min(max(bisect_right(nodes, at) - _NODES // 2, 0), len(nodes) - _NODES)
    found = []
    for one in range(first, first + _NODES):
        weight = 1.0
        for other in range(first, first + _NODES):
            weight *= (at - nodes[other]) / (nodes[one] - nodes[other]) if other != one else 1.0
        found.append((one, weight))
    return found


def _between(axis: Sequence[float], row: Sequence[float], at: float) -> float:
    above = min(max(bisect_right(axis, at), 1), len(axis) - 1)
    part = (at - axis[above - 1]) / (axis[above] - axis[above - 1])
    return row[above - 1] + part * (row[above] - row[above - 1])


@cache
def whole() -> dict[str, Any]:
    """Return the grid of the file, which the page has too."""
    return dict(json.loads((paths.data() / "calculator" / "grid.json").read_text(encoding="utf-8")))
