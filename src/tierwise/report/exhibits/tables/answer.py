"""The answer: for each workload what to move to the SSD, and how much faster it is then, on the source's drives and on those of today."""

from typing import Final

import polars as pl

from tierwise.analysis.model_interval import Key
from tierwise.report.estimates import cell
from tierwise.report.exhibit_registry import Cells
from tierwise.report.reference import open_reference
from tierwise.report.run import Run
from tierwise.report.values.front import advice, speedups, todays
from tierwise.report.values.headlines import SPEEDUP, beside

UNIT: Final = "paired replicates"
HEADER: Final = ["Workload", "Move first", "Speed-up"]
NOT_COMPARABLE: Final = "not comparable"
"""The workload was not measured on these drives, or they were slowed by another factor."""


def rows(run: Run, pair: str) -> pl.DataFrame:  # noqa: ARG001  of all pairs
    """Return the rows of `front.speedups` with `whose`: the source's drives, those of today, or the reference run's."""
    reference = None if run.is_reference else open_reference()
    parts = {"source": speedups(run), "today": todays(run), "reference": speedups(reference) if reference else speedups(run).clear()}
    return pl.concat(part.with_columns(whose=pl.lit(whose), flag=pl.lit("none")) for whose, part in parts.items())


SOURCE = rows


def tabulate(rows: pl.DataFrame) -> Cells | None:
    own = rows.filter(whose="source")
    if own.is_empty():
        return None
    groups = {whose: part for (whose,), part in rows.group_by("whose", maintain_order=True)}
    others = [whose for whose in ("today", "reference") if whose in groups]
    workloads = own["workload"].unique(maintain_order=True)
    cells = [[name, *_advice(own, name), *(" ".join(_advice(groups[whose], name)).strip() for whose in others)] for name in workloads]
    return Cells(
        [*HEADER, *({"today": "On drives of today", "reference": "The reference run"}[whose] for whose in others)],
        cells,
        "llr" + "l" * len(others),
    )


def _advice(rows: pl.DataFrame, workload: str) -> tuple[str, str]:
    found = rows.filter(workload=workload)
    best = advice(found) if found.height else NOT_COMPARABLE
    if isinstance(best, str):
        return best, ""
    key = Key(found["pair"][0], SPEEDUP, workload, best[0], "", found["io_mode"][0])
    return best[0], cell(best[1]) + beside(key, best[1])
