"""What other variants and I/O modes say of the statements that have several."""

from typing import Final

import polars as pl

from tierwise.analysis.judging import ClaimVerdict
from tierwise.analysis.rules import NOT_ASYNCHRONOUS
from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import DASH, number
from tierwise.report.run import Run
from tierwise.report.variants import variants
from tierwise.report.words import case_name, estimated, marked, way_of

UNIT: Final = "verdicts"
HEADER: Final = ["Claim", "Variant or I/O mode", "Found (95 % interval)", "Requests at once", "Verdict"]


def rows(run: Run, pair: str = "") -> pl.DataFrame:  # noqa: ARG001  of all pairs
    several = [(claim, shown) for claim in run.verdicts if len(shown := variants(claim)) > 1]
    found = [_row(claim, one) for claim, shown in several for one in shown]
    return pl.DataFrame(found, schema=[*HEADER, "evidence"], orient="row")


def tabulate(rows: pl.DataFrame) -> Cells:
    return Cells(HEADER, rows.select(HEADER).rows(), "lllrl")


def _row(claim: ClaimVerdict, one: ClaimVerdict) -> tuple[str | None, ...]:
    at_once = [case.outstanding for case in one.cases if case.outstanding is not None]
    least, most = (number(of(at_once)) if at_once else DASH for of in (min, max))
    requests = ", ".join([least if least == most else f"{least} to {most}", *({NOT_ASYNCHRONOUS} & set(one.conditions))])
    found = "; ".join(f"{case_name(case.case)} {estimated(case)}" for case in one.cases)
    way = way_of(one) + (" (decides)" if one is claim else "")
    return claim.id, way, found, requests, marked(one.verdict), str(one.evidence) if one.evidence else None
