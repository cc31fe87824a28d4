"""For each statement that is judged its quotation, its bounds, and what becomes of the verdict when assumed bounds move by half."""

from typing import Final

import polars as pl

from tierwise.report.exhibit_registry import Cells
from tierwise.report.run import Run
from tierwise.report.words import bounds, flipped, quoted

UNIT: Final = "statements"


def rows(run: Run, pair: str = "") -> pl.DataFrame:  # noqa: ARG001  of all pairs
    judged = [claim for claim in run.verdicts if claim.unjudged is None]
    return pl.DataFrame([(one.id, quoted(one), bounds(one), f"**{one.verdict.mark}**", flipped(one)) for one in judged], orient="row")


SOURCE = rows


def tabulate(rows: pl.DataFrame) -> Cells:
    return Cells(["Claim", "Quotation", "Bounds", "Verdict", "Bounds moved by half"], rows.rows(), "lllll")
