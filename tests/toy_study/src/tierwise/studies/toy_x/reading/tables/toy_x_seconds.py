"""Medians of the clean searches, by tier."""

from typing import Final

import polars as pl

from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import count, number, percent

QUERY: Final = """
select tier, replicate, elapsed_s, ratio, result_rows, if(flagged, 'rejected', 'none') as flag
from toy_x where pair = $pair order by tier, replicate
"""
UNIT: Final = "searches"
PLACES: Final = {"hdd": "on disks", "ssd": "on flash"}


def tabulate(rows: pl.DataFrame) -> Cells:
    found = rows.filter(flag="none").group_by("tier", maintain_order=True).agg(pl.len(), pl.median("elapsed_s", "ratio", "result_rows"))
    return Cells(
        ["Catalog", "Searches", "Sources found", "Median, s", "Of the disks' time"],
        [[PLACES[tier], count(n), count(int(rows)), number(median_s), percent(ratio)] for tier, n, median_s, ratio, rows in found.rows()],
        "lrrrr",
    )
