"""The claims of one source as a table of its chapter: a line each."""

from collections.abc import Collection
from typing import Final

import polars as pl

from tierwise.analysis.claims import load_claims
from tierwise.analysis.judging import ClaimVerdict, decides
from tierwise.analysis.rules import CaseVerdict
from tierwise.core.vocabulary import Evidence
from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import between, count, tied
from tierwise.report.run import Run
from tierwise.report.words import bounded, marked, stamped, way_of

HEADER: Final = ["Claim", "The source says", "Found", "Verdict"]


def rows(run: Run, _pair: str, *, source: str, only: Collection[str] = ()) -> pl.DataFrame:
    """Return the claims of `source`, or `only` some of them, with what `run` says of them."""
    found = [
        (one.id, tied(one.statement) + bounded(one), _found(one), _verdict(one), str(one.evidence or Evidence.PUBLISHED))
        for one in run.judged
        if one.source == source and (not only or one.id in only)
    ]
    return pl.DataFrame(found, schema=["claim", "statement", "found", "verdict", "evidence"], orient="row")


def tabulate(rows: pl.DataFrame) -> Cells:
    return Cells(HEADER, rows.select("claim", "statement", "found", "verdict").rows(), "llll")


def _found(one: ClaimVerdict) -> str:
    """Return the estimate with its interval; of several cases the range of their estimates, or of the ends where a case has no estimate."""
    known = [values for case in one.cases if (values := _values(case))]
    if len(known) < 2:
        return stamped(one)
    values = [value for each in known for value in each]
    return f"{between(min(values), max(values), 3)} in {count(len(known))} cases" + (f", **{one.evidence}**" if one.evidence else "")


def _values(case: CaseVerdict) -> list[float]:
    chosen = (case.low, case.high) if case.estimate is None else (case.estimate,)
    return [value for value in chosen if value is not None]


def _verdict(one: ClaimVerdict) -> str:
    cause = "" if not one.cause or str(one.cause) in str(one.verdict) else f": {one.cause}"
    text = f"**{one.verdict.mark}**{cause}" if cause else marked(one.verdict)
    substitute = _substitute(one)
    return f"{text} (substitute: {substitute})" if substitute else text


def _substitute(one: ClaimVerdict) -> str:
    known = load_claims()
    (study, *_) = [case.study for claim in known.every if claim.id == one.id for case in claim.cases] or [""]
    deciding = known.deciding.get(study)
    if not one.cases or deciding is None or decides(one, deciding):
        return ""
    return way_of(one) if one.variant == deciding.variant else f"{one.variant} protocol"
