"""The rules by which observations become a verdict; no file is read here.

Confirmed: the whole interval lies inside the bounds, that of every case. Contradicted: one lies wholly outside, after Holm's correction.
The model interval, where it is known, must lie there too. An interval without a width decides nothing, unless counts are judged.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final

from tierwise.analysis.causes import JUMPS, Cause, Reason, phrase
from tierwise.analysis.claims import Bounds, Claim, Kind
from tierwise.analysis.model_interval import Shifts
from tierwise.analysis.statistics import CONFIDENCE, MINIMUM_REPEATS, Estimate, enough, geometric_estimate, holm, paired_ratios
from tierwise.core.toml import Strict
from tierwise.core.vocabulary import Evidence, IoMode

ABOVE_ONE: Final = Bounds(lower=1.0, strict=True)  # the side on which every ratio of an order must lie that has no bounds of its own
CLEARLY_ABOVE_ONE: Final = ABOVE_ONE.model_copy(update={"apart": 1.05})
"""The same where a difference of less than a twentieth is no order: counted and real times of flash may lie so far apart (assumed)."""
NOT_ASYNCHRONOUS: Final = phrase("conditions.not_asynchronous")
"""The condition of a verdict by an asynchronous I/O mode whose devices had fewer than `ASYNCHRONOUS` requests at once."""
ASYNCHRONOUS: Final = 2.0  # the mean number of outstanding requests from which on an I/O mode is asynchronous
COUNTS: Final = phrase("conditions.same_counts")  # the condition of a verdict on counts that do not differ, whose interval has no width


class Verdict(Enum):
    """The outcomes, in the report's words; no string, so that none is compared with one."""

    CONFIRMED = "confirmed"
    CONTRADICTED = "contradicted"
    UNDECIDED = "undecided"
    NOT_MEASURED = "not measured"
    REPORTED = "reported"
    MIXED = "no verdict: mixed kinds of evidence"
    INPUT = "not testable: it is an input"

    @property
    def mark(self) -> str:
        return {Verdict.MIXED: "no verdict", Verdict.INPUT: "not testable"}.get(self, self.value)

    def __str__(self) -> str:
        return self.value


DECIDED: Final = (Verdict.CONFIRMED, Verdict.CONTRADICTED)
Outcome = tuple[Verdict, Cause | None, Reason | str]
"""A verdict; where it is open, its cause and the reason: a code with numbers, or what a study says itself."""


@dataclass(frozen=True, slots=True)
class Series:
    """The values of one case in one I/O mode, by replicate; flagged replicates are counted and hold no value."""

    case: str
    io_mode: IoMode
    evidence_kinds: frozenset[Evidence]
    values: Mapping[int, float]
    flagged: frozenset[int] = frozenset()
    conditions: frozenset[str] = frozenset()  # what the values were found under
    obstacles: frozenset[str] = frozenset()  # why replicates are flagged
    outstanding: float | None = None  # mean number of requests that a device had at once; None: not known
    hangs_on: frozenset[str] = frozenset()  # variants that must agree with a verdict by these values
    machines: Mapping[int, str] = field(default_factory=dict)  # replicate -> machine, where workers measured


class CaseVerdict(Strict):
    """One case in one I/O mode, or one ratio that an order needs; the interval is not adjusted for the other cases."""

    case: str
    io_mode: IoMode
    evidence: Evidence
    estimate: float | None
    low: float | None
    high: float | None
    pairs: int
    flagged: int
    freedom: float = 0.0  # degrees of freedom of the interval
    runs: int = 1  # how many are behind the interval, which says what it speaks of (`statistics.scope_of`)
    p_value: float | None = None  # of the true value being the bound beyond which the estimate lies; 1 inside the bounds
    p_holm: float | None = None  # the same after Holm's correction for all cases of the I/O mode; `verdict` contradicts by it
    conditions: tuple[str, ...] = ()
    obstacles: tuple[str, ...] = ()
    outstanding: float | None = None  # requests that a device had at once
    hangs_on: tuple[str, ...] = ()  # variants that must agree
    model_low: float | None = None
    model_high: float | None = None
    largest: str | None = None  # the parameter that is the largest part of the model interval
    by_replicates: Verdict | None = None  # the verdict without the model interval
    verdict: Verdict

    @property
    def as_estimate(self) -> Estimate:
        return Estimate(self.estimate, self.low, self.high, self.pairs, self.runs, self.freedom)


def needed_bounds(claim: Claim) -> Bounds | None:
    """Return what every interval of `claim` is held against; none for presence and shapes."""
    return claim.bounds or CLEARLY_ABOVE_ONE if claim.kind is Kind.ORDER else claim.bounds


def one_sided(claim: Claim) -> bool:
    """Return whether what `claim` is held against has one side, so that a misfit on the other confirms it."""
    bounds = needed_bounds(claim)
    return bounds is not None and None in {bounds.lower, bounds.upper}


def order_series(greater: Series, than: Series) -> Series:
    flagged = greater.flagged | than.flagged
    ratios = paired_ratios(greater.values, than.values)
    return Series(
        f"{greater.case}/{than.case}",
        greater.io_mode,
        greater.evidence_kinds | than.evidence_kinds,
        ratios,
        flagged,
        greater.conditions | than.conditions,
        greater.obstacles | than.obstacles,
        min((known for known in (greater.outstanding, than.outstanding) if known is not None), default=None),
        greater.hangs_on | than.hangs_on,
        {**greater.machines, **than.machines},
    )


def judge_series(claim: Claim, series: Sequence[Series], withheld: Verdict | None = None) -> tuple[CaseVerdict, ...]:
    """Return estimate and verdict of each of `series`, all that one I/O mode has of `claim`; `withheld` takes the place of the verdicts."""
    assert len({one.io_mode for one in series}) <= 1, "each I/O mode is corrected by itself"
    alone = [_alone(claim, one) for one in series]
    tested = after_holm([(one.p_value, one.verdict) for one in alone], Verdict.CONTRADICTED)
    return tuple(
        one.model_copy(update={"p_holm": p_holm, "verdict": withheld or verdict})
        for one, (p_holm, verdict) in zip(alone, tested, strict=True)
    )


def with_model(claim: Claim, case: CaseVerdict, shifts: Shifts | None) -> CaseVerdict:
    """Return `case` with its model interval by `shifts`, undecided where that does not say what the replicates say."""
    bounds = needed_bounds(claim)
    if shifts is None or claim.counts or bounds is None or case.low is None or case.high is None:
        return case
    low, high = shifts.widened(case.low, case.high)
    if claim.kind is Kind.SHARE:
        low, high = (one / (1 + one) for one in shifts.widened(odds(case.low), odds(case.high)))
    agrees = {Verdict.CONFIRMED: bounds.contain(low, high), Verdict.CONTRADICTED: bounds.exclude(low, high)}.get(case.verdict, True)
    of_model = {"model_low": low, "model_high": high, "largest": shifts.largest, "by_replicates": case.verdict}
    return case.model_copy(update={**of_model, "verdict": case.verdict if agrees else Verdict.UNDECIDED})


def _alone(claim: Claim, series: Series) -> CaseVerdict:
    """Hold a series against the bounds by itself, as if there were no other case."""
    values, p_value, conditions = list(series.values.values()), None, series.conditions
    if claim.kind is Kind.PRESENCE:
        estimate = Estimate(sum(values) / len(values) if enough(len(values)) else None, None, None, len(values))
        verdict = _presence(values)
    else:
        bounds = needed_bounds(claim)
        assert bounds is not None, f"a claim of kind {claim.kind} has no bounds"
        if claim.kind is Kind.SHARE:
            estimate, p_value = _share(bounds, series)
        else:
            estimate = geometric_estimate(series.values, machines=series.machines)
            p_value = p_beyond(bounds, estimate)
        verdict = within(bounds, estimate)
        if (claim.kind is Kind.SHARE or claim.counts) and estimate.flat:  # counts, which no scatter can hide
            verdict, conditions = by_interval(bounds, estimate), conditions | {COUNTS}
    if claim.counts:
        conditions |= {phrase("conditions.counted", what=claim.counts)}
    if series.io_mode is IoMode.ASYNCHRONOUS and series.outstanding is not None and series.outstanding < ASYNCHRONOUS:
        conditions |= {NOT_ASYNCHRONOUS}
    return CaseVerdict(
        case=series.case,
        io_mode=series.io_mode,
        evidence=Evidence.of(set(series.evidence_kinds)),
        **estimate.fields,
        flagged=len(series.flagged),
        freedom=estimate.freedom,
        runs=estimate.runs,
        p_value=p_value,
        conditions=tuple(sorted(conditions)),
        obstacles=tuple(sorted(series.obstacles)),
        outstanding=series.outstanding,
        hangs_on=tuple(sorted(series.hangs_on)),
        verdict=verdict,
    )


def _share(bounds: Bounds, series: Series) -> tuple[Estimate, float | None]:
    """Estimate and p-value of shares above 0 and below 1, by their odds: so no interval leaves 0 to 1."""
    estimate = geometric_estimate({replicate: odds(share) for replicate, share in series.values.items()}, machines=series.machines)
    sides = {name: odds(side) for name in ("lower", "upper") if (side := getattr(bounds, name)) is not None}
    value, low, high = (None if one is None else one / (1 + one) for one in (estimate.value, estimate.low, estimate.high))
    return replace(estimate, value=value, low=low, high=high), p_beyond(bounds.model_copy(update=sides), estimate)


def odds(share: float) -> float:
    return share / (1 - share)


def p_beyond(bounds: Bounds, estimate: Estimate) -> float | None:
    """Return the p-value of the true value being the bound that `estimate` lies beyond; 1 inside, `None` without an interval."""
    if estimate.value is None or estimate.interval is None or estimate.flat:
        return None
    below, above = bounds.outer
    if below is not None and estimate.value < below:
        return estimate.p_value(below)
    if above is not None and estimate.value > above:
        return estimate.p_value(above)
    return 1.0


def after_holm(tests: Sequence[tuple[float | None, Verdict]], chance: Verdict) -> list[tuple[float | None, Verdict]]:
    """Return (p-value after Holm's correction, verdict) of each of `tests` (p-value, verdict); one that says `chance` needs the former."""
    adjusted = iter(holm([p_value for p_value, _ in tests if p_value is not None]))
    found = list[tuple[float | None, Verdict]]()
    for p_value, verdict in tests:
        p_holm = None if p_value is None else next(adjusted)
        by_chance = p_holm is not None and p_holm >= 1 - CONFIDENCE and verdict is chance
        found.append((p_holm, Verdict.UNDECIDED if by_chance else verdict))
    return found


def combine(cases: Sequence[CaseVerdict], expected: int, bounds: Bounds | None = None) -> Outcome:
    """Return the verdict on a claim with `expected` cases, of which `cases` of one I/O mode were held against `bounds`."""
    verdicts = {case.verdict for case in cases}
    if Verdict.CONTRADICTED in verdicts:
        return Verdict.CONTRADICTED, None, ""
    if len(cases) == expected and len(verdicts) == 1 and Verdict.UNDECIDED not in verdicts:
        return verdicts.pop(), None, ""
    few = [case for case in cases if not enough(case.pairs)]
    if few:
        return _of_few(min(few, key=lambda case: case.pairs))
    crossing = [case for case in cases if case.verdict is Verdict.UNDECIDED]
    if not crossing:
        return Verdict.UNDECIDED, Cause.MISSING, Reason("cases_missing", {"measured": len(cases), "expected": expected})
    cause = _why(crossing, bounds)
    return Verdict.UNDECIDED, cause, Reason("cases", {"cause": cause, "cases": ", ".join(case.case for case in crossing)})


def furthest_outside(cases: Sequence[CaseVerdict], bounds: Bounds | None) -> CaseVerdict:
    """Return the one of `cases` on which the verdict hangs: the furthest outside `bounds`, else that with the widest interval."""
    rank = {Verdict.CONTRADICTED: 2, Verdict.CONFIRMED: 0}

    def weight(case: CaseVerdict) -> tuple[int, float, float]:
        width = math.log(case.high / case.low) if case.low is not None and case.high is not None else math.inf
        return rank.get(case.verdict, 1), _distance(bounds, case.estimate), width

    return max(cases, key=weight)


def _why(crossing: Sequence[CaseVerdict], bounds: Bounds | None) -> Cause:
    if all(case.by_replicates in DECIDED for case in crossing):
        return Cause.MODEL
    if all(case.low is None for case in crossing):
        return Cause.SOMETIMES
    if any(case.as_estimate.flat for case in crossing):
        return Cause.FLAT
    if bounds is not None and bounds.apart > 1:
        exact = bounds.model_copy(update={"apart": 1.0})
        if all(within(exact, case.as_estimate) is not Verdict.UNDECIDED for case in crossing):
            return Cause.SMALL
    outside = (case.p_value is not None and case.p_value < 1 - CONFIDENCE for case in crossing)
    return Cause.CHANCE if all(outside) else Cause.STRADDLES


def _of_few(case: CaseVerdict) -> Outcome:
    if case.flagged:
        repeats = case.pairs + case.flagged
        counts = {"case": case.case, "flagged": case.flagged, "repeats": repeats, "obstacles": ", ".join(case.obstacles)}
        rejected = Cause.JUMPED if case.obstacles == (JUMPS,) else Cause.REJECTED
        return Verdict.UNDECIDED, rejected if enough(repeats) else Cause.FEW_REPLICATES, Reason("rejected", counts)
    return Verdict.UNDECIDED, Cause.FEW_REPLICATES, Reason("few", {"case": case.case, "clean": case.pairs, "needed": MINIMUM_REPEATS})


def within(bounds: Bounds, estimate: Estimate) -> Verdict:
    """Return the verdict on one estimate: by its whole interval, undecided where that holds a bound, has no width or there is none."""
    return Verdict.UNDECIDED if estimate.flat else by_interval(bounds, estimate)


def by_interval(bounds: Bounds, estimate: Estimate) -> Verdict:
    if estimate.interval is None:
        return Verdict.UNDECIDED
    if bounds.contain(*estimate.interval):
        return Verdict.CONFIRMED
    return Verdict.CONTRADICTED if bounds.exclude(*estimate.interval) else Verdict.UNDECIDED


def _presence(values: Sequence[float]) -> Verdict:
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
