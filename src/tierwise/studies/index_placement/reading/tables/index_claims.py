"""The statements of the census study, what was found, and the verdicts."""

from typing import Any, Final

import polars as pl

from tierwise.analysis.judging import ClaimVerdict
from tierwise.analysis.rules import Verdict
from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import DASH, between, interval, tied
from tierwise.report.run import Run
from tierwise.report.words import marked

UNIT: Final = "statements"
HEADER: Final = ["Claim", "What the source says", "Found", "Verdict"]
ELSEWHERE: Final = {"M6": "@tbl-planner", "M10": "@tbl-sizes"}
"""Statement without a value -> the table that has what was found."""


def rows(run: Run, pair: str) -> pl.DataFrame:  # noqa: ARG001  verdicts are of the source's pair
    return pl.DataFrame([_row(claim) for claim in run.verdicts if claim.source == "M"], infer_schema_length=None)


SOURCE = rows


def _row(claim: ClaimVerdict) -> dict[str, Any]:
    """Return a statement with the range of its cases' estimates and the ends of all their intervals."""
    values, lows, highs = (
        [value for case in claim.cases if (value := getattr(case, name)) is not None] for name in ("estimate", "low", "high")
    )
    return {
        **{name: str(getattr(claim, name) or "") for name in ("id", "statement", "cause", "verdict")},
        "here": str(claim.here.verdict) if claim.here else None,
        "found": [min(values), max(values), min(lows), max(highs)] if lows and highs else None,
    }


def facts(rows: pl.DataFrame) -> dict[str, object]:
    words = (Verdict.CONFIRMED, Verdict.CONTRADICTED, Verdict.UNDECIDED)
    return {str(word): rows.filter(verdict=str(word)).height for word in words}


def tabulate(rows: pl.DataFrame) -> Cells:
    here = ["On your pair"] if rows["here"].is_not_null().any() else []
    return Cells([*HEADER, *here], [_cells(row)[: 4 + len(here)] for row in rows.rows(named=True)], "l" * (4 + len(here)))


def _cells(row: dict[str, Any]) -> list[str]:
    least, most, low, high = row["found"] or [None] * 4
    found = ELSEWHERE.get(row["id"], row["cause"] or DASH) if least is None else f"{between(least, most, 3)} ({interval(low, high)})"
    verdict, here = (marked(Verdict(word)) if word else DASH for word in (row["verdict"], row["here"]))
    return [row["id"], tied(row["statement"]), found, verdict, here]
