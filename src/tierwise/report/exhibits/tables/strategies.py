"""Each placement of each workload: the time of a job on the source's drives, and the speed-up on the pairs of today."""

from typing import Any, Final

import polars as pl

from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import DASH, seconds, with_interval
from tierwise.report.run import Run
from tierwise.report.values.workloads import NAMES, gather, name_of, speedups, title

UNIT: Final = "placements"
SCHEMA: Final[dict[str, Any]] = {
    **dict.fromkeys(("workload", "placement", "pair", "evidence"), pl.String),
    "job_s": pl.Float64,
    "job_rank": pl.Int64,
    **dict.fromkeys(("today", "today_low", "today_high"), pl.Float64),
}


def rows(run: Run, pair: str) -> pl.DataFrame:  # noqa: ARG001  of all pairs
    gains = {one: speedups(run, one) for one in run.manifest.todays_pairs}
    found: list[tuple[Any, ...]] = []
    for workload in gather(run):
        known = {name: one for name, one in workload.measured.items() if one.estimate.value is not None}
        ordered = sorted(known, key=lambda name: known[name].estimate.value or 0.0)
        for rank, name in enumerate(ordered if len(ordered) > 1 else (), start=1):
            shown, measured = (name_of(workload), NAMES[name]), known[name]
            found.append((*shown, workload.pair, str(measured.evidence), measured.estimate.value, rank, None, None, None))
            for other, one in gains.items():
                if gain := one.get((workload.study, workload.name, name)):
                    found.append((*shown, other, str(workload.evidence), None, None, gain.value, gain.low, gain.high))
    return pl.DataFrame(found, schema=SCHEMA, orient="row")


def tabulate(rows: pl.DataFrame) -> Cells:
    own, pairs = rows.drop_nulls("job_s"), rows.drop_nulls("today")["pair"].unique(maintain_order=True).to_list()
    gains = {(row["workload"], row["placement"], row["pair"]): row for row in rows.drop_nulls("today").rows(named=True)}
    cells = [
        [
            row["workload"],
            row["placement"],
            f"{seconds(row['job_s'])} ({row['job_rank']})",
            *(_gain(gains.get((row["workload"], row["placement"], pair))) for pair in pairs),
        ]
        for row in own.rows(named=True)
    ]
    return Cells(["Workload", "Placement", "A job (rank)", *map(title, pairs)], cells, "llr" + "r" * len(pairs))


def _gain(row: dict[str, float | None] | None) -> str:
    value, low, high = (row[name] if row else None for name in ("today", "today_low", "today_high"))
    return DASH if value is None or low is None or high is None else with_interval(value, low, high)
