"""Hits of a least-recently-used page cache on a published trace, published and simulated."""

from typing import Final

import polars as pl

from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import NBSP, count
from tierwise.report.run import Run
from tierwise.report.values.validation import MODELS, load

UNIT: Final = "cache sizes"


def rows(run: Run, pair: str) -> pl.DataFrame:  # noqa: ARG001  nothing of it hangs on a run
    return pl.DataFrame(load(*MODELS)["caches"])


SOURCE = rows


def tabulate(rows: pl.DataFrame) -> Cells:
    return Cells(
        ["Pages", "Published hits", "Simulated hits", "Misses", "Requests"],
        [
            [
                count(row["pages"]),
                f"{row['published_hit_percent']:.2f}{NBSP}%",
                f"{100 * row['hit_ratio']:.2f}{NBSP}%",
                count(row["misses"]),
                count(row["requests"]),
            ]
            for row in rows.rows(named=True)
        ],
        "rrrrr",
    )
