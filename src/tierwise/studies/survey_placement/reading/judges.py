"""The verdict on statement H11, which is a break-even of moves."""

from collections.abc import Mapping
from typing import Any, Final

from tierwise.advisor.moving import MovePlan
from tierwise.analysis.claims import Bounds, load_claims
from tierwise.analysis.open_claims import Cause, cure
from tierwise.analysis.rules import StateVerdict, Verdict
from tierwise.analysis.statistics import MINIMUM_PAIRS
from tierwise.analysis.verdicts import ClaimVerdict
from tierwise.analysis.views import manifest_of
from tierwise.core.words import IoArm, Substrate
from tierwise.report.rooms import Connection, MoneyJudge
from tierwise.studies.survey_placement.reading.moves import MOVED, STUDY, moves_of, plans_of, timed_of


def moves(verdict: ClaimVerdict, connection: Connection | None) -> ClaimVerdict:
    """H11: as its comment in ``claims.toml`` has it."""
    if connection is None:
        return verdict
    pair = load_claims().sources[verdict.source].pair
    timed = timed_of(connection, pair)
    if timed is None:
        return verdict
    arm, flagged = timed
    plans = plans_of(connection, pair, moves_of(connection, pair))
    if not plans:
        reason = f"fewer than {MINIMUM_PAIRS} blocks with a job and a move that are both clean; {flagged} moves are rejected"
        return verdict.model_copy(
            update={"flagged": flagged, **_open(Cause.REJECTED if flagged else Cause.FEW_BLOCKS, reason, connection), "states": ()}
        )
    outcome, reason, states = outcome_of(plans, arm)
    found = {
        "flagged": flagged,
        **(
            {"verdict": str(outcome), "reason": "", "cause": None, "cure": ""} if not reason else _open(Cause.STRADDLES, reason, connection)
        ),
        "substrate": Substrate.of({plan.job_substrate for plan in plans.values()} | {plan.move_substrate for plan in plans.values()}),
        "states": states,
    }
    if not states:
        return verdict.model_copy(update=found)
    decider = max(states, key=lambda state: state.low or 0.0)
    own = {name: getattr(decider, name) for name in ("estimate", "low", "high", "pairs")}
    return verdict.model_copy(
        update={**found, **own, "deciding_state": decider.state, "deciding_arm": decider.arm, "rests_on": (decider.arm,)}
    )


def _open(cause: Cause, reason: str, connection: Connection) -> dict[str, Any]:
    """The fields of a verdict that is undecided for `cause`."""
    needs = cure(cause, manifest_of(connection), STUDY)
    return {"verdict": f"{Verdict.UNDECIDED} ({reason}; needs {needs})", "reason": reason, "cause": cause, "cure": needs}


def outcome_of(plans: Mapping[tuple[str, str], MovePlan], arm: IoArm) -> tuple[Verdict, str, tuple[StateVerdict, ...]]:
    """Verdict, why it is undecided, and the plans with an interval.

    Confirmed by one plan that needs more than one job; contradicted where each has paid within one job or saves nothing in any repeat.
    """
    above_one = Bounds(lower=1.0, strict=True)
    states = tuple(_state(key, plan, arm, above_one) for key, plan in plans.items() if plan.low is not None and plan.high is not None)
    if any(state.verdict is Verdict.CONFIRMED for state in states):
        return Verdict.CONFIRMED, "", states
    if all(plan.pays in {Verdict.CONFIRMED, Verdict.CONTRADICTED} for plan in plans.values()):
        return Verdict.CONTRADICTED, "", states
    return Verdict.UNDECIDED, "no move is shown to need more than one job, nor all to need no more", states


def _state(key: tuple[str, str], plan: MovePlan, arm: IoArm, bounds: Bounds) -> StateVerdict:
    assert plan.low is not None, "the plan has an interval"
    assert plan.high is not None, "the plan has an interval"
    placement, query = key
    inside, outside = bounds.contain(plan.low, plan.high), bounds.exclude(plan.low, plan.high)
    return StateVerdict(
        state=f"jobs until {MOVED[placement]} moved for {query.replace('_', ' ')} have paid",
        arm=arm,
        substrate=Substrate.of({plan.job_substrate, plan.move_substrate}),
        estimate=plan.break_even_jobs,
        low=plan.low,
        high=plan.high,
        pairs=plan.pairs,
        flagged=0,
        verdict=Verdict.CONFIRMED if inside else Verdict.CONTRADICTED if outside else Verdict.UNDECIDED,
    )


MONEY: Final[Mapping[str, MoneyJudge]] = {"H11": moves}
