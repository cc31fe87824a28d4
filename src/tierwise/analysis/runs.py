"""Which run is meant, wherever a command, a notebook or an option names one."""

from pathlib import Path
from typing import Final

from tierwise.core import paths
from tierwise.core.errors import InputError, suggesting
from tierwise.timings.manifest import manifests
from tierwise.timings.references import MANIFEST

LATEST: Final = "latest"  # the complete run that was finished last; of versions of the report, the one that was built last
REFERENCE: Final = "reference"  # the run that ships with the checkout


def newest_run(raw: Path) -> str | None:
    """Return the id of the complete run that was finished last, else of the partial one; a run of chosen trials is neither."""
    known = [run for run in manifests(raw).values() if not run.chosen]
    finished = [(run.status == "complete", run.finished_at, run.run_id) for run in known if run.finished_at]
    return max(finished)[2] if finished else None


def run_to_read(name: str = "", raw: Path | None = None) -> Path | None:
    """Find the folder of the run `name`; without a name, of the newest run, else of the reference run, else `None`."""
    raw = raw or paths.raw()
    chosen = name or newest_run(raw) or (REFERENCE if any(paths.reference().glob(f"*/{MANIFEST}")) else "")
    return find_run(chosen, raw) if chosen else None


def run_label(run_id: str) -> str:
    """Return the name of a run at the beginning of a line, which says whether it is the reference run."""
    return f"Reference run {run_id}" if (paths.reference() / run_id).is_dir() else f"Run {run_id}"


def find_run(name: str, raw: Path | None = None) -> Path:
    """Find the folder of the run `name`: `LATEST`, `REFERENCE`, or the id of a run below `raw` (``data/raw``) or of the reference run."""
    raw = raw or paths.raw()
    shipped = {path.parent.name: path.parent for path in sorted(paths.reference().glob(f"*/{MANIFEST}"))}
    if name == REFERENCE:
        if len(shipped) != 1:
            raise InputError("run", value=name, rule=f"data/reference must hold one run; there are: {', '.join(shipped) or 'none'}")
        return next(iter(shipped.values()))
    known = {path.name: path for path in sorted(raw.glob("[!.]*/"))}
    if name == LATEST:
        newest = newest_run(raw)
        if newest is None:
            rule = f"{paths.short(raw)} has no complete run"
            raise InputError("run", value=name, rule=rule, remedy=f"make report measures one; {REFERENCE} is the run that ships")
        return known[newest]
    if name not in known | shipped:
        names = [*known, *([REFERENCE] if shipped else [])]
        remedy = suggesting(name, [LATEST, *names], "make report measures one")
        raise InputError("run", value=name, rule=f"no such run; there are: {', '.join(names) or 'none'}", remedy=remedy)
    return (shipped | known)[name]
