"""The statements with another verdict than in the reference run."""

from typing import Final

import polars as pl

from tierwise.report.exhibit_registry import Cells
from tierwise.report.reference import beside_reference
from tierwise.report.run import Run
from tierwise.report.words import marked, stamped

UNIT: Final = "statements"


def rows(run: Run, pair: str) -> pl.DataFrame:  # noqa: ARG001  of the whole run
    found = beside_reference(run)
    differing = found.differing if found else []
    cells = [(one.ours.id, *(f"{marked(claim)}; {stamped(claim)}" for claim in (one.ours, one.theirs))) for one in differing]
    return pl.DataFrame(cells, schema=["claim", "ours", "theirs"], orient="row")


SOURCE = rows


def tabulate(rows: pl.DataFrame) -> Cells:
    return Cells(["Claim", "This run", "Reference run"], rows.rows(), "lll")
