"""Every statement with its quotation and its cases, and what could change its verdict."""

from collections.abc import Iterator
from typing import Final

import polars as pl

from tierwise.analysis.judging import ClaimVerdict
from tierwise.core.vocabulary import Evidence
from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import count, tied
from tierwise.report.run import Run
from tierwise.report.words import case_name, estimated, marked, quoted, tested

UNIT: Final = "statements and cases"
HEADER: Final = {
    "claim": "Claim",
    "said": "Quotation, and its cases",
    "found": "Found (95 % interval)",
    "replicates": "Replicates",
    "p": "p; after Holm",
    "verdict": "Verdict, and what could change it",
}


def rows(run: Run, pair: str = "") -> pl.DataFrame:  # noqa: ARG001  of all pairs
    found: list[dict[str, str]] = []
    for now in run.verdicts:
        of = {"claim": now.id, "evidence": str(now.evidence or Evidence.PUBLISHED)}
        one, several = (now.cases[0] if len(now.cases) == 1 else None), now.cases if len(now.cases) > 1 else ()
        found.append(
            {
                **of,
                "said": quoted(now),
                "found": "" if several else estimated(one or now),
                "replicates": count(one.pairs) if one else "",
                "p": tested(one) if one else "",
                "verdict": "; ".join([f"**{now.verdict.mark}**", *_otherwise(now)]),
            }
        )
        found += [
            {
                **of,
                "said": case_name(case.case),
                "found": estimated(case),
                "replicates": count(case.pairs),
                "p": tested(case),
                "verdict": marked(case.verdict),
            }
            for case in several
        ]
    return pl.DataFrame(found)


def tabulate(rows: pl.DataFrame) -> Cells:
    return Cells([*HEADER.values()], rows.select(*HEADER).rows(), "lllrrl")


def _otherwise(now: ClaimVerdict) -> Iterator[str]:
    if now.unjudged:
        yield tied(now.unjudged)
        return
    if now.certain:
        yield tied(f"certain before the run: {now.certain}")
    if now.fitted:
        yield tied(f"fit: {now.fitted.parameter}, to {now.fitted.on}; left open: {now.fitted.left}")
