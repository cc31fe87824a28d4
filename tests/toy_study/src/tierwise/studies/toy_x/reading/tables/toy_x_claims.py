"""The statement of the toy's source and its verdict."""

import polars as pl

from tierwise.report.claim_table import UNIT, claims_of, tabulate
from tierwise.report.run import Run

__all__ = ["SOURCE", "UNIT", "tabulate"]


def claims(run: Run, _pair: str) -> pl.DataFrame:
    return claims_of(run, "X")


SOURCE = claims
