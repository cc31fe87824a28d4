"""The statements whose rule was changed after results had been seen, with the verdict under either rule."""

from typing import Final

import polars as pl

from tierwise.analysis.claims import load_claims
from tierwise.analysis.earlier_rules import verdict_before
from tierwise.analysis.moved_bounds import BY_INTERVAL
from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import DASH
from tierwise.report.run import Run
from tierwise.report.words import marked

UNIT: Final = "statements"
EACH_ALONE: Final = "each interval alone"
"""The rule of before of the statements that have none of their own: no correction for the number of cases, and all I/O modes agree."""


def rows(run: Run, pair: str = "") -> pl.DataFrame:  # noqa: ARG001  of all pairs
    found = []
    for claim, now in zip(load_claims().claims, run.verdicts, strict=True):
        then = verdict_before(run.store, claim, now)
        if claim.before or (then is not None and then is not now.verdict and now.verdict in BY_INTERVAL):
            found.append((claim.id, claim.before.rule if claim.before else EACH_ALONE, marked(then) if then else DASH, marked(now)))
    return pl.DataFrame(found, orient="row")


SOURCE = rows


def tabulate(rows: pl.DataFrame) -> Cells:
    return Cells(["Claim", "Rule before", "Verdict under it", "Verdict now"], rows.rows(), "llll")
