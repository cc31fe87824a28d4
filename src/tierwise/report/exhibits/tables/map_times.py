"""Device time of placements that a map predicts from recorded page requests, beside emulated devices under PostgreSQL."""

from typing import Final

import polars as pl

from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import NBSP, difference, number
from tierwise.report.run import Run
from tierwise.report.values.validation import MAP, load

UNIT: Final = "points"
OF_RUN: Final = "nothing"
HEADER: Final = ("Load", "Buffers", "Both on disks", "Table on SSD", "Indexes on SSD", "Both on SSD", "Largest difference", "Order")


def rows(run: Run, pair: str) -> pl.DataFrame:  # noqa: ARG001  nothing of it hangs on a run
    return pl.DataFrame(load(*MAP)["times"])


def tabulate(rows: pl.DataFrame) -> Cells:
    cells = [
        [
            row["workload"] + (", skewed" if row["skew"] else ""),
            f"{100 * row['share']:.0f}{NBSP}%",
            *(f"{number(predicted_s)} / {number(row['seen_s'][name])}" for name, predicted_s in row["predicted_s"].items()),
            (str if row["held"] else "**{}**".format)(difference(1 + row["worst"])),
            "right" if row["order_right"] else "**wrong**",
        ]
        for row in rows.iter_rows(named=True)
    ]
    return Cells(HEADER, cells, "llrrrrrl")
