"""Which run is meant, wherever a command, a notebook or an option names one."""

from pathlib import Path
from typing import Final

from tierwise.core import paths
from tierwise.core.errors import InputError
from tierwise.timings.references import MANIFEST
from tierwise.timings.store import manifests

LATEST: Final = "latest"
"""The complete run that was finished last; of versions of the report, the one that was built last."""
REFERENCE: Final = "reference"
"""The run that ships with the checkout."""


def newest_run(raw: Path) -> str | None:
    """Return the id of the complete run that was finished last, or of the partial one where none is complete; `None` without a run.

    A run of some of a study's trials is none of them.
    """
    known = [run for run in manifests(raw).values() if not run.chosen]
    finished = [(run.status == "complete", run.finished_at, run.run_id) for run in known if run.finished_at]
    return max(finished)[2] if finished else None


def find_run(name: str, raw: Path | None = None) -> Path:
    """Find the folder of the run `name`: `LATEST`, `REFERENCE`, or the id of a run below `raw` (``data/raw``) or of the reference run.

    Raises:
        InputError: there is no such run; says which there are.
    """
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
            rule = f"no complete run lies in {paths.short(raw)}"
            raise InputError("run", value=name, rule=rule, remedy=f"make report measures one; {REFERENCE} is the run that ships")
        return known[newest]
    if name not in known | shipped:
        names = ", ".join([*known, *([REFERENCE] if shipped else [])]) or "none"
        raise InputError("run", value=name, rule=f"no such run; there are: {names}", remedy="make report measures one")
    return (shipped | known)[name]
