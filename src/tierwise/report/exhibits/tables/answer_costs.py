"""The cheapest placement of each workload and its price: on drives of today at prices of now, and on the source's at prices of then."""

from typing import Final

import polars as pl

from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import DASH, number
from tierwise.report.run import Run
from tierwise.report.values.operations import cheapest, costs
from tierwise.report.values.todays import title

UNIT: Final = "placements"
OF_RUN: Final = "prices"
OTHERS: Final = "The studies' drives"


def rows(run: Run, pair: str) -> pl.DataFrame:  # noqa: ARG001  of all pairs
    todays = [one for one in run.manifest.todays_pairs if one != run.manifest.reader_pair]
    whose = pl.when(pl.col("pair").is_in(todays)).then("pair").otherwise(pl.lit(OTHERS))
    return cheapest(costs(run)).with_columns(whose=whose)


def tabulate(rows: pl.DataFrame) -> Cells | None:
    if rows.is_empty():
        return None
    found = {(row["workload"], row["whose"]): row for row in rows.rows(named=True)}
    groups = sorted(rows["whose"].unique(maintain_order=True), key=lambda whose: whose == OTHERS)
    operations = dict(rows.select("workload", "operation").rows())
    cells = [
        [operation[0].upper() + operation[1:], *(_cheapest(found.get((workload, whose))) for whose in groups)]
        for workload, operation in operations.items()
    ]
    return Cells(
        ["1,000 a second, USD a month", *(whose if whose == OTHERS else title(whose) for whose in groups)], cells, "l" * (len(groups) + 1)
    )


def _cheapest(row: dict[str, object] | None) -> str:
    return f"{row['placement']}, {number(float(str(row['shared_usd'])), 2)}" if row else DASH
