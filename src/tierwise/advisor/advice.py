"""Answer a workload: the best placement, what it rests on, and its regret against what a reader would do without it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from tierwise.advisor.placing import Placement, Problem, solve
from tierwise.advisor.ranking import DISKS, choose, gains_of
from tierwise.advisor.service import SEED
from tierwise.advisor.workload import FAST, SLOW, Relation, Workload, fixed
from tierwise.analysis.runs import run_label
from tierwise.core.errors import InputError, MissingError
from tierwise.core.text_template import render
from tierwise.core.toml import Strict
from tierwise.core.units import GIB, human_bytes
from tierwise.core.vocabulary import Evidence, Goal, RelationClass
from tierwise.costs.bill import remarks
from tierwise.costs.book import Book
from tierwise.costs.hardware import capacity_bytes, device_bill
from tierwise.costs.units import MONTHS_A_YEAR

TIERS: Final = (SLOW, FAST)
HOUR_S: Final = 3600.0
WORDS: Final = "advisor/words.toml"

ServiceTimes = Mapping[str, Mapping[str, float]]  # relation -> tier -> seconds of one job's requests


@dataclass(frozen=True)
class Question:
    """What the reader asks."""

    ssd_gib: float  # space on the SSD
    budget: float | None = None  # most money a month; None: no limit
    goal: Goal = Goal.QUICKEST  # what the placement has least of
    jobs_per_hour: float = 0.0  # how often a job comes; 0: it takes space, and no share of a device's time
    devices: Mapping[str, str] | None = None  # tier -> device of ``data/devices`` in place of the run's

    def __post_init__(self) -> None:
        for field, value in (("--ssd-gib", self.ssd_gib), ("--jobs-per-hour", self.jobs_per_hour)):
            if not 0 <= value < float("inf"):
                raise InputError(field, value=value, rule="must be zero or more")
        if self.budget is not None and not 0 < self.budget < float("inf"):
            raise InputError("--budget", value=self.budget, rule="must be above zero, as a cost per month")
        if self.goal is Goal.CHEAPEST and not self.jobs_per_hour:
            rule = "the cheapest placement depends on the number of jobs per hour"
            raise InputError("--jobs-per-hour", value=self.jobs_per_hour, rule=rule, remedy="give --jobs-per-hour N, or --goal time")


class Placed(Strict):
    """One relation: where it belongs, and what a job's requests take on each tier (simulated)."""

    relation: str
    relation_class: RelationClass
    size_bytes: int
    tier: str
    requests: float
    service_s: dict[str, float]
    basis: str


class Alternative(Strict):
    """Another placement. `regret`: the advice's time (or money) over this one's, less one; below zero the advice is better."""

    name: str
    placement: dict[str, str]
    ssd_bytes: int
    fits: bool
    affordable: bool
    job_s: float
    cost_a_month: float | None
    regret: float


class Advice(Strict):
    """The answer. Times are simulated; a placement is chosen by times of the run where a measured one is within the limits."""

    run_id: str
    study: str
    pair: str
    workload: str
    io_mode: str
    queries: tuple[str, ...]
    goal: Goal
    ssd_gib: float
    budget: float | None
    jobs_per_hour: float
    currency: str | None
    devices: dict[str, str]
    relations: tuple[Placed, ...]
    ssd_bytes: int
    storage_s: float
    host_s: float
    job_s: float
    cost_a_month: float | None
    alternatives: tuple[Alternative, ...]
    exhaustive: Alternative  # the best of all placements by the simulated times
    placements: int
    evidence: Evidence
    heat: Evidence  # of the heat that the times are simulated from
    chosen_by: Evidence  # of the times that the placement was chosen by
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def placement(self) -> dict[str, str]:
        return {placed.relation: placed.tier for placed in self.relations}


def advise(workload: Workload, question: Question, book: Book, service_s: ServiceTimes | None = None) -> Advice:
    """Return where the workload's relations belong, on hdd or ssd: by the measured placement to choose if it is within the limits, else by
    a search over simulated times. `service_s` where `times` was called already. It refuses limits that nothing keeps, a device without a
    model, and one without a requested price.
    """
    service_s = service_s or times(workload, question.devices)
    problem, why_free = problem_of(workload, question, service_s, book)
    measured = _measured(workload, question, problem)
    searched = solve(problem, question.goal)
    best = measured or searched
    against = partial(_against, best, problem, question.goal, workload.host_s)
    devices = names(workload, question.devices)
    return Advice(
        run_id=workload.run_id,
        study=workload.study,
        pair=workload.pair,
        io_mode=workload.io_mode,
        queries=workload.queries,
        host_s=workload.host_s,
        goal=question.goal,
        ssd_gib=question.ssd_gib,
        budget=question.budget,
        jobs_per_hour=question.jobs_per_hour,
        workload=workload.name,
        currency=book.currency if problem.prices else None,
        devices=devices,
        relations=tuple(_placed(relation, best[relation.name], service_s[relation.name]) for relation in workload.relations),
        ssd_bytes=problem.used_bytes(best, FAST),
        storage_s=problem.time_s(best),
        job_s=workload.host_s + problem.time_s(best),
        cost_a_month=problem.cost_a_month(best),
        alternatives=tuple(against(name, placement) for name, placement in fixed(workload).items()),
        exhaustive=against("exhaustive search", searched),
        placements=len(TIERS) ** len(workload.relations),
        evidence=Evidence.SIMULATED,
        heat=workload.evidence,
        chosen_by=workload.evidence if measured else Evidence.SIMULATED,
        assumptions=tuple(assumptions(workload)),
        warnings=(
            *((render(f"{WORDS}:warnings.too_small", workload=workload.name),) if workload.too_small else ()),
            *((render(f"{WORDS}:warnings.unclear"),) if measured and choose(workload).unclear else ()),
            *((why_free,) if why_free else remarks([device_bill(name, book) for name in devices.values()], book)),
        ),
    )


def times(workload: Workload, devices: Mapping[str, str] | None = None, *, seed: int = SEED) -> dict[str, dict[str, float]]:
    """Return relation -> tier -> seconds of a job's requests: on hdd and ssd, or `devices` in their place, and other tiers that it had."""
    makers = {tier: workload.device(tier, (devices or {}).get(tier), seed=seed) for tier in TIERS}
    found = {relation.name: {tier: relation.service_s(maker) for tier, maker in makers.items()} for relation in workload.relations}
    for relation in workload.relations:
        for tier in {placed.placement.get(relation.name, SLOW) for placed in workload.measured.values()} - set(TIERS):
            if workload.device_name(tier):
                found[relation.name][tier] = relation.service_s(workload.device(tier, seed=seed))
    return found


def names(workload: Workload, devices: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return tier -> name of its device, with `devices` in place of the run's."""
    return {tier: (devices or {}).get(tier) or workload.device_name(tier) or "" for tier in TIERS}


def problem_of(workload: Workload, question: Question, service_s: ServiceTimes, book: Book) -> tuple[Problem, str | None]:
    """Return the placement problem that `question` poses, and why it counts no money where it need not and a device has no price."""
    devices = names(workload, question.devices)
    problem = Problem(
        sizes_bytes={relation.name: relation.size_bytes for relation in workload.relations},
        service_s=service_s,
        capacity_bytes={FAST: int(question.ssd_gib * GIB)},
        devices_bytes={tier: capacity_bytes(name) for tier, name in devices.items()},
        prices={},
        jobs_per_s=question.jobs_per_hour / HOUR_S,
        budget=question.budget,
    )
    try:
        return replace(problem, prices={tier: device_bill(name, book).cost(book) / MONTHS_A_YEAR for tier, name in devices.items()}), None
    except MissingError as missing:
        if question.budget is not None or question.goal is Goal.CHEAPEST:
            raise
        return problem, render(f"{WORDS}:warnings.no_money", missing=missing)


def assumptions(workload: Workload) -> list[str]:
    """Return what advice for `workload` assumes, one line each."""
    log = any(relation.relation_class is RelationClass.WAL for relation in workload.relations)
    return render("advisor/text/assumptions.txt", workload=workload, log=log).splitlines()


def _measured(workload: Workload, question: Question, problem: Problem) -> Placement | None:
    if question.devices or question.goal is Goal.CHEAPEST:
        return None
    best = choose(workload).gain
    placement = fixed(workload)[best.placement if best else DISKS]
    return placement if gains_of(workload) and problem.feasible(placement) else None


def _placed(relation: Relation, tier: str, service_s: Mapping[str, float]) -> Placed:
    return Placed(
        relation=relation.name,
        relation_class=relation.relation_class,
        size_bytes=relation.size_bytes,
        tier=tier,
        requests=sum(one.number for one in relation.requests),
        service_s=dict(service_s),
        basis="; ".join(sorted({render(f"{WORDS}:bases.{one.basis}") for one in relation.requests})),
    )


def _against(best: Placement, problem: Problem, goal: Goal, host_s: float, /, name: str, other: Placement) -> Alternative:  # noqa: PLR0917
    return Alternative(
        name=name,
        placement=dict(other),
        ssd_bytes=problem.used_bytes(other, FAST),
        fits=problem.fits(other),
        affordable=problem.affordable(other),
        job_s=host_s + problem.time_s(other),
        cost_a_month=problem.cost_a_month(other),
        regret=regret(best, other, problem, host_s, goal),
    )


def regret(chosen: Placement, other: Placement, problem: Problem, host_s: float, goal: Goal) -> float:
    """Return what the goal wants least of, with `chosen` over with `other`, less one; the host's time belongs to the time."""
    ours, theirs = (problem.objective(placement, goal) + (host_s if goal is Goal.QUICKEST else 0.0) for placement in (chosen, other))
    return ours / theirs - 1 if theirs else 0.0


def as_text(advice: Advice) -> str:
    """Return what goes to the SSD and what that gains, then the tables of relations and of other placements, assumptions and warnings."""
    return render(
        "advisor/text/advice.txt",
        advice=advice,
        run=run_label(advice.run_id),
        moved=[name for name, tier in advice.placement.items() if tier == "ssd"],
        disks_s=next((one.job_s for one in advice.alternatives if one.name == DISKS), advice.job_s),
        least="time" if advice.goal is Goal.QUICKEST else "cost",
        size=human_bytes,
        duration=duration,
    )


def duration(time_s: float) -> str:
    """Write a duration with three significant digits, in seconds or thousandths or millionths of one."""
    if abs(time_s) >= 1000:
        return f"{time_s:,.0f} s"
    for scale, unit in ((1.0, "s"), (1e-3, "ms")):
        if abs(time_s) >= scale:
            return f"{time_s / scale:.3g} {unit}"
    return f"{time_s / 1e-6:.3g} us"
