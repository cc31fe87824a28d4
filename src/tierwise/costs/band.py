"""The verdict on a claim about money: over the band of the prices, which lies beyond what `analysis` may see."""

from collections.abc import Mapping
from math import inf, log
from typing import Any, Final

from tierwise.analysis.claims import Bounds
from tierwise.analysis.judging import ArmVerdict
from tierwise.analysis.open_claims import Cause, cure
from tierwise.analysis.rules import StateVerdict, Verdict
from tierwise.analysis.verdicts import ClaimVerdict
from tierwise.core.words import IoArm, Substrate

CROSSES: Final = "the bound lies within the price band"

States = Mapping[str, tuple[Substrate, tuple[float, float]]]
"""The ratios that a claim needs, by what is compared, each with its substrate and its band."""


def judge_band(verdict: ClaimVerdict, states: States, *, arm: IoArm, others: Mapping[str, States] | None = None) -> ClaimVerdict:
    """`verdict` judged by the ratios of `states`, which rest on reads by `arm`; beside it by `others`, other ways to count."""
    found = _found(verdict, states, arm)
    own = {name: found[name] for name in ("verdict", "reason", "cause", "cure", "estimate", "substrate", "deciding_state", "states")}
    return verdict.model_copy(
        update={
            **own,
            "low": found["interval"][0],
            "high": found["interval"][1],
            "deciding_arm": arm,
            "rests_on": (arm,),
            "arms": {name: ArmVerdict(**_found(verdict, other, arm)) for name, other in (others or {}).items()},
        }
    )


def _found(verdict: ClaimVerdict, bands: States, arm: IoArm) -> dict[str, Any]:
    """The fields of an `ArmVerdict` from the ratios in `bands`."""
    assert verdict.bounds is not None, "a claim of kind cost that is judged has bounds"
    bounds = Bounds(lower=verdict.bounds[0], upper=verdict.bounds[1], strict=verdict.bounds_text.startswith(("more", "less")))
    states = tuple(_state(name, arm, substrate, band, bounds) for name, (substrate, band) in bands.items())
    outcome = _combined({state.verdict for state in states})
    decider = min(states, key=lambda state: _room(state, bounds))
    return {
        "verdict": f"{outcome} ({CROSSES}; needs {cure(Cause.PRICES, None)})" if outcome is Verdict.UNDECIDED else str(outcome),
        "reason": CROSSES if outcome is Verdict.UNDECIDED else "",
        "cause": Cause.PRICES if outcome is Verdict.UNDECIDED else None,
        "cure": cure(Cause.PRICES, None) if outcome is Verdict.UNDECIDED else "",
        "states": states,
        "deciding_state": decider.state,
        "estimate": decider.estimate,
        "interval": (decider.low, decider.high),
        "pairs": 0,
        "flagged": 0,
        "substrate": Substrate.of({state.substrate for state in states}),
        "through": None,
    }


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


def _combined(verdicts: set[Verdict]) -> Verdict:
    if Verdict.CONTRADICTED in verdicts:
        return Verdict.CONTRADICTED
    return Verdict.CONFIRMED if verdicts == {Verdict.CONFIRMED} else Verdict.UNDECIDED
