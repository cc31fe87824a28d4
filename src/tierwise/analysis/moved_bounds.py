"""Whether a verdict hangs on a bound that is ours.

The same intervals are held against the bound, moved by half of its distance from 1. A bound around a figure of the text moves from that.
"""

from collections.abc import Sequence
from typing import Final

from tierwise.analysis import rules
from tierwise.analysis.claims import Bounds, Claim
from tierwise.analysis.left_open import OpenMap
from tierwise.analysis.rules import CaseVerdict, Verdict
from tierwise.core.toml import Strict

NEARER: Final = 0.5
FARTHER: Final = 1.5
"""The distance of a moved bound, on the log scale, over that of the bound itself."""
BY_INTERVAL: Final = {Verdict.CONFIRMED, Verdict.CONTRADICTED, Verdict.UNDECIDED}


class Moved(Strict):
    """The bounds of a claim after a move, and the verdict that they would give."""

    bounds: tuple[float | None, float | None]
    bounds_text: str
    verdict: Verdict


class Flip(Strict):
    """What becomes of a verdict when the assumed bounds of its claim move to both sides, and whether it changes on either."""

    flips: bool
    nearer: Moved
    farther: Moved


def flip(claim: Claim, verdict: Verdict, cases: Sequence[CaseVerdict], open_map: OpenMap | None) -> Flip | None:
    """Judge the intervals of `cases` by the moved bounds of `claim`, on which the `verdict` is known.

    `None` where the bounds are the text's own, lie at 1 (a direction, which has no distance to move by), or there is no interval to hold
    against them.
    """
    bounds = claim.bounds
    if claim.bounds_how != "assumed" or bounds is None or {bounds.lower, bounds.upper} <= {None, bounds.around}:
        return None
    if verdict not in BY_INTERVAL or any(case.low is None for case in cases) or not cases:
        return None
    nearer, farther = (_moved(claim, cases, open_map, bounds.moved(exponent)) for exponent in (NEARER, FARTHER))
    return Flip(flips=bool({nearer.verdict, farther.verdict} - {verdict}), nearer=nearer, farther=farther)


def _moved(claim: Claim, cases: Sequence[CaseVerdict], open_map: OpenMap | None, bounds: Bounds) -> Moved:
    alone = [(rules.p_beyond(bounds, case.as_estimate), rules.within(bounds, case.as_estimate)) for case in cases]
    tested = zip(cases, alone, rules.after_holm(alone, Verdict.CONTRADICTED), strict=True)
    moved = [
        case.model_copy(update={"p_value": p_value, "p_holm": p_holm, "verdict": verdict})
        for case, (p_value, _), (p_holm, verdict) in tested
    ]
    outcome = rules.combine(moved, len(claim.orders or claim.cases))
    verdict, _, _ = open_map.against(bounds).outcome(outcome) if open_map else outcome
    return Moved(bounds=(bounds.lower, bounds.upper), bounds_text=str(bounds), verdict=verdict)
