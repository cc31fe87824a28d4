"""The claims of the latency study and their verdicts."""

import polars as pl

from tierwise.report.claim_table import UNIT, claims_of, tabulate
from tierwise.report.run import Run
from tierwise.studies.read_latency.reading.names import SOURCE_ID

__all__ = ["SOURCE", "UNIT", "tabulate"]


def claims(run: Run, _pair: str) -> pl.DataFrame:
    return claims_of(run, SOURCE_ID)


SOURCE = claims
