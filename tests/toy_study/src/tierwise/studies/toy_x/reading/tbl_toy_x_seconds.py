"""Medians of the searches by tier."""

from typing import Final

import polars as pl

from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import count, number, percent

QUERY: Final = """
select tier, count(*) as n, median(elapsed_s) as median_s, median(ratio) as ratio, median(result_rows) as found
from toy_x where pair = $pair and not flagged group by tier having enough(elapsed_s) order by tier
"""
UNIT: Final = "searches"
PLACES: Final = {"hdd": "on disks", "ssd": "on flash"}


def facts(rows: pl.DataFrame) -> dict[str, int]:
    return {"n": int(rows["n"].sum())}


def tabulate(rows: pl.DataFrame) -> Cells:
    cells = [
        [PLACES[row["tier"]], count(row["n"]), count(int(row["found"])), number(row["median_s"]), percent(row["ratio"])]
        for row in rows.rows(named=True)
    ]
    return Cells(["Catalog", "Searches", "Sources found", "Median, s", "Of the disks' time"], cells, "lrrrr")
