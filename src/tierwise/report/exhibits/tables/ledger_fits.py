"""The statements that rest on something that was fitted."""

from typing import Final

import polars as pl

from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import tied
from tierwise.report.run import Run

UNIT: Final = "statements"


def rows(run: Run, pair: str = "") -> pl.DataFrame:  # noqa: ARG001  of all pairs
    fitted = [(one.id, one.fitted) for one in run.verdicts if one.fitted]
    return pl.DataFrame([(name, *map(tied, (one.parameter, one.on, one.left))) for name, one in fitted], orient="row")


SOURCE = rows


def tabulate(rows: pl.DataFrame) -> Cells:
    return Cells(["Claim", "Fitted", "On", "Left to be wrong"], rows.rows(), "llll")
