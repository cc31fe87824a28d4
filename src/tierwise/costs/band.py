"""The verdict on a claim about money: over the band of the prices, which lies beyond what `analysis` may see."""

from collections.abc import Mapping
from math import inf, log
from typing import Final

from tierwise.analysis.claims import Bounds, Claim
from tierwise.analysis.evidence import PUBLISHED
from tierwise.analysis.judging import ArmVerdict, Judgement, arm_name, as_judgement, ruled
from tierwise.analysis.open_claims import Cause
from tierwise.analysis.rules import CaseVerdict, Outcome, Verdict
from tierwise.core.words import IoArm, Substrate

EXACT: Final = "one figure: no price is in it, and nothing that is repeated"
"""The condition of a verdict on a band without a width."""
CROSSES: Final = "the bound lies within the price band"

Cases = Mapping[str, tuple[Substrate, tuple[float, float]]]
"""The ratios that a claim needs, by what is compared, each with its substrate and its band."""


def judge_band(
    claim: Claim, pair: str, cases: Cases, *, arm: IoArm, others: Mapping[str, Cases] | None = None, read_once: str = ""
) -> Judgement:
    """Judge `claim` on `pair` by `cases`, ratios which rest on reads by `arm`; beside it stands what `others` say, other ways to count.

    `read_once` (`sensitivity.read_once`) is said in the verdict.
    """
    arms = {name: _found(claim, other, arm) for name, other in (others or {}).items()}
    return as_judgement(_found(claim, cases, arm, read_once), pair=pair, decided_by=arm_name(PUBLISHED, arm), deciding_arm=arm, arms=arms)


def _found(claim: Claim, bands: Cases, arm: IoArm, read_once: str = "") -> ArmVerdict:
    """The verdict by the ratios in `bands`."""
    assert claim.bounds is not None, "a claim of kind cost that is judged has bounds"
    bounds = claim.bounds
    cases = tuple(_case(name, arm, substrate, band, bounds) for name, (substrate, band) in bands.items())
    if read_once:
        cases = tuple(case.model_copy(update={"conditions": (*case.conditions, read_once)}) for case in cases)
    outcome = _combined({case.verdict for case in cases}, read_once)
    decider = min(cases, key=lambda case: _room(case, bounds))
    assert decider.low is not None, "a band has two ends"
    assert decider.high is not None, "a band has two ends"
    return ArmVerdict(
        **dict(ruled(outcome, cases=cases)),
        cases=cases,
        deciding_case=decider.case,
        estimate=decider.estimate,
        interval=(decider.low, decider.high),
        substrate=Substrate.of({case.substrate for case in cases}),
    )


def _case(name: str, arm: IoArm, substrate: Substrate, band: tuple[float, float], bounds: Bounds) -> CaseVerdict:
    low, high = band
    inside, outside = bounds.contain(low, high), bounds.exclude(low, high)
    return CaseVerdict(
        case=name,
        arm=arm,
        substrate=substrate,
        estimate=(low * high) ** 0.5,
        low=low,
        high=high,
        pairs=0,
        flagged=0,
        conditions=(EXACT,) if low == high else (),
        verdict=Verdict.CONFIRMED if inside else Verdict.CONTRADICTED if outside else Verdict.UNDECIDED,
    )


def _room(case: CaseVerdict, bounds: Bounds) -> float:
    """How far the band lies inside the bounds, on the log scale; below zero outside."""
    assert case.low is not None, "a band has two ends"
    assert case.high is not None, "a band has two ends"
    lower = log(case.low / bounds.lower) if bounds.lower else inf
    upper = log(bounds.upper / case.high) if bounds.upper else inf
    return min(lower, upper)


def _combined(verdicts: set[Verdict], read_once: str) -> Outcome:
    told = "; ".join(filter(None, [CROSSES, read_once]))
    if Verdict.CONTRADICTED in verdicts:
        return Outcome(Verdict.CONTRADICTED)
    return Outcome(Verdict.CONFIRMED) if verdicts == {Verdict.CONFIRMED} else Outcome(Verdict.UNDECIDED, Cause.PRICES, told)
