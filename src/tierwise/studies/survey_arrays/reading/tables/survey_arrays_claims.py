"""The source's statements on arrays and their cost, a line each."""

from typing import Final

import polars as pl

from tierwise.report import claim_table
from tierwise.report.run import Run

UNIT: Final = claim_table.UNIT
CLAIMS: Final = ("H1", "H2", "H3", "H8", "H12", "H13", "H20", "H21", "H22", "H23", "H24")
tabulate = claim_table.tabulate


def claims(run: Run, pair: str) -> pl.DataFrame:  # noqa: ARG001 - a verdict knows its pair
    return claim_table.claims_of(run, "H", CLAIMS)


SOURCE: Final = claims
