"""The survey's files moved to the SSDs for a job and back: moves timed by a run, simulated moves, and when they pay (statement H11)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Final

import duckdb

from tierwise.advisor.moving import MovePlan, Times, copies_s, plan_move
from tierwise.advisor.service import NewDevice
from tierwise.advisor.workload import FAST, SLOW
from tierwise.analysis import heat
from tierwise.analysis.causes import Cause, Reason
from tierwise.analysis.claim_rows import Rows, mode_in, mode_of
from tierwise.analysis.claims import Bounds, Claim
from tierwise.analysis.heat import Record
from tierwise.analysis.judging import ClaimVerdict, Grounds, Judge, ruled
from tierwise.analysis.left_open import OpenMap, points_of
from tierwise.analysis.rules import CaseVerdict, Verdict, after_holm, within
from tierwise.analysis.statistics import MINIMUM_REPEATS, Estimate, enough
from tierwise.analysis.today import Shown
from tierwise.core.vocabulary import Evidence, IoMode, Way
from tierwise.devices.spec import load_device
from tierwise.studies.survey_placement.reading.names import BASE, SQL, STUDY

MOVED: Final = {"index_ssd": "the indexes", "source_ssd": "Source", "detection_ssd": "Detection"}  # placement -> what it has on the SSDs


@dataclass(frozen=True)
class Moved:
    """One placement's files, copied to the tier `ssd` and back by the server, or `modelled`: one simulated time for all replicates."""

    placement: str
    ssd: str
    sizes_bytes: Mapping[str, int]
    there: Times
    back: Times
    modelled: bool = False


def moves_of(connection: duckdb.DuckDBPyConnection, pair: str) -> list[Moved]:
    """Return the moves that were timed often enough without a flag; none where the study did not end, and so recorded no sizes."""
    record = heat.record_of(connection, STUDY, pair)
    if record is None:
        return []
    rows = connection.execute(SQL["moves"], [pair, mode_in(connection, "survey_moves", pair, study=STUDY)]).fetchall()
    found = []
    for placement in MOVED:
        own = [row for row in rows if row[0] == placement]
        if not enough(len(own)):
            continue
        evidence = Evidence.of({Evidence(row[3]) for row in own})
        there, back = (Times({row[2]: row[column] for row in own}, evidence) for column in (4, 5))
        found.append(Moved(placement, own[0][1], _sizes(record, placement), there, back))
    return found


def timed_of(connection: duckdb.DuckDBPyConnection, pair: str) -> tuple[IoMode, int] | None:
    """Return (how the server of `moves_of` did I/O, how many of its moves are flagged); `None` where no move was timed."""
    flagged = {IoMode(mode): number for mode, number in connection.execute(SQL["timed"], [pair]).fetchall()}
    return (mode, flagged[mode]) if flagged and (mode := mode_of(STUDY, flagged)) else None


def plans_of(connection: duckdb.DuckDBPyConnection, pair: str, moves: Sequence[Moved]) -> dict[tuple[str, str], MovePlan]:
    """Return (placement, query) -> after how many such queries the move has paid, by times of the same replicate."""
    rows = connection.execute(SQL["jobs"], [pair, mode_in(connection, STUDY, pair)]).fetchall()
    jobs = {
        key: Times({row[2]: row[4] for row in rows if row[:2] == key}, Evidence.of({Evidence(row[3]) for row in rows if row[:2] == key}))
        for key in dict.fromkeys(row[:2] for row in rows)
    }
    found = {}
    for moved in moves:
        for query in dict.fromkeys(query for query, _ in jobs):
            if {(query, BASE), (query, moved.placement)} <= jobs.keys():
                ends = (jobs[query, BASE], jobs[query, moved.placement])
                ways = (moved.there, moved.back)
                shared = set.intersection(*(set(one.by_replicate) for one in (ends if moved.modelled else (*ways, *ends))))
                if enough(len(shared)):
                    there, back = ways if moved.modelled else (_of(one, shared) for one in ways)
                    slow, fast = (_of(one, shared) for one in ends)
                    plan = partial(plan_move, moved.sizes_bytes, devices=(SLOW, moved.ssd), there=there, back=back)
                    found[moved.placement, query] = plan(slow_job=slow, fast_job=fast)
    return found


def _of(times: Times, replicates: Collection[int]) -> Times:
    return Times({replicate: times.by_replicate[replicate] for replicate in replicates}, times.evidence)


def modelled(record: Record, placement: str, ssd: str) -> list[Moved]:
    """Return the move to the tier `ssd` and back by the devices' models, page by page; none where a tier is a real directory."""
    tiers = record.pair.get("tiers") or {}
    devices = [str(tiers[tier]["device"]) for tier in (SLOW, ssd) if "device" in tiers.get(tier, {})]
    if len(devices) < 2:
        return []
    sizes = _sizes(record, placement)
    slow, fast = (partial(NewDevice, load_device(device), stretch=record.stretch) for device in devices)
    there, back = (Times.simulated(partial(copies_s, sizes, Way.SERVER, ends)).as_one() for ends in ((slow, fast), (fast, slow)))
    return [Moved(placement, ssd, sizes, there, back, modelled=True)]


def _sizes(record: Record, placement: str) -> dict[str, int]:
    return {name: record.facts["size_bytes"][name] for name in record.facts["on_ssd"][placement]}


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
    return ClaimVerdict(
        **ruled(outcome, manifest, STUDY),
        pair=on.pair,
        flagged=flagged,
        evidence=Evidence.of({plan.job_evidence for plan in plans.values()} | {plan.move_evidence for plan in plans.values()}),
        cases=cases,
        open_map=mapped,
        **({"deciding_case": decider.case, "io_mode": io_mode, **decider.as_estimate.fields} if decider else {}),
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

PLACED: Final = "detection_ssd"  # the placement whose files are moved: the largest table, which the statement stands for


def cases(claim: Claim, rows: Rows, pair: str) -> list[Shown]:  # noqa: ARG001 - the study has one claim of moves
    """Return after how many of each query on `pair` the move has paid; without an estimate where a query saves nothing."""
    record = heat.record_of(rows.connection, STUDY, pair)
    if record is None:
        return []
    own = [moved for moved in moves_of(rows.connection, pair) if moved.placement == PLACED] or modelled(record, PLACED, FAST)
    return [
        Shown(
            f"jobs ({query.replace('_', ' ')}) until moving {MOVED[placement]} pays",
            Estimate(plan.break_even_jobs, plan.low, plan.high, plan.pairs),
            Evidence.of({plan.job_evidence, plan.move_evidence}),
        )
        for (placement, query), plan in plans_of(rows.connection, pair, own).items()
    ]


TODAY: Final = MappingProxyType({"H11": cases})
