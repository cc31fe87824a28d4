"""Rows by reference: a run may take all rows of a study from an older run, in whose folder they stay.

The manifest of the run that takes them says so in ``taken``. This module reads two fields of it alone, because what measures uses it too.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from tierwise.core.errors import InputError
from tierwise.core.text_files import read_json
from tierwise.core.toml import Strict, validate

MANIFEST: Final = "manifest.json"
FORMAT_VERSION: Final = 4  # the version of rows and manifests; a run of another one is refused


class Taken(Strict):
    run_id: str
    replicates: dict[str, int]  # pair -> how many replicates there were; what the older run is given later is not taken


class Held(NamedTuple):
    """A study of another run, and how many replicates of each pair count."""

    folder: Path
    study: str
    replicates: dict[str, int]


def taken(run_folder: Path) -> list[Held]:
    found = []
    for study, kept in _field(run_folder, "taken").items():
        origin = validate(kept, Taken, where=f"{run_folder.name}/{MANIFEST}: taken.{study}")
        folder = run_folder.parent / origin.run_id
        if not (folder / MANIFEST).is_file():
            rule = f"the rows of {study} are in that run, which is missing"
            remedy = f"put its folder back beside {run_folder.name}, or measure again with make report FRESH=1"
            raise InputError(f"{run_folder.name}/{MANIFEST}", field=f"taken.{study}", value=origin.run_id, rule=rule, remedy=remedy)
        found.append(Held(folder, study, origin.replicates))
    return found


def places(run_folder: Path, study: str, pair: str, replicate: int = 0) -> Iterator[Path]:
    """Yield the run folders in which something of that replicate may lie: its own, then the one that it is taken from."""
    yield run_folder
    for held in taken(run_folder):
        if held.study == study and replicate < held.replicates.get(pair, 0):
            yield held.folder


def copied(run_folder: Path) -> dict[str, str]:
    """Return study -> the run that measured its rows, where they were copied into this run to make it whole."""
    return {study: str(run_id) for study, run_id in _field(run_folder, "copied").items()}


def _field(run_folder: Path, name: str) -> dict[str, Any]:
    path, where = run_folder / MANIFEST, f"{run_folder.name}/{MANIFEST}"
    if not path.is_file():
        return {}
    table = read_json(path, where)
    field = (table.get(name) or {}) if isinstance(table, dict) else table
    if not isinstance(field, dict):
        raise InputError(where, field=name, value=field, rule="must be a JSON object")
    return field
