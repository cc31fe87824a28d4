"""The verdict on statement H11, which is a break-even of moves, over the sizes that a job may have."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from tierwise.advisor.moving import MovePlan
from tierwise.analysis.causes import Cause, Reason
from tierwise.analysis.claims import Bounds, Claim
from tierwise.analysis.judging import ClaimVerdict, Grounds, Judge, ruled
from tierwise.analysis.left_open import OpenMap, points_of
from tierwise.analysis.rules import CaseVerdict, Verdict, after_holm, within
from tierwise.analysis.statistics import MINIMUM_REPEATS
from tierwise.core.vocabulary import Evidence, IoMode
from tierwise.studies.survey_placement.reading.moves import MOVED, moves_of, plans_of, timed_of
from tierwise.studies.survey_placement.reading.names import STUDY

JOB_SIZES: Final = (1, 10, 100, 1000)
"""Queries that a job asks, one after the other; the text says no more than *an intensive operation* (assumed)."""


def moves(claim: Claim, on: Grounds) -> ClaimVerdict:
    """Judge H11, as its comment in ``claims.toml`` has it."""
    timed = timed_of(on.rows.connection, on.pair) if on.rows else None
    if on.rows is None or timed is None:
        return on.absent()
    assert claim.bounds is not None, f"{claim.id} has bounds"
    connection, manifest, (io_mode, flagged) = on.rows.connection, on.rows.manifest, timed
    plans = plans_of(connection, on.pair, moves_of(connection, on.pair))
    if not plans:
        reason = Reason("few_moves", {"needed": MINIMUM_REPEATS, "flagged": flagged})
        few = Verdict.UNDECIDED, Cause.REJECTED if flagged else Cause.FEW_REPLICATES, reason
        return ClaimVerdict(**ruled(few, manifest, STUDY), pair=on.pair, flagged=flagged)
    at_one, cases = outcome_of(plans, io_mode, claim.bounds)
    mapped = by_job_size(plans, claim.bounds, at_one[0])
    outcome = mapped.outcome(at_one) if mapped else at_one
    decider = max(cases, key=lambda case: case.low or 0.0, default=None)
    own = ("estimate", "low", "high", "pairs")
    return ClaimVerdict(
        **ruled(outcome, manifest, STUDY),
        pair=on.pair,
        flagged=flagged,
        evidence=Evidence.of({plan.job_evidence for plan in plans.values()} | {plan.move_evidence for plan in plans.values()}),
        cases=cases,
        open_map=mapped,
        **({"deciding_case": decider.case, "io_mode": io_mode, **{name: getattr(decider, name) for name in own}} if decider else {}),
    )


def by_job_size(plans: Mapping[tuple[str, str], MovePlan], bounds: Bounds, at_one: Verdict) -> OpenMap | None:
    """Return the jobs until each move has paid, by queries a job: n queries save n times what one saves, each from empty caches."""
    shrunk = [
        (
            {"move": MOVED[placement], "query": query.replace("_", " "), "queries a job": str(queries)},
            replace(plan.estimate, value=value / queries, low=plan.low / queries, high=plan.high / queries),
        )
        for (placement, query), plan in plans.items()
        for queries in JOB_SIZES
        if (value := plan.break_even_jobs) is not None and plan.low is not None and plan.high is not None
    ]
    points = points_of(shrunk, bounds)
    evidence = Evidence.of({of for plan in plans.values() for of in (plan.job_evidence, plan.move_evidence)})
    return OpenMap(axes=("move", "query", "queries a job"), evidence=evidence, at_one=at_one, points=points) if points else None


def outcome_of(
    plans: Mapping[tuple[str, str], MovePlan], io_mode: IoMode, bounds: Bounds
) -> tuple[tuple[Verdict, Cause | None, str], tuple[CaseVerdict, ...]]:
    """Return verdict, cause and reason, and the plans with an interval.

    Confirmed by one plan that needs more than one job; contradicted where each has paid within one job or saves nothing in any repeat.
    """
    cases = _cases({key: plan for key, plan in plans.items() if plan.low is not None and plan.high is not None}, io_mode, bounds)
    if any(case.verdict is Verdict.CONFIRMED for case in cases):
        return (Verdict.CONFIRMED, None, ""), cases
    if all(plan.pays in {Verdict.CONFIRMED, Verdict.CONTRADICTED} for plan in plans.values()):
        return (Verdict.CONTRADICTED, None, ""), cases
    reason = "no move surely needs several jobs"
    return (Verdict.UNDECIDED, Cause.STRADDLES, reason), cases


def _cases(plans: Mapping[tuple[str, str], MovePlan], io_mode: IoMode, bounds: Bounds) -> tuple[CaseVerdict, ...]:
    assert bounds.lower is not None, "H11 has a least number"
    alone = [(plan.estimate.p_value(bounds.lower), within(bounds, plan.estimate)) for plan in plans.values()]
    tested = after_holm(alone, Verdict.CONFIRMED)
    return tuple(
        CaseVerdict(
            case=f"jobs ({query.replace('_', ' ')}) until moving {MOVED[placement]} pays",
            io_mode=io_mode,
            evidence=Evidence.of({plan.job_evidence, plan.move_evidence}),
            **plan.estimate.fields,
            flagged=0,
            freedom=plan.estimate.freedom,
            runs=plan.estimate.runs,
            p_value=p_value,
            p_holm=p_holm,
            verdict=verdict,
        )
        for ((placement, query), plan), (p_value, _), (p_holm, verdict) in zip(plans.items(), alone, tested, strict=True)
    )


MONEY: Final[Mapping[str, Judge]] = {"H11": moves}
