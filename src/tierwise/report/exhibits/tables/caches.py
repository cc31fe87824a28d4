"""Hits of a least-recently-used page cache on a published trace, published and simulated."""

from typing import Final

import polars as pl

from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import NBSP, count
from tierwise.report.run import Run
from tierwise.report.values.validation import MODELS, load

UNIT: Final = "cache sizes"
OF_RUN: Final = "nothing"


def rows(run: Run, pair: str) -> pl.DataFrame:  # noqa: ARG001  nothing of it hangs on a run
    return pl.DataFrame(load(*MODELS)["caches"]).select("pages", "published_hit_percent", "hit_ratio", "misses", "requests")


def tabulate(rows: pl.DataFrame) -> Cells:
    cells = [
        [count(pages), f"{published:.2f}{NBSP}%", f"{100 * simulated:.2f}{NBSP}%", count(misses), count(requests)]
        for pages, published, simulated, misses, requests in rows.rows()
    ]
    return Cells(["Pages", "Published hits", "Simulated hits", "Misses", "Requests"], cells, "rrrrr")
