"""The client of a campaign: it gives each machine one replicate at a time until the store has a whole attempt at every one."""

import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from tierwise import __version__
from tierwise.bench import loop
from tierwise.bench.inputs import Inputs
from tierwise.bench.study_registry import load_study, summary_of
from tierwise.cluster import work
from tierwise.cluster.attempts import Attempt, Survey, Surveyor, new_name
from tierwise.cluster.collecting import Campaign, begin_campaign, collect_study, report_leftovers
from tierwise.cluster.connection import checked, need_dask, refuse_stealing, security
from tierwise.cluster.replicate import Job
from tierwise.cluster.store import PATIENCE_S, Store, open_store
from tierwise.core.errors import InputError, TierwiseError
from tierwise.core.progress import Progress, say
from tierwise.core.tasks import LOCAL
from tierwise.timings.manifest import Manifest, load_manifest

POLL_S: Final = 1.0
SURVEY_S: Final = 30.0
"""How often the client looks at all attempts of a study; at those of a replicate it looks when its task has ended."""
MOST_FAILURES: Final = 3
"""Failed attempts at one replicate after which the campaign ends."""
CANCELLED: Final = "cancelled"
"""The folder of objects in a run that end its campaign."""


@dataclass
class Dispatch:
    """Replicates of one study on their way to machines."""

    store: Store
    campaign: Campaign
    study: str
    running: dict[str, "Running"] = field(default_factory=dict)  # machine -> its unfinished replicate
    unfit: dict[str, str] = field(default_factory=dict)  # machine -> why it gets no work
    ended_before: set[str] = field(default_factory=set)  # marks of earlier cancellations, which do not count

    @property
    def run_id(self) -> str:
        return self.campaign.run.run_id

    @cached_property
    def surveyor(self) -> Surveyor:
        return Surveyor(self.store, self.run_id)

    def missing(self, found: Survey) -> list[int]:
        return [number for number in range(self.campaign.replicates[self.study]) if (self.study, number) not in found.counting]

    def job(self, replicate: int) -> str:
        job = Job(run=self.campaign.run, study=self.study, replicate=replicate, attempt=new_name(), store=self.store.url)
        return job.model_dump_json()

    def choose(self, machine: str, found: Survey) -> int | None:
        """Return the replicate that `machine` gets next; one that failed there waits for another machine, if there is one."""
        taken = {one.replicate for one in self.running.values()}
        left = [number for number in self.missing(found) if number not in taken]
        failed_here = {one.replicate for one in found.failed if one.machine == machine}
        return next((number for number in left if number not in failed_here), left[0] if left and not self.running else None)


@dataclass(frozen=True)
class Running:
    replicate: int
    worker: str
    future: Any


def run_study(name: str, **chosen: Any) -> Manifest:
    """Measure study `name` as `bench.loop.run_study` does; with ``SCHEDULER`` and ``STORE`` on workers, or here into a store."""
    scheduler, address = os.environ.get("SCHEDULER", ""), os.environ.get("STORE", "")
    check_options(scheduler, address)
    if not address:
        return loop.run_study(name, **chosen)
    store = open_store(address)

    def measure(study: str, inputs: Inputs, folder: Path) -> Manifest:
        return _measure(study, inputs, folder, store, scheduler)

    return loop.run_study(name, **chosen, measure=measure)


def check_options(scheduler: str, store: str) -> None:
    """Refuse a scheduler without a store, which would lose what workers measure, and a store without a scheduler."""
    if scheduler:
        need_dask()
    if scheduler and scheduler != LOCAL:
        checked(scheduler)
        if not store:
            raise InputError(
                "STORE", rule="workers need a store for their rows", remedy="make report STORE=s3://bucket/prefix, or a folder"
            )
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
    names = [name for name in run.fingerprints if name not in run.taken and name in (run.chosen or run.fingerprints)]
    campaign = begin_campaign(store, run, {name: _replicates(name, inputs, run) for name in names})
    dispatch = Dispatch(store, campaign, study, ended_before=_marks(store, run.run_id))
    found = _dispatch_here(dispatch) if scheduler == LOCAL else _dispatch(dispatch, scheduler)
    report_leftovers(found)
    attempts = [found.counting[study, number] for number in range(campaign.replicates[study])]
    return collect_study(store, attempts, folder, summary_of)


def _replicates(name: str, inputs: Inputs, run: Manifest) -> int:
    return loop.replicates_in(loop.with_trials(load_study(name), inputs, run.chosen.get(name, "")), inputs, run)


def _dispatch_here(dispatch: Dispatch) -> Survey:
    work.end_left_behind()
    while missing := dispatch.missing(found := dispatch.surveyor.survey(dispatch.study)):
        _end_if_cancelled(dispatch)
        _end_after_failures(dispatch, found.failed)
        work.measure(dispatch.job(missing[0]))
    return found


def _dispatch(dispatch: Dispatch, scheduler: str) -> Survey:
    progress = Progress(f"{dispatch.study.replace('_', ' ')} on workers", dispatch.campaign.replicates[dispatch.study])
    deadline_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            with _connected(scheduler) as client:
                deadline_s = time.monotonic() + PATIENCE_S
                return _until_whole(dispatch, client, progress)
        except (OSError, TimeoutError) as error:
            if time.monotonic() > deadline_s:
                raise TierwiseError(
                    f"the scheduler {scheduler} is away: {error}. Remedy: start it; make report continues the run"
                ) from error
            say(f"the scheduler or the store is away, next try in {POLL_S:.0f} s ({error})")
            dispatch.running.clear()  # what workers still measure, they store
            time.sleep(POLL_S)


@contextmanager
def _connected(scheduler: str) -> Iterator[Any]:
    from distributed import Client  # noqa: PLC0415

    client = Client(scheduler, security=security(scheduler), timeout=5, set_as_default=False, name="tierwise")
    try:
        refuse_stealing(client, scheduler)
        yield client
    finally:
        with suppress(OSError, TimeoutError):
            client.close(timeout=5)


def _until_whole(dispatch: Dispatch, client: Any, progress: Progress) -> Survey:
    found, surveyed_s, waiting_said = dispatch.surveyor.survey(dispatch.study), time.monotonic(), False
    while missing := dispatch.missing(found):
        _end_if_cancelled(dispatch, client)
        workers = _by_machine(client)
        ended = _ended(dispatch, workers)
        for machine, addresses in workers.items():
            if machine in dispatch.running or machine in dispatch.unfit:
                continue
            replicate = dispatch.choose(machine, found)
            if replicate is not None:
                future = client.submit(
                    work.measure, dispatch.job(replicate), key=f"{dispatch.run_id}-{new_name()}", workers=[addresses[0]], pure=False
                )
                dispatch.running[machine] = Running(replicate, addresses[0], future)
        time.sleep(POLL_S)
        for replicate in ended:
            found.add(dispatch.surveyor.survey(f"{dispatch.study}/{replicate}"))
        if time.monotonic() - surveyed_s > SURVEY_S:
            found, surveyed_s = dispatch.surveyor.survey(dispatch.study), time.monotonic()
        if ended:
            progress.step(len(missing) - len(dispatch.missing(found)))
            _end_after_failures(dispatch, found.failed)
        if not workers and not waiting_said:
            waiting_said = True
            say("no worker is connected: start tierwise worker --scheduler ADDRESS on a machine")
    return found


def _by_machine(client: Any) -> dict[str, list[str]]:
    """Return the addresses of the connected workers of this version by machine."""
    if client.status != "running":
        raise OSError(f"the connection is {client.status}")
    found: dict[str, list[str]] = {}
    for address, worker in client.scheduler_info()["workers"].items():
        machine, _, rest = str(worker["name"]).partition("-")
        if rest.endswith(f"-{__version__}"):
            found.setdefault(machine, []).append(address)
    return found


def _ended(dispatch: Dispatch, workers: Mapping[str, Sequence[str]]) -> list[int]:
    """Release what has ended, or has lost its worker, and return the numbers of these replicates."""
    ended = []
    for machine, one in list(dispatch.running.items()):
        lost = one.worker not in workers.get(machine, ())
        if not lost and not one.future.done():
            continue
        if not lost and one.future.status == "error":
            dispatch.unfit[machine] = str(one.future.exception())
            say(f"machine {machine} gets no more work: {dispatch.unfit[machine]}")
        if lost:
            say(f"machine {machine} is away; replicate {one.replicate + 1} is measured elsewhere")
        one.future.cancel()
        one.future.release()
        del dispatch.running[machine]
        ended.append(one.replicate)
    return ended


def _end_after_failures(dispatch: Dispatch, failed: Sequence[Attempt]) -> None:
    counted = Counter(one.replicate for one in failed)
    for replicate, failures in counted.items():
        if failures >= MOST_FAILURES:
            last = max((one for one in failed if one.replicate == replicate), key=lambda one: one.finished_at)
            raise TierwiseError(f"{dispatch.study}, replicate {replicate + 1}: {failures} attempts failed, the last one: {last.error}")


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
