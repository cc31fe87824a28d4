"""The verdict on a claim about money: over the band of the prices, which lies beyond what `analysis` may see."""

from collections.abc import Mapping
from math import inf, log
from typing import Final

from tierwise.analysis.claims import Bounds, Claim
from tierwise.analysis.judging import ArmVerdict, Judgement, as_judgement, ruled
from tierwise.analysis.open_claims import Cause
from tierwise.analysis.rules import Outcome, StateVerdict, Verdict
from tierwise.core.words import IoArm, Substrate

CROSSES: Final = "the bound lies within the price band"

States = Mapping[str, tuple[Substrate, tuple[float, float]]]
"""The ratios that a claim needs, by what is compared, each with its substrate and its band."""


def judge_band(claim: Claim, pair: str, states: States, *, arm: IoArm, others: Mapping[str, States] | None = None) -> Judgement:
    """What `states` say of `claim` on `pair`, ratios which rest on reads by `arm`; beside it what `others` say, other ways to count."""
    arms = {name: _found(claim, other, arm) for name, other in (others or {}).items()}
    return as_judgement(_found(claim, states, arm), pair=pair, deciding_arm=arm, rests_on=(arm,), arms=arms)


def _found(claim: Claim, bands: States, arm: IoArm) -> ArmVerdict:
    """The verdict by the ratios in `bands`."""
    assert claim.bounds is not None, "a claim of kind cost that is judged has bounds"
    bounds = claim.bounds
    states = tuple(_state(name, arm, substrate, band, bounds) for name, (substrate, band) in bands.items())
    outcome = _combined({state.verdict for state in states})
    decider = min(states, key=lambda state: _room(state, bounds))
    assert decider.low is not None, "a band has two ends"
    assert decider.high is not None, "a band has two ends"
    return ArmVerdict(
        **dict(ruled(outcome)),
        states=states,
        deciding_state=decider.state,
        estimate=decider.estimate,
        interval=(decider.low, decider.high),
        substrate=Substrate.of({state.substrate for state in states}),
    )


def _state(name: str, arm: IoArm, substrate: Substrate, band: tuple[float, float], bounds: Bounds) -> StateVerdict:
    low, high = band
    inside, outside = bounds.contain(low, high), bounds.exclude(low, high)
    return StateVerdict(
        state=name,
        arm=arm,
        substrate=substrate,
        estimate=(low * high) ** 0.5,
        low=low,
        high=high,
        pairs=0,
        flagged=0,
        verdict=Verdict.CONFIRMED if inside else Verdict.CONTRADICTED if outside else Verdict.UNDECIDED,
    )


def _room(state: StateVerdict, bounds: Bounds) -> float:
    """How far the band lies inside the bounds, on the log scale; below zero outside."""
    assert state.low is not None, "a band has two ends"
    assert state.high is not None, "a band has two ends"
    lower = log(state.low / bounds.lower) if bounds.lower else inf
    upper = log(bounds.upper / state.high) if bounds.upper else inf
    return min(lower, upper)


def _combined(verdicts: set[Verdict]) -> Outcome:
    if Verdict.CONTRADICTED in verdicts:
        return Outcome(Verdict.CONTRADICTED)
    return Outcome(Verdict.CONFIRMED) if verdicts == {Verdict.CONFIRMED} else Outcome(Verdict.UNDECIDED, Cause.PRICES, CROSSES)
