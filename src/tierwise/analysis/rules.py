"""The rules by which observations become a verdict; no file is read here.

Confirmed: the whole interval lies inside the bounds. Contradicted: it lies wholly outside. Else undecided. Of several
cases all must be inside, and one wholly outside contradicts. Where both ways of I/O were measured they must agree.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from tierwise.analysis.claims import Bounds, Claim, Kind
from tierwise.analysis.open_claims import Cause
from tierwise.analysis.statistics import MINIMUM_REPEATS, Estimate, enough, geometric_estimate, paired_ratios
from tierwise.core.toml import Strict
from tierwise.core.words import IoArm, Substrate

ABOVE_ONE: Final = Bounds(lower=1.0, strict=True)
"""The side on which every ratio of an order must lie that has no bounds of its own."""


class Verdict(Enum):
    """The outcomes, in the report's words; no string, so that none is compared with one."""

    CONFIRMED = "confirmed"
    CONTRADICTED = "contradicted"
    UNDECIDED = "undecided"
    NOT_MEASURED = "not measured"
    REPORTED = "reported"
    MIXED = "no verdict: mixed substrates"
    INPUT = "not testable: it is an input"

    @property
    def mark(self) -> str:
        """Return what the report sets in bold."""
        return {Verdict.MIXED: "no verdict", Verdict.INPUT: "not testable"}.get(self, self.value)

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Series:
    """The values of one case in one arm, by block; flagged blocks are counted and hold no value."""

    case: str
    arm: IoArm
    substrates: frozenset[Substrate]
    values: Mapping[int, float]
    flagged: frozenset[int] = frozenset()
    conditions: frozenset[str] = frozenset()  # what the values were found under
    obstacles: frozenset[str] = frozenset()  # why blocks are flagged


class CaseVerdict(Strict):
    """One case in one arm, or one ratio that an order needs."""

    case: str
    arm: IoArm
    substrate: Substrate
    estimate: float | None
    low: float | None
    high: float | None
    pairs: int
    flagged: int
    conditions: tuple[str, ...] = ()
    obstacles: tuple[str, ...] = ()
    verdict: Verdict


def needed_bounds(claim: Claim) -> Bounds | None:
    """Return what every interval of `claim` is held against; none for presence and shapes."""
    return claim.bounds or ABOVE_ONE if claim.kind is Kind.ORDER else claim.bounds


def order_series(greater: Series, than: Series) -> Series:
    """Return the ratio of two cases of one arm, block by block."""
    flagged = greater.flagged | than.flagged
    ratios = paired_ratios(greater.values, than.values)
    return Series(
        f"{greater.case}/{than.case}",
        greater.arm,
        greater.substrates | than.substrates,
        ratios,
        flagged,
        greater.conditions | than.conditions,
        greater.obstacles | than.obstacles,
    )


def judge_series(claim: Claim, series: Series, withheld: Verdict | None = None) -> CaseVerdict:
    """Estimate and verdict of one series; `withheld` takes the verdict's place where there may be none."""
    values = list(series.values.values())
    if claim.kind is Kind.PRESENCE:
        estimate = Estimate(sum(values) / len(values) if enough(len(values)) else None, None, None, len(values))
        verdict = _presence(values)
    else:
        estimate = geometric_estimate(series.values)
        bounds = needed_bounds(claim)
        assert bounds is not None, f"a claim of kind {claim.kind} has no bounds to judge by"
        verdict = within(bounds, estimate)
    return CaseVerdict(
        case=series.case,
        arm=series.arm,
        substrate=Substrate.of(set(series.substrates)),
        estimate=estimate.value,
        low=estimate.low,
        high=estimate.high,
        pairs=estimate.repeats,
        flagged=len(series.flagged),
        conditions=tuple(sorted(series.conditions)),
        obstacles=tuple(sorted(series.obstacles)),
        verdict=withheld or verdict,
    )


@dataclass(frozen=True, slots=True)
class Outcome:
    """A verdict; where it is undecided, its cause and the reason in words."""

    verdict: Verdict
    cause: Cause | None = None
    reason: str = ""


def combine(cases: Sequence[CaseVerdict], expected: int) -> Outcome:
    """Return the verdict of a claim that speaks of `expected` cases.

    `cases` are those that were measured, in one arm at least.
    """
    arms = sorted({case.arm for case in cases})
    by_arm = {arm: _of_arm([case for case in cases if case.arm is arm], expected) for arm in arms}
    if len({outcome.verdict for outcome in by_arm.values()}) == 1:
        return by_arm[arms[0]]
    told = ", ".join(f"{arm} {outcome.verdict}" for arm, outcome in by_arm.items())
    return Outcome(Verdict.UNDECIDED, Cause.DISAGREE, f"{Cause.DISAGREE}: {told}")


def deciding(cases: Sequence[CaseVerdict], bounds: Bounds | None) -> CaseVerdict:
    """Return the one of `cases` on which the verdict hangs: the furthest outside `bounds`, else that with the widest interval."""
    rank = {Verdict.CONTRADICTED: 2, Verdict.CONFIRMED: 0}

    def weight(case: CaseVerdict) -> tuple[int, float, float]:
        width = math.log(case.high / case.low) if case.low is not None and case.high is not None else math.inf
        return rank.get(case.verdict, 1), _distance(bounds, case.estimate), width

    return max(cases, key=weight)


def _of_arm(cases: Sequence[CaseVerdict], expected: int) -> Outcome:
    verdicts = {case.verdict for case in cases}
    if Verdict.CONTRADICTED in verdicts:
        return Outcome(Verdict.CONTRADICTED)
    if len(cases) == expected and len(verdicts) == 1 and Verdict.UNDECIDED not in verdicts:
        return Outcome(verdicts.pop())
    few = [case for case in cases if not enough(case.pairs)]
    if few:
        return _of_few(min(few, key=lambda case: case.pairs))
    crossing = [case for case in cases if case.verdict is Verdict.UNDECIDED]
    if not crossing:
        return Outcome(Verdict.UNDECIDED, Cause.MISSING, f"{len(cases)} of {expected} cases were measured")
    named = ", ".join(case.case for case in crossing)
    if all(case.low is None for case in crossing):
        return Outcome(Verdict.UNDECIDED, Cause.SOMETIMES, f"{Cause.SOMETIMES}: {named}")
    return Outcome(Verdict.UNDECIDED, Cause.STRADDLES, f"{Cause.STRADDLES}: {named}")


def _of_few(case: CaseVerdict) -> Outcome:
    """The reason why a case has too few repeats: were they rejected, or did the profile ask for no more?"""
    if case.flagged:
        why = f" for {', '.join(case.obstacles)}" if case.obstacles else ""
        told = f"{case.flagged} of {case.pairs + case.flagged} repeats rejected{why} in {case.case}"
        return Outcome(Verdict.UNDECIDED, Cause.REJECTED if enough(case.pairs + case.flagged) else Cause.FEW_BLOCKS, told)
    return Outcome(Verdict.UNDECIDED, Cause.FEW_BLOCKS, f"clean repeats in {case.case}: {case.pairs}, an answer needs {MINIMUM_REPEATS}")


def within(bounds: Bounds, estimate: Estimate) -> Verdict:
    """Return the verdict on one estimate: by its whole interval, undecided where that holds a bound or there is none."""
    if estimate.interval is None:
        return Verdict.UNDECIDED
    if bounds.contain(*estimate.interval):
        return Verdict.CONFIRMED
    return Verdict.CONTRADICTED if bounds.exclude(*estimate.interval) else Verdict.UNDECIDED


def _presence(values: Sequence[float]) -> Verdict:
    """Seen in each block, in none, else undecided; from as many blocks as an interval needs."""
    if not enough(len(values)):
        return Verdict.UNDECIDED
    if all(values):
        return Verdict.CONFIRMED
    return Verdict.UNDECIDED if any(values) else Verdict.CONTRADICTED


def _distance(bounds: Bounds | None, value: float | None) -> float:
    """How far `value` lies outside `bounds`, on the log scale; 0 inside."""
    if bounds is None or value is None:
        return 0.0
    below = math.log(bounds.lower / value) if bounds.lower is not None else 0.0
    above = math.log(value / bounds.upper) if bounds.upper is not None else 0.0
    return max(0.0, below, above)
