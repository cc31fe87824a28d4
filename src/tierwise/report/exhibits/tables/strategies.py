"""Each placement of each workload: the time of a job, what a million jobs cost on the devices that it needs, and its speed-up today."""

from typing import Final

import polars as pl

from tierwise.advisor.strategies import rank
from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import DASH, number, seconds, with_interval
from tierwise.report.run import Run
from tierwise.report.values import todays
from tierwise.report.values.workloads import NAMES, gather, name_of

UNIT: Final = "placements"
SCHEMA: Final = {
    "workload": pl.String,
    "placement": pl.String,
    "evidence": pl.String,
    "job_s": pl.Float64,
    "job_rank": pl.Int64,
    "usd_per_million": pl.Float64,
    "usd_rank": pl.Int64,
    "today": pl.Float64,
    "today_low": pl.Float64,
    "today_high": pl.Float64,
}


def rows(run: Run, pair: str) -> pl.DataFrame:  # noqa: ARG001  of all pairs
    gathered, gains, found = gather(run), todays.speedups(run), []
    of = {name_of(one): (one.study, one.name) for one in gathered.workloads}
    for workload, every in gathered.strategies.items():
        if len(every) > 1:
            times, costs = rank(every, lambda one: one.job_s.value), rank(every, lambda one: one.cost_per_million)
            for one in every:
                shown = (workload, NAMES[one.name], str(one.evidence), one.job_s.value, times.get(one.name))
                today = gains.get((*of[workload], one.name)) if workload in of else None
                ends = (today.value, today.low, today.high) if today else (None, None, None)
                found.append((*shown, one.cost_per_million, costs.get(one.name), *ends))
    return pl.DataFrame(found, schema=SCHEMA, orient="row")


SOURCE = rows


def tabulate(rows: pl.DataFrame) -> Cells:
    cells = []
    for row in rows.rows(named=True):
        cost = DASH if row["usd_per_million"] is None else f"{number(row['usd_per_million'])} ({row['usd_rank']})"
        job, low, high = f"{seconds(row['job_s'])} ({row['job_rank']})", row["today_low"], row["today_high"]
        today = DASH if low is None or high is None else with_interval(row["today"], low, high)
        cells.append([row["workload"], row["placement"], job, cost, today])
    return Cells(["Workload", "Placement", "A job (rank)", "USD for a million jobs (rank)", "Speed-up today"], cells, "llrrr")
