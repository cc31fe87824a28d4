"""The client of a campaign: it gives each machine one replicate at a time until the store has a whole attempt at every one."""

import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from threading import Timer
from typing import Any, Final, NamedTuple

from tierwise import __version__
from tierwise.bench import loop
from tierwise.bench.inputs import Inputs
from tierwise.bench.study_registry import load_study, summary_of
from tierwise.cluster import work
from tierwise.cluster.attempts import Attempt, Survey, Surveyor, new_name
from tierwise.cluster.collecting import CUT, Campaign, begin_campaign, collect_study, collect_there, report_leftovers
from tierwise.cluster.replicate import ENDED, Job
from tierwise.cluster.store import PATIENCE_S, Store, open_store, patiently, write_patiently
from tierwise.cluster.worker import checked, need_dask, refuse_unsafe, security
from tierwise.core.errors import InputError, TierwiseError
from tierwise.core.host import machine_id
from tierwise.core.progress import Progress, say
from tierwise.core.tasks import LOCAL
from tierwise.timings.manifest import Manifest, load_manifest
from tierwise.timings.parts import done_parts

POLL_S: Final = 1.0
SURVEY_S: Final = 30.0  # how often the client looks at all attempts of a study; at those of a replicate it looks when its task has ended
MOST_FAILURES: Final = 3  # failed attempts at one replicate after which the campaign ends
CANCELLED: Final = "cancelled"  # the folder of objects in a run that end its campaign


Unit = tuple[str, int]  # A study and the number of one of its replicates


@dataclass(frozen=True)
class Deadline:
    """When a campaign with a budget ends; `steps` are worth nothing by halves, and `expected_s` is the time of each replicate."""

    at_s: float  # of `time.monotonic`
    steps: Sequence[Sequence[Unit]]
    expected_s: Mapping[Unit, float]
    margin: float = 1.0  # how much longer than expected a replicate may take

    @property
    def order(self) -> list[Unit]:
        return [unit for step in self.steps for unit in step]

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self.at_s

    def fits(self, unit: Unit, lacking: Sequence[Unit], pace: float, machines: int) -> bool:
        """Return whether `unit` can end in time, and where it is the first of its step, the whole step."""
        step = next(step for step in self.steps if unit in step)
        begins = [one for one in step if one in lacking] == list(step)
        whole_s = sum(self.expected_s[one] for one in step) / max(1, machines) if begins else 0.0
        return pace * max(whole_s, self.expected_s[unit]) <= self.at_s - time.monotonic()


@dataclass
class Dispatch:
    """Replicates on their way to machines, in this order: those of one study, or with a `deadline` of several."""

    store: Store
    campaign: Campaign
    study: str  # empty: of several
    order: Sequence[Unit]
    deadline: Deadline | None = None
    running: dict[str, "Running"] = field(default_factory=dict)  # machine -> its unfinished replicate
    unfit: set[str] = field(default_factory=set)  # addresses of workers that get no more work
    ended_before: set[str] = field(default_factory=set)  # marks of earlier cancellations, which do not count

    @property
    def run_id(self) -> str:
        return self.campaign.run.run_id

    @cached_property
    def surveyor(self) -> Surveyor:
        return Surveyor(self.store, self.run_id)

    def missing(self, found: Survey) -> list[Unit]:
        return [unit for unit in self.order if unit not in found.counting]

    def job(self, unit: Unit) -> str:
        job = Job(run=self.campaign.run, study=unit[0], replicate=unit[1], attempt=new_name(), store=self.store.url)
        return job.model_dump_json()

    def choose(self, machine: str, found: Survey, machines: int = 1) -> Unit | None:
        """Return the replicate that `machine` gets next; one that failed there waits for another machine, if there is one."""
        left = self.fitting(machine, found, machines)
        failed_here = {(one.study, one.replicate) for one in found.failed if one.machine == machine and one.error != ENDED}
        return next((unit for unit in left if unit not in failed_here), left[0] if left and not self.running else None)

    def fitting(self, machine: str, found: Survey, machines: int) -> list[Unit]:
        """Return what is missing, is measured nowhere, and can end before the deadline on `machine`."""
        missing, taken = self.missing(found), {one.unit for one in self.running.values()}
        left = [unit for unit in missing if unit not in taken]
        if self.deadline is None:
            return left
        pace, fitting, barred = self.pace(machine, found), list[Unit](), set[str]()
        for unit in left:
            if unit[0] not in barred and self.deadline.fits(unit, left, pace, machines):
                fitting.append(unit)
            else:
                barred.add(unit[0])  # replicates of a study are measured in order
        return fitting

    def pace(self, machine: str, found: Survey) -> float:
        """Return how many times as long as expected a replicate on `machine` may take, from those that it has measured."""
        assert self.deadline is not None
        own = [one for unit, one in found.counting.items() if one.machine == machine and unit in self.deadline.expected_s]
        expected_s = sum(self.deadline.expected_s[one.study, one.replicate] for one in own)
        took_s = sum((one.finished_at - one.started_at).total_seconds() for one in own)
        return self.deadline.margin * (took_s / expected_s if expected_s else 1.0)

    def is_done(self, found: Survey, machines: Iterable[str]) -> bool:
        """Return whether all is there, or nothing more can end before the deadline."""
        if self.deadline is None or not self.missing(found):
            return not self.missing(found)
        names = list(machines)
        left = any(self.fitting(name, found, len(names)) for name in names or [""])
        return self.deadline.is_over or not (self.running or left)


class Running(NamedTuple):
    unit: Unit
    worker: str
    future: Any


def run_study(name: str, **chosen: Any) -> Manifest:
    """Measure study `name` as `bench.loop.run_study` does; with ``SCHEDULER`` and ``STORE`` on workers, or here into a store."""
    scheduler, address = os.environ.get("SCHEDULER", ""), os.environ.get("STORE", "")
    check_options(scheduler, address)
    if not address:
        return loop.run_study(name, **chosen)
    return loop.run_study(name, **chosen, measure=partial(_measure, store=open_store(address), scheduler=scheduler))


def check_options(scheduler: str, store: str) -> None:
    """Refuse a scheduler without a store, which would lose what workers measure, and a store without a scheduler."""
    if scheduler:
        need_dask()
    if scheduler and scheduler != LOCAL:
        checked(scheduler)
        if not store:
            remedy = "make report STORE=s3://bucket/prefix, or a folder"
            raise InputError("STORE", rule="workers need a store for their rows", remedy=remedy)
    if store:
        open_store(store)
        if not scheduler:
            remedy = "set SCHEDULER=local to measure on this machine, or the address of a scheduler"
            raise InputError("STORE", value=store, rule="is for campaigns", remedy=remedy)


def _measure(study: str, inputs: Inputs, folder: Path, store: Store, scheduler: str) -> Manifest:
    run = load_manifest(folder)
    if study in {record.name for record in run.studies}:
        return run
    if run.retry is not None:
        raise InputError("RETRY", value=1, rule="adds replicates on this machine only", remedy="leave RETRY or SCHEDULER empty")
    campaign = _campaign(store, run, inputs)
    order = [(study, number) for number in range(campaign.replicates[study])]
    dispatch = Dispatch(store, campaign, study, order, ended_before=_marks(store, run.run_id))
    found = _dispatch_here(dispatch) if scheduler == LOCAL else _dispatch(dispatch, scheduler)
    report_leftovers(found)
    return collect_study(store, [found.counting[unit] for unit in order], folder, summary_of)


def measure_within(deadline: Deadline, inputs: Inputs, folder: Path, *, scheduler: str, address: str) -> Manifest:
    """Measure whole replicates of the run in `folder` until `deadline`, and return the run with what the store at `address` has then.

    Without a scheduler, this machine measures. The manifest's `lacking` says how many replicates of a study are not there.
    """
    store, run = open_store(address), load_manifest(folder)
    campaign = _campaign(store, run, inputs)
    done_units = {(study, replicate) for study, _, _, replicate in done_parts(folder)}
    if alien := sorted((done_units & {*deadline.order}) - Surveyor(store, run.run_id).survey().counting.keys()):
        rule = f"run {run.run_id} has rows of {alien[0][0]}, replicate {alien[0][1] + 1}, which {store.url} lacks"
        raise InputError("BUDGET", rule=rule, remedy="leave BUDGET empty to measure the rest, or set FRESH=1")
    dispatch = Dispatch(store, campaign, "", deadline.order, deadline, ended_before=_marks(store, run.run_id))
    found = _dispatch_here(dispatch, scheduler) if scheduler in {"", LOCAL} else _dispatch(dispatch, scheduler)
    report_leftovers(found)
    if not any(unit in found.counting for unit in deadline.order if unit[1] == 0):
        raise TierwiseError("the budget ended before a replicate was whole. Remedy: make report with a longer BUDGET goes on")
    there = {study: campaign.replicates[study] for study, _ in deadline.order}
    done = collect_there(store, found, there, folder, summary_of)
    if done.lacking:
        write_patiently(store, f"{run.run_id}/{CUT}/{new_name()}", b"{}")
    return done


def _campaign(store: Store, run: Manifest, inputs: Inputs) -> Campaign:
    names = [name for name in run.fingerprints if name not in run.taken and name in (run.chosen or run.fingerprints)]
    chosen = {name: loop.with_trials(load_study(name), inputs, run.chosen.get(name, "")) for name in names}
    return begin_campaign(store, run, {name: loop.replicates_in(study, inputs, run) for name, study in chosen.items()})


def _dispatch_here(dispatch: Dispatch, scheduler: str = LOCAL) -> Survey:
    work.end_left_behind()
    machine, survey = machine_id(), partial(dispatch.surveyor.survey, dispatch.study)
    while not dispatch.is_done(found := patiently(survey, "to list attempts"), [machine]):
        _end_if_cancelled(dispatch)
        _end_after_failures(found.failed)
        if left := dispatch.fitting(machine, found, 1):
            with _ended_at(dispatch):
                work.measure(dispatch.job(left[0]), scheduler)
    return found


@contextmanager
def _ended_at(dispatch: Dispatch) -> Iterator[None]:
    if dispatch.deadline is None:
        yield
        return
    timer = Timer(max(0.0, dispatch.deadline.at_s - time.monotonic()), work.end_run, [dispatch.run_id])
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _dispatch(dispatch: Dispatch, scheduler: str) -> Survey:
    progress = Progress(f"{dispatch.study.replace('_', ' ') or 'replicates'} on workers", len(dispatch.order))
    deadline_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            with _connected(scheduler) as client:
                deadline_s = time.monotonic() + PATIENCE_S
                return _until_whole(dispatch, client, progress)
        except (OSError, TimeoutError) as error:
            if time.monotonic() > deadline_s:
                remedy = "start it; make report continues the run"
                raise TierwiseError(f"the scheduler {scheduler} is away: {error}. Remedy: {remedy}") from error
            say(f"the scheduler or the store is away, next try in {POLL_S:.0f} s ({error})")
            dispatch.running.clear()  # what workers still measure, they store
            if dispatch.deadline is not None and dispatch.deadline.is_over:
                return dispatch.surveyor.survey(dispatch.study)
            time.sleep(POLL_S)


@contextmanager
def _connected(scheduler: str) -> Iterator[Any]:
    from distributed import Client  # noqa: PLC0415

    client = Client(scheduler, security=security(scheduler), timeout=5, set_as_default=False, name="tierwise")
    try:
        refuse_unsafe(client, scheduler)
        yield client
    finally:
        with suppress(OSError, TimeoutError):
            client.close(timeout=5)


def _until_whole(dispatch: Dispatch, client: Any, progress: Progress) -> Survey:
    found, surveyed_s, waiting_said = dispatch.surveyor.survey(dispatch.study), time.monotonic(), False
    while not dispatch.is_done(found, workers := _by_machine(client)):
        missing = dispatch.missing(found)
        _end_if_cancelled(dispatch, client)
        ended = _ended(dispatch, workers)
        for machine, addresses in workers.items():
            fit = [one for one in addresses if one not in dispatch.unfit]
            if machine in dispatch.running or not fit:
                continue
            unit = dispatch.choose(machine, found, len(workers))
            if unit is not None:
                key = f"{dispatch.run_id}-{new_name()}"
                future = client.submit(work.measure, dispatch.job(unit), key=key, workers=[fit[0]], pure=False)
                dispatch.running[machine] = Running(unit, fit[0], future)
        time.sleep(POLL_S)
        for study, replicate in ended:
            found.add(dispatch.surveyor.survey(f"{study}/{replicate}"))
        if time.monotonic() - surveyed_s > SURVEY_S:
            found, surveyed_s = dispatch.surveyor.survey(dispatch.study), time.monotonic()
        if ended:
            progress.step(len(missing) - len(dispatch.missing(found)))
            _end_after_failures(found.failed)
        if dispatch.unfit.issuperset(address for addresses in workers.values() for address in addresses) and not waiting_said:
            waiting_said = True
            say(f"no worker of version {__version__} can measure: start tierwise worker --scheduler ADDRESS; this campaign waits for it")
    if dispatch.running:
        client.run(work.end_run, dispatch.run_id)
    return dispatch.surveyor.survey(dispatch.study)


def _by_machine(client: Any) -> dict[str, list[str]]:
    if client.status != "running":
        raise OSError(f"the connection is {client.status}")
    found: dict[str, list[str]] = {}
    for address, worker in client.scheduler_info(n_workers=-1)["workers"].items():
        machine, _, rest = str(worker["name"]).partition("-")
        if rest.endswith(f"-{__version__}"):
            found.setdefault(machine, []).append(address)
    return found


def _ended(dispatch: Dispatch, workers: Mapping[str, Sequence[str]]) -> list[Unit]:
    """Release what has ended, or has lost its worker, and return the numbers of these replicates."""
    ended = []
    for machine, one in list(dispatch.running.items()):
        lost = one.worker not in workers.get(machine, ())
        if not lost and not one.future.done():
            continue
        if not lost and one.future.status == "error":
            dispatch.unfit.add(one.worker)
            say(f"worker {one.worker} of machine {machine} gets no more work until it is started again: {one.future.exception()}")
        if lost:
            say(f"machine {machine} is away; {one.unit[0]}, replicate {one.unit[1] + 1} is measured elsewhere")
        one.future.cancel()
        one.future.release()
        del dispatch.running[machine]
        ended.append(one.unit)
    return ended


def _end_after_failures(failed: Sequence[Attempt]) -> None:
    counted = Counter((one.study, one.replicate) for one in failed if one.error != ENDED)
    for unit, failures in counted.items():
        if failures >= MOST_FAILURES:
            last = max((one for one in failed if (one.study, one.replicate) == unit), key=lambda one: one.finished_at)
            raise TierwiseError(f"{unit[0]}, replicate {unit[1] + 1}: {failures} attempts failed, the last one: {last.error}")


def _end_if_cancelled(dispatch: Dispatch, client: Any = None) -> None:
    if _marks(dispatch.store, dispatch.run_id) - dispatch.ended_before:
        if client:
            client.run(work.end_run, dispatch.run_id)
        raise TierwiseError(f"campaign {dispatch.run_id} was cancelled. Remedy: make report with the same inputs continues it")


def _marks(store: Store, run_id: str) -> set[str]:
    return set(store.sizes(f"{run_id}/{CANCELLED}"))


def cancel(store: Store, run_id: str) -> None:
    """Have the client of a campaign end it, with the replicates that are being measured."""
    store.write(f"{run_id}/{CANCELLED}/{new_name()}", b"{}")
