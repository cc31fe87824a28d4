"""The statements of the census study and their verdicts."""

from typing import Final

import polars as pl

from tierwise.report import claim_table
from tierwise.report.run import Run

UNIT: Final = claim_table.UNIT
tabulate = claim_table.tabulate


def claims(run: Run, _: str) -> pl.DataFrame:
    return claim_table.claims_of(run, "M")


SOURCE: Final = claims
