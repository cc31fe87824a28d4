"""What `make report` and `tierwise run` call: acquire, run, show, render, in order, each notebook through papermill."""

import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from tierwise.advisor.workload import behind_advice
from tierwise.analysis.runs import find_run
from tierwise.bench.code_digests import data_sets_in
from tierwise.bench.inputs import Inputs
from tierwise.bench.loop import gather_inputs, with_trials
from tierwise.bench.run_record import record_stage, update
from tierwise.bench.runs import begin_retry, begin_run, complete, finish, lacking, look_ahead, reopen
from tierwise.bench.study_registry import code_of_study, load_study, summary_of
from tierwise.bench.workspace import one_report
from tierwise.cluster.client import Deadline, check_options, measure_within
from tierwise.cluster.collecting import fetch_run
from tierwise.cluster.store import is_stored
from tierwise.core import data_sets, paths, studies
from tierwise.core.errors import GO_ON, InputError, MissingError, TierwiseError, one_line, with_remedy
from tierwise.core.files import make_folder, put, scratch_folder
from tierwise.core.host import host_lock
from tierwise.core.pace import Processors, piece_s
from tierwise.core.profiles import Profile, load_profile
from tierwise.core.progress import ENDS, Progress, announcing, minutes_left, say, verbose
from tierwise.core.tasks import LOCAL
from tierwise.core.units import human_bytes
from tierwise.plan.budget import MARGIN, bought, expected_seconds, load_intervals, ordered
from tierwise.plan.estimate import Plan, load_recorded, plan_of, sentence
from tierwise.postgres.workspace import open_workspace
from tierwise.report import staleness as freshness
from tierwise.report.latest_answer import answer_lines, ship_answer
from tierwise.report.study_registry import judged
from tierwise.timings.export import export
from tierwise.timings.manifest import RETRIED, Manifest, Stage, load_manifest, manifests
from tierwise.timings.merging import merge_runs


@dataclass(frozen=True)
class ReportRequest:
    """What a reader wants measured: the options of ``make report``."""

    profile: str
    tiers: str = ""
    seed: int = 1
    sources: Mapping[str, str] = field(default_factory=dict)  # data set -> source
    fresh: bool = False
    retry: bool = False
    scheduler: str = ""
    store: str = ""
    budget_s: float = 0.0  # 0: no limit
    begun_s: float = field(default_factory=time.monotonic)  # when the command began, from which the budget counts
    agree: Callable[[str], None] = lambda _: None
    """Asks the reader before something slow begins, and raises where the answer is no; by default it goes on."""

    def inputs(self) -> Inputs:
        return gather_inputs(profile=self.profile, tiers=self.tiers, seed=self.seed, **self.sources)


ACQUIRING: Final = "acquire-"  # how the name of a notebook begins that acquires a data set
BUDGET: Final = "budget"  # the stage in which a budget's replicates are measured
ATTEMPTS: Final = "attempts"  # the folder within a run that is its store, where a budget has no other
DRIVING: Final = "run-"
"""How the name of a notebook begins that measures: its kernel has servers and mounts to put away before it ends, others nothing."""

KERNELS: Final = 2  # how many chapters are made at once: each is one process for most of its time, and nothing is being measured then


def make_report(request: ReportRequest, *, engine: str, run_id: str = "") -> Path:
    """Measure what is missing, or take the run `run_id`, then render, and return the folder of the built site."""
    check_options(request.scheduler, request.store)
    named = stored_or_found(run_id) if run_id else None
    elsewhere = variables({"SCHEDULER": request.scheduler, "STORE": request.store})
    with kernels(), elsewhere, runs_in(named.parent if named else paths.raw()):
        begun_s = time.monotonic()
        run, measured = (complete_run(named), False) if named else _measured(request)
        folder = paths.raw() / run.run_id
        site = freshness.built(folder, engine)
        if site:
            say("nothing changed since this version was built")
        else:
            from tierwise.report.render import render  # noqa: PLC0415  a report in which nothing changed needs no heavy library

            executed = _show(run)
            say("rendering")
            site = render(run_id=run.run_id, executed=executed, engine=engine)
            freshness.keep_built(site, folder, engine)
        if measured:
            measured_s = sum(stage.took_s for stage in run.stages)
            say(f"took {(time.monotonic() - begun_s) / 60:.1f} minutes; measuring in this run {measured_s / 60:.1f}")
        for line in answer_lines(folder):
            say(line)
        return site


def stored_or_found(name: str) -> Path:
    """Return the folder of the run `name`: fetched from a store if `name` is an address in one, else named as `find_run` takes it."""
    return fetch_run(name, summary_of, complete) if is_stored(name) else find_run(name)


def make_reference(request: ReportRequest, *, run_id: str = "", runs: int = 1) -> Path:
    """Ship a complete run with the checkout, with its five lines; with `runs`, merged of this number of runs with consecutive seeds."""
    if runs > 1 and not run_id:
        run_id = merged_run(request, runs)
    shipped = export_run(request, paths.reference(), run_id=run_id)
    ship_answer(shipped)
    return shipped


def merged_run(request: ReportRequest, runs: int) -> str:
    """Return the id of the run that is merged of `runs` with the request's seed and the next ones, measured unless they are complete."""
    with kernels():
        measured = [_measured(replace(request, seed=request.seed + number))[0].run_id for number in range(runs)]
    there = manifests(paths.raw()).values()
    known = next((run.run_id for run in there if [one.run_id for one in run.merged] == measured), None)
    return known or merge_runs([paths.raw() / name for name in measured], paths.raw(), summary_of).run_id


def export_run(request: ReportRequest, place: Path, *, run_id: str = "") -> Path:
    """Export the requested run, measured unless it is complete or named by `run_id`, to the folder `place`, in place of any other."""
    with kernels():
        run = complete_run(find_run(run_id)) if run_id else _measured(request)[0]
    if "-dirty" in run.code_version:
        say("the code had uncommitted changes, so no commit has exactly the code of this run: commit the changes and measure again")
    folder = find_run(run.run_id)
    return export(folder, place, needed=behind_advice(folder), replace=True)


def runs_in(folder: Path) -> AbstractContextManager[None]:
    """Have runs be those in `folder`, while open: ``data/reference`` for the run that ships; notebook kernels see the same."""
    return variables({"TIERWISE_RAW": str(folder)})


@contextmanager
def kernels() -> Iterator[None]:
    """Have notebook kernels report to this process's terminal, and keep what they write for themselves: a home may be full, or none."""
    with announcing(), scratch_folder("tierwise-ipython-") as private, variables({"IPYTHONDIR": str(private)}):
        yield


@contextmanager
def variables(values: Mapping[str, str]) -> Iterator[None]:
    """Have this process and those that it starts see other `values` of environment variables."""
    before = {name: os.environ[name] for name in values if name in os.environ}
    os.environ.update(values)
    try:
        yield
    finally:
        for name in values:
            del os.environ[name]
        os.environ.update(before)


def complete_run(folder: Path) -> Manifest:
    run = load_manifest(folder)
    if run.status != "complete":
        raise InputError("run", value=folder.name, rule="is not complete", remedy="make report with the same inputs continues it")
    return run


def run_one_study(request: ReportRequest, study: str, trials: str = "") -> Manifest:
    """Measure one study by its notebooks, in the run of `request`; with `trials` those alone, in a separate run."""
    studies.known(study)
    with kernels():
        inputs = request.inputs()
        with_trials(load_study(study), inputs, trials)  # refuses before a run is begun
        chosen = {study: trials} if trials else None
        if study in look_ahead(inputs, chosen=chosen).rows:
            run = begin_run(inputs, fresh=False, chosen=chosen)
            say(f"run {run.run_id} has {study} already")
        else:
            run = _measure(request, inputs, [study], chosen)
        return finish(run.run_id, inputs)


def _measured(request: ReportRequest) -> tuple[Manifest, bool]:
    inputs = request.inputs()
    outlook = look_ahead(inputs, fresh=request.fresh)
    run = outlook.run
    if request.budget_s and request.retry:
        raise InputError("BUDGET", rule="cannot be combined with RETRY", remedy="leave RETRY empty")
    if run is not None and run.status == "complete" and lacking(run, inputs):
        say(f"run {run.run_id} was cut short by its budget, and goes on")
        run = reopen(run)
    if run is not None and run.status == "complete" and request.retry:
        request.agree("add whole replicates for what was rejected, and measure them now?")
        run = begin_retry(paths.raw() / run.run_id)
    if run is not None and run.status == "complete":
        say(f"run {run.run_id} is complete, so nothing is measured (FRESH=1 measures a new run)")
        return run, False
    run = _measure(request, inputs, lacking(run, inputs) if run else outlook.lacking)
    folder = paths.raw() / run.run_id
    if request.retry and load_manifest(folder).retry is None and (run := begin_retry(folder)).retry is not None:
        _drive(_driving(lacking(run, inputs)), folder, inputs, RETRIED)
    return complete(run.run_id), True


def _measure(request: ReportRequest, inputs: Inputs, names: Sequence[str], chosen: Mapping[str, str] | None = None) -> Manifest:
    check_free_space(load_profile(request.profile))
    plan = None if chosen else plan_of(inputs, names)  # recorded times are of whole studies
    if plan:
        say(sentence(plan))
    deadline = _deadline(request, inputs, plan) if request.budget_s and plan else None
    request.agree(f"measure with profile {request.profile} now?")
    with one_report():
        run = begin_run(inputs, fresh=request.fresh, chosen=chosen)
        folder = paths.raw() / run.run_id
        run = update(run, status="running", finished_at=None).save(folder)
        say(f"run {run.run_id}: measuring (if interrupted, make report continues where it stopped)")
        if deadline is not None:
            _drive(_acquiring(names, inputs), folder, inputs, "")
            with _stage(folder, BUDGET):
                address = request.store or str(folder / ATTEMPTS)
                return measure_within(deadline, inputs, folder, scheduler=request.scheduler, address=address)
        _drive([*_acquiring(names, inputs), *_driving(names)], folder, inputs, RETRIED if run.retry else "", plan)
    return run


def _deadline(request: ReportRequest, inputs: Inputs, plan: Plan) -> Deadline:
    expected_s = expected_seconds(plan, inputs)
    beside = max(1.0, (KERNELS + os.getloadavg()[0]) / (os.cpu_count() or 1))  # the report takes longer beside other work
    steps, left_s = ordered(expected_s, load_intervals()), request.budget_s - 60 * plan.report_minutes * beside
    machines = 1 if request.scheduler in {"", LOCAL} else len(expected_s)  # how many workers come is not known yet
    if not bought(steps, expected_s, left_s, machines)[0]:
        least = min(sum(expected_s[unit] for unit in step) / (1 if machines == 1 else len(step)) for step in steps)
        minutes = MARGIN * least / 60 + plan.report_minutes
        raise InputError("BUDGET", value=f"{request.budget_s / 60:g}m", rule="buys no replicates", remedy=f"BUDGET={minutes + 1:.0f}m")
    return Deadline(request.begun_s + left_s, steps, expected_s, MARGIN)


def _acquiring(names: Sequence[str], inputs: Inputs) -> list[Path]:
    used = {data for name in names for data in data_sets_in(code_of_study(name, inputs), data_sets.names())}
    notebooks = {path.stem.removeprefix(ACQUIRING): path for path in sorted((paths.home() / "notebooks").glob(f"{ACQUIRING}*.ipynb"))}
    return [path for data, path in notebooks.items() if data in used]


def _driving(names: Sequence[str]) -> list[Path]:
    return [paths.home() / "notebooks" / f"{DRIVING}{name}.ipynb" for name in names]


class StudyProgress:
    """Tells which study of how many is measured, and how long the rest takes: the time of the plan, at the pace of the studies so far."""

    def __init__(self, names: Sequence[str], plan: Plan | None):
        self.planned_s = {name: plan.seconds_of(name) if plan else 0.0 for name in names}
        self.done_s = self.done_planned_s = 0.0

    def begin(self, name: str) -> Mapping[str, str]:
        """Return the variable by which the study's kernel tells the time left."""
        names = list(self.planned_s)
        pace = self.done_s / self.done_planned_s if self.done_planned_s else 1.0
        left_s = pace * sum(self.planned_s[rest] for rest in names[names.index(name) :])
        heading = f"study {names.index(name) + 1} of {len(names)}: {name.replace('_', ' ')}"
        say(f"{heading}, about {minutes_left(left_s)}" if left_s else heading)
        return {ENDS: str(time.monotonic() + left_s)}

    def end(self, name: str, took_s: float) -> None:
        self.done_s, self.done_planned_s = self.done_s + took_s, self.done_planned_s + self.planned_s[name]


def _drive(notebooks: Sequence[Path], folder: Path, inputs: Inputs, prefix: str, plan: Plan | None = None) -> None:
    driven = {notebook: notebook.stem.removeprefix(DRIVING) for notebook in notebooks if notebook.stem.startswith(DRIVING)}
    progress = StudyProgress(list(driven.values()), plan)
    for notebook in notebooks:
        # The run's manifest, which a notebook reads, names no folder: the environment names the files that the reader chose.
        chosen = {data_set.upper(): source for data_set, source in inputs.sources.items()}
        alone = nullcontext() if os.environ.get("STORE") else host_lock()  # with a store, each replicate takes the lock for itself
        with alone:
            if notebook in driven:
                chosen |= progress.begin(driven[notebook])
            begun_s = time.monotonic()
            with _stage(folder, f"{prefix}{notebook.stem}"), variables(chosen):
                execute(notebook, folder.name)
        if notebook in driven:
            progress.end(driven[notebook], time.monotonic() - begun_s)


@contextmanager
def _stage(folder: Path, name: str) -> Iterator[None]:
    """Record how long the run in `folder` measured while open, and the pace of the machine."""
    begun_s, before, piece_before_s = time.monotonic(), Processors.now(), piece_s()
    yield
    pace = (piece_before_s + piece_s()) / 2 / load_recorded().piece_s
    took_s, steal = time.monotonic() - begun_s, Processors.now().steal_since(before)
    record_stage(folder, Stage(name=name, took_s=took_s, pace=pace, steal=steal))


def _show(run: Manifest) -> Path:
    folder = paths.raw() / run.run_id
    executed = folder / "notebooks"
    notebooks = freshness.stale(sorted((paths.home() / "notebooks").glob("show-*.ipynb")), folder, executed)
    if notebooks:
        judged(folder)  # before the first chapters, which run at once, each judge the run for themselves
    progress = Progress("chapters", len(notebooks))
    with ThreadPoolExecutor(KERNELS) as pool:
        waiting = {pool.submit(execute, notebook, run.run_id): notebook for notebook in notebooks}
        try:
            for done in as_completed(waiting):
                done.result()
                freshness.keep(waiting[done], folder, executed)
                progress.step(note=waiting[done].stem)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)  # it waits for those that run and begins no other
            raise
    return executed


def execute(notebook: Path, run_id: str) -> None:
    """Run `notebook` for run `run_id`; the executed copy is kept with the run, whole or marked as failed."""
    from nbclient.exceptions import DeadKernelError  # noqa: PLC0415
    from papermill.exceptions import PapermillExecutionError  # noqa: PLC0415  takes seconds to load
    from papermill.execute import execute_notebook  # noqa: PLC0415
    from papermill.inspection import inspect_notebook  # noqa: PLC0415
    from traitlets.config import Config  # noqa: PLC0415

    folder = paths.raw() / run_id / "notebooks"
    make_folder(folder)
    kept, failed = folder / notebook.name, folder / f"failed-{notebook.name}"
    if verbose():
        say(f"notebook {notebook.stem}")
    # The kernel's key and sockets lie in a private folder: it has no TCP ports of the machine.
    with scratch_folder("tierwise-kernel-") as private, scratch_folder(".part-", within=folder) as half_done:
        part = half_done / notebook.name
        try:
            execute_notebook(
                notebook,
                part,
                parameters={"RUN_ID": run_id} if "RUN_ID" in inspect_notebook(str(notebook)) else {},
                kernel_name="python3",
                progress_bar=False,
                cwd=paths.home(),
                config=Config({"KernelManager": {"transport": "ipc", "connection_file": f"{private}/kernel.json"}}),
                extra_arguments=["--log-level=CRITICAL"],
                shutdown_kernel="graceful" if notebook.stem.startswith(DRIVING) else "immediate",
            )
        except PapermillExecutionError as error:
            shutil.move(part, failed)
            text = f"{notebook.stem} ({error.ename}; the executed copy is {paths.short(failed)}): {error.evalue}"
            ours = error.ename in {InputError.__name__, MissingError.__name__}  # names the rule and, where there is one, its own remedy
            raise TierwiseError(text if ours else with_remedy(text)) from None
        except (DeadKernelError, RuntimeError) as error:  # the latter: it died while it began
            text = f"{notebook.stem}: its kernel ended ({one_line(str(error))}), as where memory is short. Remedy: {GO_ON}"
            raise TierwiseError(text) from None
        put(part, kept)
    failed.unlink(missing_ok=True)


def check_free_space(profile: Profile) -> None:
    workspace = open_workspace()
    for folder in (workspace, paths.home()):
        free_bytes = shutil.disk_usage(folder).free
        if free_bytes < profile.free_space_bytes:
            where, needed = f"profile {profile.name}", human_bytes(profile.free_space_bytes)
            rule = f"only {human_bytes(free_bytes)} are free for {'the work folder' if folder == workspace else 'the checkout'}"
            remedy = "use PROFILE=smoke, or set TIERWISE_WORK to a folder on a larger disk"
            raise InputError(where, field="free_space_bytes", value=needed, rule=rule, remedy=remedy)
