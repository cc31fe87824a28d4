"""Then and now: whether what a statement says of a placement still shows on tiers of today. It is reported, and nothing is judged by it."""

from enum import StrEnum
from typing import Final

from tierwise.analysis import evidence, rules
from tierwise.analysis.claims import Claim, Kind
from tierwise.analysis.judging import Rows
from tierwise.analysis.statistics import Estimate, geometric_estimate
from tierwise.core.toml import Strict
from tierwise.core.words import Substrate

MATTERS: Final = 1.1
"""The least ratio, either way, by which a placement matters to a reader: assumed."""


class Still(StrEnum):
    """What became of a rule, by the whole interval of a ratio."""

    MATTERS = "still matters"
    HARDLY = "hardly matters"
    REVERSED = "is the other way round"
    OPEN = "is open"


class CaseToday(Strict):
    """One case of a claim, or one ratio that its order needs."""

    case: str
    still: Still
    estimate: float | None
    low: float | None
    high: float | None
    pairs: int
    flagged: int
    substrate: Substrate


class Today(Strict):
    """What the rows of `study` on `pair` say of the placement that a claim speaks for; no cases: nothing of it was measured there."""

    pair: str
    placement: str
    study: str | None
    cases: tuple[CaseToday, ...]

    @property
    def nearest(self) -> CaseToday:
        """Return the case in which the placement makes the least difference; one without an estimate comes first."""
        return min(self.cases, key=lambda case: 0.0 if case.estimate is None else max(case.estimate, 1 / case.estimate))


def today(claim: Claim, rows: Rows) -> Today | None:
    """Return what the run's pair of today says of `claim`; `None` where the run has no such pair, or no placement is in question."""
    pair = rows.manifest.todays_pair
    if pair is None or claim.placement is None:
        return None
    series = evidence.series_of(rows.connection, claim, pair) if claim.kind in {Kind.RATIO, Kind.ORDER} else []
    found = [(one, geometric_estimate(list(one.values.values()))) for one in series]
    return Today(
        pair=pair,
        placement=claim.placement,
        study=next((case.study for case in claim.cases), None),
        cases=tuple(
            CaseToday(
                case=one.case,
                still=still(claim, estimate),
                estimate=estimate.value,
                low=estimate.low,
                high=estimate.high,
                pairs=estimate.repeats,
                flagged=len(one.flagged),
                substrate=Substrate.of(set(one.substrates)),
            )
            for one, estimate in found
        ),
    )


def still(claim: Claim, estimate: Estimate) -> Still:
    """Return what `estimate` says of the side of 1 on which `claim` has its ratios."""
    bounds = rules.needed_bounds(claim)
    assert bounds is not None, f"a claim of kind {claim.kind} has no side"
    if estimate.low is None or estimate.high is None:
        return Still.OPEN
    above = (bounds.lower or 0.0) >= 1
    low, high = (estimate.low, estimate.high) if above else (1 / estimate.high, 1 / estimate.low)
    if low >= MATTERS:
        return Still.MATTERS
    if high <= 1 / MATTERS:
        return Still.REVERSED
    return Still.HARDLY if low > 1 / MATTERS and high < MATTERS else Still.OPEN
