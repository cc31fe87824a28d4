"""What is one-sided or assumed in a judged statement, and whether its rule is newer than the run or was chosen after results."""

from typing import Final

import polars as pl

from tierwise.analysis.claims import load_claims
from tierwise.analysis.rule_marks import changes_of, marks_of
from tierwise.analysis.rules import Verdict, one_sided
from tierwise.core.vocabulary import Evidence
from tierwise.report.exhibit_registry import Cells
from tierwise.report.run import Run
from tierwise.report.words import bounds

UNIT: Final = "statements"
HEADER: Final = ["Claim", "Verdict", "Bounds", "One-sided", "Assumed", "After results", "Newer than the run"]
YES: Final = "yes"


def rows(run: Run, pair: str = "") -> pl.DataFrame:  # noqa: ARG001  of all pairs
    found = []
    for claim, now in zip(load_claims().claims, run.verdicts, strict=True):
        if now.verdict is Verdict.REPORTED:
            continue
        marks = marks_of(claim, run.manifest)
        assumed = [name for name, there in (("bounds", claim.bounds_how == "assumed"), ("fitted", claim.fitted is not None)) if there]
        days = sorted({f"{change.day:%d %b}" for change in changes_of(claim) if change.seen})
        found.append(
            {
                "claim": now.id,
                "verdict": now.verdict.mark,
                "bounds": bounds(now),
                "one_sided": YES if one_sided(claim) else "",
                "assumed": ", ".join(assumed),
                "after": ", ".join(days),
                "newer": YES if marks["rule_newer"] else "",
                "evidence": str(now.evidence or Evidence.PUBLISHED),
            }
        )
    return pl.DataFrame(found)


def tabulate(rows: pl.DataFrame) -> Cells:
    return Cells(HEADER, rows.drop("evidence").rows(), "lllllll")
