"""Stated times that no rate compares, and why."""

from typing import Final

import polars as pl

from tierwise.analysis.claims import load_claims
from tierwise.analysis.rates import load_rates
from tierwise.report.exhibit_registry import Cells
from tierwise.report.run import Run

UNIT: Final = "stated times"
OF_RUN: Final = "nothing"


def rows(run: Run, pair: str = "") -> pl.DataFrame:  # noqa: ARG001  nothing of it hangs on a run
    sources = load_claims().sources
    return pl.DataFrame([{**one.model_dump(), "source": sources[one.source].author} for one in load_rates().left_out])


def tabulate(rows: pl.DataFrame) -> Cells:
    return Cells(["Source", "Stated", "Why it is left out"], rows.select("source", "stated", "why").rows(), "lll")
