"""Does it pay to copy relations to the ssd for a job, and back afterwards? After how many jobs? It is statement H11 of the survey."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil
from statistics import geometric_mean
from typing import Protocol

from tierwise.advisor.advice import WORDS, duration, names, times
from tierwise.advisor.copying import copy_s
from tierwise.advisor.placing import Placement
from tierwise.advisor.service import Build
from tierwise.advisor.workload import FAST, SLOW, Measured, Workload
from tierwise.analysis.claims import Bounds
from tierwise.analysis.rules import Verdict
from tierwise.analysis.runs import run_label
from tierwise.analysis.statistics import MINIMUM_REPEATS, Estimate, enough, geometric_estimate
from tierwise.core.errors import InputError, suggesting
from tierwise.core.text_template import render
from tierwise.core.toml import Strict
from tierwise.core.units import human_bytes
from tierwise.core.vocabulary import Evidence, RelationClass, Way


class Maker(Protocol):
    """Makes what makes new devices."""

    def __call__(self, *, seed: int) -> Build: ...


@dataclass(frozen=True)
class Times:
    """Seconds by replicate, which in simulation is a seed; what has no repeats by design (given by a reader, read off a chart) has one."""

    by_replicate: Mapping[int, float]
    evidence: Evidence

    @staticmethod
    def given(time_s: float) -> "Times":
        """Return what a reader says, who has measured it."""
        return Times({0: time_s}, Evidence.MEASURED)

    @staticmethod
    def simulated(seconds: Callable[[int], float]) -> "Times":
        """Return simulated seconds of each seed."""
        return Times({seed: seconds(seed) for seed in range(MINIMUM_REPEATS)}, Evidence.SIMULATED)

    @property
    def mean_s(self) -> float:
        """Return the geometric mean of what is there; a plan tells it only where `enough` repeats stand behind it, or one by design."""
        return geometric_mean(self.by_replicate.values())

    def as_one(self) -> "Times":
        return Times({0: self.mean_s}, self.evidence)

    def at(self, replicate: int) -> float | None:
        return self.by_replicate.get(replicate, next(iter(self.by_replicate.values())) if len(self.by_replicate) == 1 else None)


class MovePlan(Strict):
    """The answer. `break_even_jobs`, with its interval over the repeats, is the move there and back over what a job saves."""

    relations: dict[str, int]
    source: str
    target: str
    way: Way
    there_s: float
    back_s: float
    slow_job_s: float
    fast_job_s: float
    saved_s: float
    move_evidence: Evidence
    job_evidence: Evidence
    break_even_jobs: float | None  # None where a job saves nothing in some repeat, or too few were clean
    low: float | None
    high: float | None
    pairs: int
    runs: int  # how many are behind the interval
    freedom: float  # degrees of freedom of the interval
    jobs: int
    pays: Verdict  # whether the move pays within `jobs`; no verdict across kinds of evidence
    reason: str = ""
    run_id: str = ""
    remarks: tuple[str, ...] = ()

    @property
    def estimate(self) -> Estimate:
        return Estimate(self.break_even_jobs, self.low, self.high, self.pairs, self.runs, self.freedom)

    @property
    def whole_jobs(self) -> int | None:
        return None if self.break_even_jobs is None else ceil(self.break_even_jobs)


def plan_move(
    relations: Mapping[str, int],
    *,
    devices: tuple[str, str],
    there: Times,
    back: Times,
    slow_job: Times,
    fast_job: Times,
    way: Way = Way.SERVER,
    jobs: int = 1,
    run_id: str = "",
    remarks: Sequence[str] = (),
) -> MovePlan:
    """Reckon break-even and verdict from the times of the move and of a job on either placement, of the same replicate each.

    Each of the four has the same replicates, or one value for all. Where each has one value, the break-even rests by design on those.
    """
    move_evidence, job_evidence = Evidence.of({there.evidence, back.evidence}), Evidence.of({slow_job.evidence, fast_job.evidence})
    if move_evidence is not job_evidence:  # a seed of the one is no replicate of the other
        there, back = there.as_one(), back.as_one()
    rows = _paired(there, back, slow_job, fast_job)
    saving = [slow_s - fast_s for _, _, slow_s, fast_s in rows.values()]
    estimate = Estimate(None, None, None, len(rows))
    if min(saving, default=0.0) > 0:
        pays_after = {replicate: (there_s + back_s) / (slow_s - fast_s) for replicate, (there_s, back_s, slow_s, fast_s) in rows.items()}
        by_design = all(len(one.by_replicate) == 1 for one in (there, back, slow_job, fast_job))
        estimate = Estimate(next(iter(pays_after.values())), None, None, 1) if by_design else geometric_estimate(pays_after)
    verdict, code = _verdict(estimate, saving, Evidence.of({move_evidence, job_evidence}), jobs)
    return MovePlan(
        relations=dict(relations),
        source=devices[0],
        target=devices[1],
        way=way,
        there_s=there.mean_s,
        back_s=back.mean_s,
        slow_job_s=slow_job.mean_s,
        fast_job_s=fast_job.mean_s,
        saved_s=slow_job.mean_s - fast_job.mean_s,
        move_evidence=move_evidence,
        job_evidence=job_evidence,
        break_even_jobs=estimate.value,
        low=estimate.low,
        high=estimate.high,
        pairs=estimate.repeats,
        runs=estimate.runs,
        freedom=estimate.freedom,
        jobs=jobs,
        pays=verdict,
        reason=render(f"{WORDS}:reasons.{code}", repeats=estimate.repeats, jobs=jobs) if code else "",
        run_id=run_id,
        remarks=tuple(remarks),
    )


def _paired(*times: Times) -> dict[int, list[float]]:
    replicates = max((one.by_replicate for one in times), key=len)
    rows = {replicate: [time_s for one in times if (time_s := one.at(replicate)) is not None] for replicate in sorted(replicates)}
    return {replicate: row for replicate, row in rows.items() if len(row) == len(times)}


def move_of(
    workload: Workload,
    moved: Sequence[str] = (),
    *,
    way: Way = Way.SERVER,
    jobs: int = 1,
    devices: Mapping[str, str] | None = None,
    job_s: tuple[float, float] | None = None,
) -> MovePlan:
    """Return the plan for relations of a run (none named: all but the log), from hdd to ssd and back.

    A job's times are `job_s` before and after the move, else those of the two measured placements where the run has both, on its own
    devices as they are, else predicted. `devices`: tier -> device of ``data/devices`` in place of the run's.
    """
    known = {one.name: one.size_bytes for one in workload.relations if one.relation_class is not RelationClass.WAL}
    unknown = sorted(set(moved) - known.keys())
    if unknown:
        rule, remedy = f"run {workload.run_id} has no such table or index", suggesting(unknown[0], known, f"one of: {', '.join(known)}")
        raise InputError("--relation", value=unknown[0], rule=rule, remedy=remedy)
    sizes = {name: known[name] for name in (moved or known)}
    slow, fast = (partial(workload.device, tier, (devices or {}).get(tier)) for tier in (SLOW, FAST))
    there, back = (Times.simulated(partial(copies_s, sizes, way, ends)) for ends in ((slow, fast), (fast, slow)))
    predicted = ""
    if job_s is not None:
        slow_job, fast_job = map(Times.given, job_s)
    else:
        slow_job, fast_job, predicted = _job_times(workload, sizes, devices or {})
    named = names(workload, devices)
    notes = {"given": job_s is not None, "predicted": predicted, "evidence": workload.evidence, "needed": MINIMUM_REPEATS}
    return plan_move(
        sizes,
        devices=(named[SLOW], named[FAST]),
        there=there,
        back=back,
        slow_job=slow_job,
        fast_job=fast_job,
        way=way,
        jobs=jobs,
        run_id=workload.run_id,
        remarks=render("advisor/text/move_remarks.txt", **notes).splitlines(),
    )


def copies_s(sizes: Mapping[str, int], way: Way, ends: tuple[Maker, Maker], seed: int) -> float:
    """Return seconds to copy relations of `sizes`, one after the other, from the first of `ends` to the second (simulated)."""
    source, target = (maker(seed=seed) for maker in ends)
    return sum(copy_s(size, source, target, way) for size in sizes.values())


def _job_times(workload: Workload, moved: Mapping[str, int], devices: Mapping[str, str]) -> tuple[Times, Times, str]:
    """Return a job's times before and after the move, and why they are predicted, if they are."""
    before = {relation.name: SLOW for relation in workload.relations}
    after = {**before, **dict.fromkeys(moved, FAST)}
    found = [_cell(workload, placement) for placement in (before, after)]
    repeated = [one for one in found if one is not None and enough(len(one.job_s))]
    if not devices and workload.slowdown == 1 and len(repeated) == len(found):
        slow, fast = (Times(one.job_s, one.evidence) for one in repeated)
        return slow, fast, ""
    by_seed = {seed: times(workload, devices, seed=seed) for seed in range(MINIMUM_REPEATS)}

    def predicted(placement: Placement) -> Times:
        return Times.simulated(lambda seed: workload.host_s + sum(by_seed[seed][name][tier] for name, tier in placement.items()))

    why = "devices" if devices else "slowed" if workload.slowdown != 1 else "seldom"
    return predicted(before), predicted(after), why


def _cell(workload: Workload, wanted: Placement) -> Measured | None:
    for measured in workload.measured.values():
        known = {name: tier for name, tier in measured.placement.items() if tier in {SLOW, FAST}}
        if known and all(wanted.get(name) == tier for name, tier in known.items()):
            return measured
    return None


def _verdict(estimate: Estimate, saving: Sequence[float], evidence: Evidence, jobs: int) -> tuple[Verdict, str]:
    """Return whether the move pays within `jobs`, and why not: a key of `reasons` in ``words.toml``, or empty."""
    if evidence is Evidence.MIXED:
        return Verdict.MIXED, "mixed"
    if estimate.interval is None and not enough(len(saving)):
        return Verdict.UNDECIDED, "few"
    if max(saving) <= 0:
        return Verdict.CONTRADICTED, "saves_nothing"
    if estimate.interval is None:
        return Verdict.UNDECIDED, "saves_sometimes"
    bounds = Bounds(upper=float(jobs))
    if bounds.contain(*estimate.interval):
        return Verdict.CONFIRMED, ""
    return (Verdict.CONTRADICTED, "") if bounds.exclude(*estimate.interval) else (Verdict.UNDECIDED, "holds")


def as_text(plan: MovePlan) -> str:
    """Return when the move pays, how long copying takes, what a job saves, the verdict, and what is moved."""
    run = run_label(plan.run_id) if plan.run_id else ""
    return render("advisor/text/move.txt", plan=plan, run=run, duration=duration, size=human_bytes)
