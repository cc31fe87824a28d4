"""The statements that are reported and not judged, and why."""

from typing import Final

import polars as pl

from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import tied
from tierwise.report.run import Run
from tierwise.report.words import quoted

UNIT: Final = "statements"


def rows(run: Run, pair: str = "") -> pl.DataFrame:  # noqa: ARG001  of all pairs
    return pl.DataFrame([(one.id, quoted(one), tied(one.unjudged)) for one in run.verdicts if one.unjudged], orient="row")


SOURCE = rows


def tabulate(rows: pl.DataFrame) -> Cells:
    return Cells(["Claim", "Quotation", "Why it is not judged"], rows.rows(), "lll")
