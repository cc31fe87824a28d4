"""From the options of ``tierwise advise`` and ``tierwise move-plan`` to an answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial

from tierwise.advisor.advice import Advice, Question, advise
from tierwise.advisor.copying import copy_s
from tierwise.advisor.moving import MovePlan, Times, check_jobs, move_of, plan_move
from tierwise.advisor.workload import FAST, SLOW, Workload, read_workload
from tierwise.core import paths
from tierwise.core.errors import InputError
from tierwise.core.units import GIB
from tierwise.core.words import Goal, Way
from tierwise.costs.book import load_book
from tierwise.devices.model import build
from tierwise.devices.spec import load_device


@dataclass(frozen=True)
class Asked:
    """Whose requests count, and on which devices; empty words are chosen: see `read_workload`; devices are then the run's own."""

    run: str
    study: str
    pair: str
    workload: str
    hdd: str
    ssd: str

    def read(self) -> Workload:
        """The requests."""
        return read_workload(paths.raw(), run_id=self.run, study=self.study, pair=self.pair, name=self.workload)

    @property
    def devices(self) -> dict[str, str]:
        """Those that are named, by tier."""
        return {tier: name for tier, name in ((SLOW, self.hdd), (FAST, self.ssd)) if name}


def advice(
    asked: Asked,
    *,
    ssd_gib: float,
    budget: float | None,
    goal: Goal,
    jobs_per_hour: float,
    on: date,
    currency: str,
    region: str,
) -> Advice:
    """The cheapest or quickest placement of `asked`, at the prices of the day."""
    question = Question(
        ssd_gib=ssd_gib,
        budget=budget,
        goal=goal,
        jobs_per_hour=jobs_per_hour,
        devices=asked.devices,
    )
    return advise(asked.read(), question, load_book(on, currency=currency, region=region))


def move_plan(
    asked: Asked,
    *,
    relations: Sequence[str],
    size_gib: float | None,
    jobs: int,
    way: Way,
    predict: bool,
    job_s: tuple[float | None, float | None],
) -> MovePlan:
    """Say after how many jobs a move pays; with `size_gib` no run is needed: two devices and a job's times before and after the move."""
    check_jobs(jobs)
    before_s, after_s = job_s
    given = None if before_s is None or after_s is None else (before_s, after_s)
    if given is None and (before_s, after_s) != (None, None):
        raise InputError("--before-s, --after-s", rule="go together: a job's seconds before and after the move")
    if given is not None and min(given) <= 0:
        raise InputError("--before-s, --after-s", value=min(given), rule="must be above zero")
    if size_gib is not None:
        return _of_sizes(size_gib, given, relations, hdd=asked.hdd, ssd=asked.ssd, jobs=jobs, way=way)
    return move_of(asked.read(), relations, way=way, jobs=jobs, devices=asked.devices, predict=predict, job_s=given)


def _of_sizes(
    size_gib: float, job_s: tuple[float, float] | None, relations: Sequence[str], *, hdd: str, ssd: str, jobs: int, way: Way
) -> MovePlan:
    for option, value in (("--hdd", hdd), ("--ssd", ssd)):
        if not value:
            raise InputError(option, rule="--size-gib needs two devices", remedy="name one of data/devices")
    if job_s is None:
        raise InputError("--before-s, --after-s", rule="--size-gib needs a job's seconds before and after the move")
    if not 0 < size_gib < float("inf"):
        raise InputError("--size-gib", value=size_gib, rule="must be above zero")
    if relations:
        raise InputError("--relation", value=relations[0], rule="names a relation of a run, and --size-gib is about none")
    sizes = {"data": int(size_gib * GIB)}
    there, back = (Times.simulated(partial(_copy_s, sizes["data"], ends, way)) for ends in ((hdd, ssd), (ssd, hdd)))
    before, after = map(Times.given, job_s)
    remarks = ("the times of a job were given, and are taken as measured",)
    return plan_move(
        sizes, devices=(hdd, ssd), there=there, back=back, slow_job=before, fast_job=after, way=way, jobs=jobs, remarks=remarks
    )


def _copy_s(size_bytes: int, ends: tuple[str, str], way: Way, seed: int) -> float:
    source, target = (partial(build, load_device(name), seed=seed) for name in ends)
    return copy_s(size_bytes, source, target, way)
