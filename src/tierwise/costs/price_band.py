"""The verdict on a claim about money: over the band of the prices, which lies beyond what `analysis` may see."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, log, sqrt

from tierwise.analysis.causes import Cause
from tierwise.analysis.claim_rows import PUBLISHED
from tierwise.analysis.claims import Bounds, Claim
from tierwise.analysis.judging import ClaimVerdict, ruled
from tierwise.analysis.rules import CaseVerdict, Verdict
from tierwise.core.vocabulary import Evidence, IoMode
from tierwise.costs.bill import phrase

Band = tuple[float, float]


@dataclass(frozen=True)
class Compared:
    """The ratio of two costs over the band of their prices; `turning`: at which price of a drive it is 1 (`bill.turning`)."""

    evidence: Evidence
    band: Band
    turning: str = ""

    @property
    def middle(self) -> float:
        low, high = self.band
        return sqrt(low * high)


@dataclass(frozen=True)
class Counted:
    """The ratios that a claim needs, by what is compared, and which of their prices were read only once (`bill.read_once`)."""

    cases: Mapping[str, Compared]
    read_once: str = ""


def judge_band(claim: Claim, pair: str, counted: Counted, *, io_mode: IoMode, others: Mapping[str, Counted] | None = None) -> ClaimVerdict:
    """Judge `claim` by what was `counted`; beside it stand `others`, other ways to count. Every verdict says what prices assume."""
    beside = tuple(_found(claim, pair, name, other, io_mode) for name, other in (others or {}).items())
    return _found(claim, pair, PUBLISHED, counted, io_mode).model_copy(update={"others": beside})


def _found(claim: Claim, pair: str, variant: str, counted: Counted, io_mode: IoMode) -> ClaimVerdict:
    assert claim.bounds is not None, "a claim on cost has bounds"
    bounds = claim.bounds
    cases = tuple(_case(name, io_mode, compared, bounds, counted.read_once) for name, compared in counted.cases.items())
    decider = min(cases, key=lambda case: _margin(case, bounds))
    return ClaimVerdict(
        **ruled(_combined(cases, counted), cases=cases),
        pair=pair,
        variant=variant,
        io_mode=io_mode,
        cases=cases,
        deciding_case=decider.case,
        **decider.as_estimate.fields,
        evidence=Evidence.of({case.evidence for case in cases}),
    )


def _case(name: str, io_mode: IoMode, compared: Compared, bounds: Bounds, read_once: str) -> CaseVerdict:
    low, high = compared.band
    inside, outside = bounds.contain(low, high), bounds.exclude(low, high)
    conditions = (phrase("band.exact") if low == high else "", compared.turning and f"{name}: {compared.turning}", read_once)
    return CaseVerdict(
        case=name,
        io_mode=io_mode,
        evidence=compared.evidence,
        estimate=compared.middle,
        low=low,
        high=high,
        pairs=0,
        flagged=0,
        conditions=tuple(filter(None, conditions)),
        verdict=Verdict.CONFIRMED if inside else Verdict.CONTRADICTED if outside else Verdict.UNDECIDED,
    )


def _margin(case: CaseVerdict, bounds: Bounds) -> float:
    """How far the band lies inside the bounds, on the log scale; below zero outside."""
    assert case.low is not None, "a band has two ends"
    assert case.high is not None, "a band has two ends"
    lower = log(case.low / bounds.lower) if bounds.lower else inf
    upper = log(bounds.upper / case.high) if bounds.upper else inf
    return min(lower, upper)


def _combined(cases: Sequence[CaseVerdict], counted: Counted) -> tuple[Verdict, Cause | None, str]:
    verdicts = {case.verdict for case in cases}
    if Verdict.CONTRADICTED in verdicts:
        return Verdict.CONTRADICTED, None, ""
    if verdicts == {Verdict.CONFIRMED}:
        return Verdict.CONFIRMED, None, ""
    return Verdict.UNDECIDED, Cause.PRICES, "; ".join(filter(None, [phrase("band.crosses"), counted.read_once]))
