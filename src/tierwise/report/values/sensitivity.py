"""What the parameters that no source states do to each verdict and each headline."""

import math
from collections.abc import Iterator
from typing import Final

import polars as pl

from tierwise.analysis import rules
from tierwise.analysis.claims import Claim, load_claims
from tierwise.analysis.judging import ClaimVerdict
from tierwise.analysis.model_interval import CLAIM, Key, Shifts, shifts_of
from tierwise.analysis.rules import Verdict
from tierwise.analysis.statistics import geometric_estimate
from tierwise.report.estimates import cell
from tierwise.report.formats import DASH, interval, percent
from tierwise.report.run import Run
from tierwise.report.values.front import headlines_of
from tierwise.report.words import case_name, estimated

COLUMNS: Final = ("of", "case", "replicates", "model", "largest", "before", "verdict", "evidence")
ABSENT: Final = "not computed"


def rows(run: Run) -> pl.DataFrame:
    """Return a row for each statement with an interval, by the case that decides, and one for each ratio of the first page."""
    judged = zip(load_claims().claims, run.verdicts, strict=True)
    of_claims = filter(None, (_of_claim(*both) for both in judged))
    return pl.DataFrame([*of_claims, *_of_headlines(run)], schema=dict.fromkeys(COLUMNS, pl.String))


def by_replicates(claim: Claim, now: ClaimVerdict) -> Verdict:
    if all(case.by_replicates is None for case in now.cases):
        return now.verdict
    before = [case.model_copy(update={"verdict": case.by_replicates or case.verdict}) for case in now.cases]
    found = rules.combine(before, len(claim.orders or claim.cases))[0]
    return now.open_map.outcome((found, None, ""))[0] if now.open_map else found


def _of_claim(claim: Claim, now: ClaimVerdict) -> dict[str, str] | None:
    case = next((one for one in now.cases if one.case == now.deciding_case and one.low is not None), None)
    if case is None:
        return None
    known = case.model_low is not None and case.model_high is not None
    shifts = shifts_of(Key(now.pair, CLAIM, now.id, case.case, now.variant, str(case.io_mode)))
    return {
        "of": now.id,
        "case": case_name(case.case) if len(now.cases) > 1 else "",
        "replicates": estimated(case),
        "model": interval(case.model_low or 0.0, case.model_high or math.inf) if known else ABSENT,
        "largest": _largest(shifts),
        "before": by_replicates(claim, now).mark,
        "verdict": f"**{now.verdict.mark}**",
        "evidence": str(now.evidence or ""),
    }


def _of_headlines(run: Run) -> Iterator[dict[str, str]]:
    headlines = (one for record in run.manifest.studies for one in headlines_of(run, record.name, record.pair))
    for key, ratios in headlines:
        estimate, shifts = geometric_estimate(ratios), shifts_of(key)
        if estimate.interval:
            yield {
                "of": f"{key.name}, {key.pair}",
                "case": key.case,
                "replicates": cell(estimate),
                "model": interval(*shifts.widened(*estimate.interval)) if shifts else ABSENT,
                "largest": _largest(shifts),
                "before": DASH,
                "verdict": DASH,
                "evidence": str(run.evidence(key.pair) or ""),
            }


def _largest(shifts: Shifts | None) -> str:
    return DASH if shifts is None else f"`{shifts.largest}` ({percent(abs(math.expm1(shifts.largest_shift)))})"
