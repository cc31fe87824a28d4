"""What `make report` calls: acquire, run, show, render, in order, each notebook through papermill."""

import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tierwise.bench.loop import gather_inputs
from tierwise.bench.runs import complete, open_run
from tierwise.core import paths, studies
from tierwise.core.errors import InputError, TierwiseError
from tierwise.core.files import scratch_folder
from tierwise.core.profiles import Profile, load_profile
from tierwise.core.progress import Progress, announcing, say
from tierwise.core.units import human_bytes
from tierwise.plan.estimate import plan_of, sentence
from tierwise.postgres.workspace import open_workspace
from tierwise.report import fresh as freshness
from tierwise.timings.export import export
from tierwise.timings.manifest import Manifest, load_manifest

REFERENCE: Final = "reference"
"""The name of the run that ships with the checkout, instead of its id."""
KERNELS: Final = 2
"""So many chapters are made at once: each is one process for most of its time. Nothing is being measured then."""


def make_report(*, profile: str, tiers: str, seed: int, census: str, sky: str, fresh: bool, engine: str, run_id: str = "") -> Path:
    """Measure what is missing, then render; returns the folder of the built site.

    With `run_id` nothing is measured: that run, which must be complete, is rendered again.
    """
    with announcing(), rows_of(run_id):
        run = named_run(run_id) if run_id else _measured(profile=profile, tiers=tiers, seed=seed, census=census, sky=sky, fresh=fresh)
        folder = paths.raw() / run.run_id
        if built := freshness.built(folder, engine):
            say("nothing changed since this version was built")
            return built
        from tierwise.report.render import render  # noqa: PLC0415  a report in which nothing changed needs no heavy library

        executed = _show(run)
        say("rendering")
        site = render(run_id=run.run_id, executed=executed, engine=engine)
        freshness.keep_built(site, folder, engine)
        return site


def make_reference(*, fresh: bool) -> Path:
    """Measure the run that ships with the checkout, unless one of the same inputs is there; its new folder in ``data/reference``."""
    with announcing():
        run = _measured(profile="smoke", tiers="", seed=1, census="synthetic", sky="synthetic", fresh=fresh)
        if "-dirty" in run.code_version:
            say("the code had uncommitted changes: commit it and make the reference again, or its version names no commit that has it")
        return export(paths.raw() / run.run_id, paths.reference(), replace=True)


@contextmanager
def rows_of(run_id: str) -> Iterator[None]:
    """While open, runs are those of the checkout where the reference is asked for; notebook kernels see the same."""
    if run_id != REFERENCE:
        yield
        return
    before = os.environ.get("TIERWISE_RAW")
    os.environ["TIERWISE_RAW"] = str(paths.reference())
    try:
        yield
    finally:
        del os.environ["TIERWISE_RAW"]
        if before is not None:
            os.environ["TIERWISE_RAW"] = before


def named_run(run_id: str) -> Manifest:
    """The complete run that `RUN` names; `InputError` where there is none."""
    if run_id == REFERENCE:
        shipped = sorted(path.parent.name for path in paths.raw().glob("*/manifest.json"))
        if len(shipped) != 1:
            raise InputError("RUN", value=run_id, rule=f"data/reference must hold one run; there are: {', '.join(shipped) or 'none'}")
        run_id = shipped[0]
    folder = paths.raw() / run_id
    if not folder.is_dir():
        known = ", ".join(sorted(path.name for path in paths.raw().glob("*/"))) or "none"
        raise InputError("RUN", value=run_id, rule=f"no such run; there are: {known}")
    run = load_manifest(folder)
    if run.status != "complete":
        raise InputError("RUN", value=run_id, rule="this run is not complete", remedy="make report with the same inputs continues it")
    return run


def _measured(*, profile: str, tiers: str, seed: int, census: str, sky: str, fresh: bool) -> Manifest:
    inputs = gather_inputs(profile=profile, tiers=tiers, seed=seed, census=census, sky=sky)
    run = open_run(inputs, fresh=fresh)
    if run.status == "complete":
        say(f"run {run.run_id} is complete: rendering it (FRESH=1 measures anew)")
        return run
    check_free_space(load_profile(profile))
    say(sentence(plan_of(inputs)))
    say(f"run {run.run_id}: measuring; an interrupted run goes on where it stopped")
    parameters = {"PROFILE": profile, "TIERS": tiers, "SEED": seed, "CENSUS": census, "SKY": sky, "RUN_ID": run.run_id}
    notebooks = paths.home() / "notebooks"
    for notebook in (*sorted(notebooks.glob("acquire-*.ipynb")), *(notebooks / f"run-{name}.ipynb" for name in studies.names())):
        execute(notebook, run.run_id, parameters)
    return complete(run.run_id)


def _show(run: Manifest) -> Path:
    """Execute every chapter that is a notebook and whose inputs changed; the folder of the executed copies."""
    folder = paths.raw() / run.run_id
    executed = folder / "notebooks"
    notebooks = freshness.stale(sorted((paths.home() / "notebooks").glob("show-*.ipynb")), folder, executed)
    progress = Progress("chapters", len(notebooks))
    with ThreadPoolExecutor(KERNELS) as pool:
        waiting = {pool.submit(execute, notebook, run.run_id, {"RUN_ID": run.run_id}): notebook for notebook in notebooks}
        try:
            for done in as_completed(waiting):
                done.result()
                freshness.keep(waiting[done], folder, executed)
                progress.step(note=waiting[done].stem)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)  # those that run are waited for, no other is begun
            raise
    return executed


def execute(notebook: Path, run_id: str, parameters: dict[str, Any]) -> None:
    """Run `notebook` with those of `parameters` that it has; the executed copy is kept with the run, whole or marked as failed.

    Raises:
        TierwiseError: a cell failed; the message is the cell's own, and the executed copy is named.
    """
    from papermill.exceptions import PapermillExecutionError  # noqa: PLC0415  takes seconds to load
    from papermill.execute import execute_notebook  # noqa: PLC0415
    from papermill.inspection import inspect_notebook  # noqa: PLC0415
    from traitlets.config import Config  # noqa: PLC0415

    folder = paths.raw() / run_id / "notebooks"
    folder.mkdir(parents=True, exist_ok=True)
    kept, part = folder / notebook.name, folder / f".part-{notebook.name}"
    say(f"notebook {notebook.stem}")
    try:
        with scratch_folder("tierwise-kernel-") as private:  # its key and sockets: no TCP ports of the machine
            execute_notebook(
                notebook,
                part,
                parameters={name: parameters[name] for name in inspect_notebook(str(notebook)) if name in parameters},
                kernel_name="python3",
                progress_bar=False,
                cwd=paths.home(),
                config=Config({"KernelManager": {"transport": "ipc", "connection_file": f"{private}/kernel.json"}}),
                extra_arguments=["--log-level=CRITICAL"],
            )
    except PapermillExecutionError as error:
        failed = kept.with_name(f"failed-{notebook.name}")
        shutil.move(part, failed)
        raise TierwiseError(f"{notebook.stem}: {error.evalue} ({error.ename}; the executed copy is {paths.short(failed)})") from None
    part.replace(kept)
    kept.with_name(f"failed-{notebook.name}").unlink(missing_ok=True)


def check_free_space(profile: Profile) -> None:
    """Refuse before anything is written where the profile would not fit."""
    workspace = open_workspace()
    for folder in (workspace, paths.home()):
        free_bytes = shutil.disk_usage(folder).free
        if free_bytes < profile.free_space_bytes:
            raise InputError(
                f"profile {profile.name}",
                field="free_space_bytes",
                value=human_bytes(profile.free_space_bytes),
                rule=f"only {human_bytes(free_bytes)} are free where {'the work folder' if folder == workspace else 'the checkout'} lies",
                remedy="PROFILE=smoke, or TIERWISE_WORK=folder on a larger disk",
            )
