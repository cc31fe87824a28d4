"""The cheapest placement of each workload and its price: on drives of today at prices of now, and on the source's at prices of then."""

from typing import Any, Final

import polars as pl

from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import DASH, number
from tierwise.report.run import Run
from tierwise.report.values.operations import cheapest, costs
from tierwise.report.values.workloads import title

UNIT: Final = "placements"
OF_RUN: Final = "prices"
OTHERS: Final = "The studies' drives"
ANY: Final = "any placement"
NEAR: Final = 1.1
"""Costs up to this ratio are not ranked (assumed): replicates and prices are not surer than that."""


def rows(run: Run, pair: str) -> pl.DataFrame:  # noqa: ARG001  of all pairs
    todays = [one for one in run.manifest.todays_pairs if one != run.manifest.reader_pair]
    whose = pl.when(pl.col("pair").is_in(todays)).then("pair").otherwise(pl.lit(OTHERS))
    every, of = costs(run), ["workload", "pair"]
    near = pl.col("shared_usd") <= NEAR * pl.col("shared_usd").min().over(of)
    by_cost = every.sort("shared_usd", maintain_order=True).with_columns(near=near).group_by(of, maintain_order=True)
    found = by_cost.agg(near=pl.col("placement").filter("near").slice(1), any=pl.col("near").all() & (pl.len() > 2))
    return cheapest(every).join(found, on=of, how="left").with_columns(whose=whose)


def tabulate(rows: pl.DataFrame) -> Cells | None:
    if rows.is_empty():
        return None
    found = {(row["operation"], row["whose"]): row for row in rows.rows(named=True)}
    groups = sorted(rows["whose"].unique(maintain_order=True), key=lambda whose: whose == OTHERS)
    cells = [
        [operation[0].upper() + operation[1:], *(_cheapest(found.get((operation, whose))) for whose in groups)]
        for operation in rows["operation"].unique(maintain_order=True)
    ]
    return Cells(["Operation", *(whose if whose == OTHERS else title(whose) for whose in groups)], cells, "l" * (len(groups) + 1))


def _cheapest(row: dict[str, Any] | None) -> str:
    if row is None:
        return DASH
    placement = ANY if row["any"] else " or ".join([row["placement"], *row["near"]])
    return f"{placement}, {number(row['shared_usd'], 2)}"
