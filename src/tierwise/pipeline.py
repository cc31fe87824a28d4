"""What `make report` calls: acquire, run, show, render, in order, each notebook through papermill."""

import shutil
from pathlib import Path
from typing import Any

from papermill.exceptions import PapermillExecutionError
from papermill.execute import execute_notebook
from traitlets.config import Config

from tierwise.bench.loop import gather_inputs
from tierwise.bench.runs import complete, open_run
from tierwise.core import paths, studies
from tierwise.core.errors import InputError, TierwiseError
from tierwise.core.profiles import Profile, load_profile
from tierwise.core.progress import announcing, say
from tierwise.core.units import human_bytes
from tierwise.plan.estimate import plan_of, sentence
from tierwise.postgres.workspace import open_workspace
from tierwise.report.render import render
from tierwise.timings.manifest import Manifest, load_manifest

KERNELS = Config({"KernelManager": {"transport": "ipc"}})
"""Notebook kernels listen on sockets of the user's own, not on TCP ports of the machine."""


def make_report(*, profile: str, tiers: str, seed: int, census: str, fresh: bool, engine: str, run_id: str = "") -> Path:
    """Measure what is missing, then render; returns the folder of the built site.

    With `run_id` nothing is measured: that run, which must be complete, is rendered again.
    """
    with announcing():
        run = _named(run_id) if run_id else _measured(profile=profile, tiers=tiers, seed=seed, census=census, fresh=fresh)
        executed = _show(run)
        return render(run_id=run.run_id, executed=executed, engine=engine)


def _named(run_id: str) -> Manifest:
    folder = paths.raw() / run_id
    if not folder.is_dir():
        known = ", ".join(sorted(path.name for path in paths.raw().glob("*/"))) or "none"
        raise InputError("RUN", value=run_id, rule=f"no such run; there are: {known}")
    run = load_manifest(folder)
    if run.status != "complete":
        raise InputError("RUN", value=run_id, rule="this run is not complete", remedy="make report with the same inputs continues it")
    return run


def _measured(*, profile: str, tiers: str, seed: int, census: str, fresh: bool) -> Manifest:
    inputs = gather_inputs(profile=profile, tiers=tiers, seed=seed, census=census)
    run = open_run(inputs, fresh=fresh)
    if run.status == "complete":
        say(f"run {run.run_id} is complete: rendering it (FRESH=1 measures anew)")
        return run
    check_free_space(load_profile(profile))
    say(sentence(plan_of(inputs)))
    say(f"run {run.run_id}: measuring; an interrupted run goes on where it stopped")
    parameters = {"PROFILE": profile, "TIERS": tiers, "SEED": seed, "CENSUS": census, "RUN_ID": run.run_id}
    notebooks = paths.home() / "notebooks"
    for notebook in (*sorted(notebooks.glob("acquire-*.ipynb")), *(notebooks / f"run-{name}.ipynb" for name in studies.names())):
        execute(notebook, run.run_id, parameters)
    return complete(run.run_id)


def _show(run: Manifest) -> Path:
    for notebook in sorted((paths.home() / "notebooks").glob("show-*.ipynb")):
        execute(notebook, run.run_id, {"RUN_ID": run.run_id})
    return paths.raw() / run.run_id / "notebooks"


def execute(notebook: Path, run_id: str, parameters: dict[str, Any]) -> None:
    """Run `notebook` with `parameters`; the executed copy is kept with the run, whole or marked as failed.

    Raises:
        TierwiseError: a cell failed; the message is the cell's own, and the executed copy is named.
    """
    folder = paths.raw() / run_id / "notebooks"
    folder.mkdir(parents=True, exist_ok=True)
    kept, part = folder / notebook.name, folder / f".part-{notebook.name}"
    say(f"notebook {notebook.stem}")
    try:
        execute_notebook(
            notebook,
            part,
            parameters=parameters,
            kernel_name="python3",
            progress_bar=False,
            cwd=paths.home(),
            config=KERNELS,
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
