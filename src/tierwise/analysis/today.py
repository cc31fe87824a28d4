"""Then and now: whether what a statement says of a placement still shows on tiers of today. It is reported, and nothing is judged by it."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from tierwise.analysis import rules
from tierwise.analysis.claim_rows import Rows, series_of
from tierwise.analysis.claims import Claim, Kind
from tierwise.analysis.statistics import Estimate, geometric_estimate
from tierwise.core.toml import Strict
from tierwise.core.vocabulary import Evidence

MATTERS: Final = 1.1  # the least ratio, either way, by which a placement matters to a reader: assumed


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
    evidence: Evidence


class Shown(NamedTuple):
    """An estimate of one case on the pair of today, before it is said what it means."""

    case: str
    estimate: Estimate
    evidence: Evidence
    flagged: int = 0


class Own(NamedTuple):
    """What a study adds to a claim on the pair of today: `cases` gives, for claim, run and pair, models, prices or break-evens."""

    study: str
    cases: Callable[[Claim, Rows, str], Sequence[Shown]]


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


def today(claim: Claim, rows: Rows, own: Mapping[str, Own]) -> tuple[Today, ...]:
    """Return what each of the run's pairs of today shows of `claim`, by rows, else by its study's `own`; none without a placement."""
    return tuple(_on(claim, rows, own, pair) for pair in rows.manifest.todays_pairs) if claim.placement else ()


def _on(claim: Claim, rows: Rows, own: Mapping[str, Own], pair: str) -> Today:
    shown = _measured(claim, rows, pair)
    own_cases = own.get(claim.id)
    if own_cases:
        there = {one.case for one in shown}
        shown += [one for one in own_cases.cases(claim, rows, pair) if one.case not in there]
    study = next((case.study for case in claim.cases), own_cases.study if own_cases else None)
    cases = tuple(
        CaseToday(case=one.case, still=still(claim, one.estimate), **one.estimate.fields, flagged=one.flagged, evidence=one.evidence)
        for one in shown
    )
    return Today(pair=pair, placement=str(claim.placement), study=study, cases=cases)


def _measured(claim: Claim, rows: Rows, pair: str) -> list[Shown]:
    series = series_of(rows, claim, pair) if claim.kind in {Kind.RATIO, Kind.ORDER} else []
    return [Shown(one.case, geometric_estimate(one.values), Evidence.of(set(one.evidence_kinds)), len(one.flagged)) for one in series]


def still(claim: Claim, estimate: Estimate) -> Still:
    """Return what the whole interval of `estimate` says; an interval without a width decides nothing."""
    bounds = rules.needed_bounds(claim)
    assert bounds is not None, f"a claim of kind {claim.kind} has no side"
    if estimate.low is None or estimate.high is None or estimate.flat:
        return Still.OPEN
    above = (bounds.lower or 0.0) >= 1
    low, high = (estimate.low, estimate.high) if above else (1 / estimate.high, 1 / estimate.low)
    if low >= MATTERS:
        return Still.MATTERS
    if high <= 1 / MATTERS:
        return Still.REVERSED
    return Still.HARDLY if low > 1 / MATTERS and high < MATTERS else Still.OPEN
