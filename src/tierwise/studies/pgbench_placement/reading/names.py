"""Names, colours and order of what the pgbench study compares, and the rows that decide."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import polars as pl

from tierwise.analysis.deciding import mode_of
from tierwise.report import theme
from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import DASH
from tierwise.report.run import Run

STUDY: Final = "pgbench_placement"
PAIR: Final = "source-v"
PLACEMENTS: Final = {"all_hdd": "all on HDD", "index_ssd": "indexes on SSD", "table_ssd": "tables on SSD", "all_ssd": "all on SSD"}
COLOURS: Final = dict(zip(PLACEMENTS, theme.PLACEMENTS.values(), strict=True))
SHAPES: Final = {"all_hdd": "circle", "index_ssd": "diamond", "table_ssd": "square", "all_ssd": "triangle-up"}
SIZES: Final = {"large": "Almost three times the memory", "small": "Fits in memory"}
LAYOUTS: Final = {"strewn": "spread out", "recent": "adjacent", "random-keys": "adjacent, keys at random"}
"""Where popular rows lie in the table."""
Columns = Mapping[str, tuple[str, Callable[[Any], str]]]
"""Header of a table -> column of its rows, and the form of its cells."""


def decided(_: Run, __: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of the I/O mode that decides, as far as it was measured."""
    return rows.filter(io_mode=str(mode_of(STUDY, rows["io_mode"].unique())))


def panels(rows: pl.DataFrame) -> Iterator[tuple[str, str, pl.DataFrame]]:
    """Yield size, title and rows of each panel: the large set first, then by the factor by which the tiers were slowed."""
    for size, words in SIZES.items():
        for (io_mode, slowdown), part in rows.filter(size=size).sort("slowdown").group_by("io_mode", "slowdown", maintain_order=True):
            yield size, f"{words}, {io_mode} I/O{'' if slowdown == 1 else f', tiers slowed {slowdown:g}-fold'}", part


def cells(rows: pl.DataFrame, columns: Columns) -> Cells:
    """Return a table of `rows`, a dash where there is nothing."""
    shown = [[DASH if row[name] is None else form(row[name]) for name, form in columns.values()] for row in rows.rows(named=True)]
    return Cells([*columns], shown, "".join("l" if rows[name].dtype == pl.String else "r" for name, _ in columns.values()))
