"""The source's statements on placement, a line each."""

from typing import Final

import polars as pl

from tierwise.report import claim_table
from tierwise.report.run import Run

UNIT: Final = claim_table.UNIT
CLAIMS: Final = ("H4", "H5", "H6", "H7", "H9", "H10", "H11", "H14", "H19", "H26")
tabulate = claim_table.tabulate


def claims(run: Run, pair: str) -> pl.DataFrame:  # noqa: ARG001 - a verdict knows its pair
    return claim_table.claims_of(run, "H", CLAIMS)


SOURCE: Final = claims
