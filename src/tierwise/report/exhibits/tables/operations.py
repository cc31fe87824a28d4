"""What a thousand operations a second cost a month on each placement of each workload."""

from typing import Final

import polars as pl

from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import DASH, number
from tierwise.report.run import Run
from tierwise.report.values.operations import costs

UNIT: Final = "placements"
OF_RUN: Final = "prices"
HEADER: Final = ["Operation", "Pair", "Prices of", "On the SSD", "USD, at its share", "USD, whole drives and servers"]


def rows(run: Run, pair: str) -> pl.DataFrame:  # noqa: ARG001  of all pairs
    return costs(run)


def tabulate(rows: pl.DataFrame) -> Cells:
    cells = [
        [
            row["operation"],
            f"`{row['pair']}`",
            f"{row['day']:%Y-%m-%d}",
            row["placement"],
            *(DASH if row[name] is None else number(row[name], 3) for name in ("shared_usd", "whole_usd")),
        ]
        for row in rows.rows(named=True)
    ]
    return Cells(HEADER, cells, "llllrr")
