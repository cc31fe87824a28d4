"""Misses that a map's replay finds from recorded page requests, beside PostgreSQL's own reads."""

from typing import Final

import polars as pl

from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import NBSP, count, difference
from tierwise.report.run import Run
from tierwise.report.values.validation import MAP, load

UNIT: Final = "relations"
OF_RUN: Final = "nothing"


def rows(run: Run, pair: str) -> pl.DataFrame:  # noqa: ARG001  nothing of it hangs on a run
    return pl.DataFrame(load(*MAP)["rows"])


def tabulate(rows: pl.DataFrame) -> Cells:
    cells = [
        [
            f"{100 * row['share']:.0f}{NBSP}%",
            row["relation"],
            *(count(row[name]) for name in ("requests", "lru_misses", "replayed_misses", "reads")),
            (str if row["held"] else "**{}**".format)(difference(row["replayed_misses"] / max(1, row["reads"]))),
        ]
        for row in rows.iter_rows(named=True)
    ]
    return Cells(["Buffers", "Relation", "Requests", "LRU misses", "Replayed", "PostgreSQL's reads", "Difference"], cells, "llrrrrr")
