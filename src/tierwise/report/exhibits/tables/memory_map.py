"""What memory, placement and money give together: misses, how much faster each placement is, and what it costs."""

from typing import Final

import polars as pl

from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import NBSP, number
from tierwise.report.run import Run
from tierwise.report.values.validation import MAP, gain_per_dollar, load

UNIT: Final = "sizes of memory"
OF_RUN: Final = "nothing"
HEADER: Final = (
    "Load",
    "RAM",
    "Table misses",
    "Index misses",
    "Table on SSD",
    "Index on SSD",
    "Cost: disk",
    "Table on SSD",
    "Index on SSD",
    "First per dollar",
    "RAM pays from",
)


def rows(run: Run, pair: str) -> pl.DataFrame:  # noqa: ARG001  nothing of it hangs on a run
    return pl.DataFrame(load(*MAP)["maps"])


def tabulate(rows: pl.DataFrame) -> Cells:
    cells = []
    for row in rows.iter_rows(named=True):
        faster = {name: row["disk_s"] / row[f"{name}_s"] for name in ("table_ssd", "index_ssd")}
        first = max(faster, key=faster.__getitem__)
        cells.append(
            [
                row["load"],
                f"{100 * row['share']:.0f}{NBSP}%",
                *(number(1000 * row[name] / row["requests"]) for name in ("table_misses", "index_misses")),
                *(f"**{number(ratio)}**" if name == first else number(ratio) for name, ratio in faster.items()),
                *(number(row[f"{name}_cost"]) for name in ("disk", "table_ssd", "index_ssd")),
                max(("table", "index"), key=lambda relation: gain_per_dollar(row, relation)),
                "" if row["ram_pays_from"] is None else number(row["ram_pays_from"]),
            ]
        )
    return Cells(HEADER, cells, "lrrrrrrrrlr")
