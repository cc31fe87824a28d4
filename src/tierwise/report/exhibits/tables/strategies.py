"""Each placement of each workload: the time of a job, and what a million jobs cost on the devices that it needs."""

from typing import Final

import polars as pl

from tierwise.advisor.strategies import rank
from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import DASH, number, seconds
from tierwise.report.run import Run
from tierwise.report.values.workloads import gather, places

UNIT: Final = "placements"
SCHEMA: Final = {
    "workload": pl.String,
    "placement": pl.String,
    "evidence": pl.String,
    "job_s": pl.Float64,
    "job_rank": pl.Int64,
    "usd_per_million": pl.Float64,
    "usd_rank": pl.Int64,
}


def rows(run: Run, pair: str) -> pl.DataFrame:  # noqa: ARG001  of all pairs
    found, named = [], places()
    for workload, every in gather(run).strategies.items():
        if len(every) > 1:
            times, costs = rank(every, lambda one: one.job_s.value), rank(every, lambda one: one.cost_per_million)
            for one in every:
                shown = (workload, named[one.name], str(one.evidence), one.job_s.value, times.get(one.name))
                found.append((*shown, one.cost_per_million, costs.get(one.name)))
    return pl.DataFrame(found, schema=SCHEMA, orient="row")


SOURCE = rows


def tabulate(rows: pl.DataFrame) -> Cells:
    seen: set[str] = set()
    cells = []
    for row in rows.rows(named=True):
        name = "" if row["workload"] in seen else row["workload"]
        seen.add(row["workload"])
        cost = DASH if row["usd_per_million"] is None else f"{number(row['usd_per_million'])} ({row['usd_rank']})"
        cells.append([name, row["placement"], f"{seconds(row['job_s'])} ({row['job_rank']})", cost])
    return Cells(["Workload", "Placement", "A job (rank)", "USD for a million jobs (rank)"], cells, "llrr")
