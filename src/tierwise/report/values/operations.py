"""What a thousand operations a second cost a month on each placement of each workload, on the sources' pairs and those of today."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

import polars as pl

from tierwise.advisor.operations import Operated, day_of, operated, priced
from tierwise.advisor.ranking import names_of, placed
from tierwise.report import study_registry
from tierwise.report.prices import book_of
from tierwise.report.run import Run
from tierwise.report.values.workloads import named_workloads

SCHEMA: Final[dict[str, Any]] = {
    **dict.fromkeys(("workload", "operation", "pair", "evidence"), pl.String),
    "day": pl.Date,
    "placement": pl.String,
    **dict.fromkeys(("shared_usd", "whole_usd"), pl.Float64),
}


@lru_cache(maxsize=8)  # two pages and the paper show them
def costs(run: Run) -> pl.DataFrame:
    """Return a row a placement: USD a month at its share of everything, and with whole machines and drives; null without a price."""
    rows = []
    for only in (None, *run.manifest.todays_pairs):
        for found in _operated(run, only):
            day = day_of(found.pair, book_of(run)).on
            of = (found.workload, found.operation, found.pair, str(found.evidence), day)
            rows += [(*of, one.placement, one.shared, one.whole) for one in priced(found, book_of(run))]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row").unique(["workload", "pair", "placement"], keep="first", maintain_order=True)


def cheapest(rows: pl.DataFrame) -> pl.DataFrame:
    least = pl.col("shared_usd").min().over("workload", "pair")
    return rows.filter(pl.col("shared_usd") == least).unique(["workload", "pair"], keep="first", maintain_order=True)


def _operated(run: Run, only: str | None) -> Iterator[Operated]:
    for name, workload in named_workloads(run, only):
        yield operated(workload, name, names_of(workload, "operations"), placed)
    for _, module in study_registry.named("log_moves"):
        yield from module.operated(run, only)
