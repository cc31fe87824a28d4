"""The versions of the report that were built here: their order, and the page that lists them."""

import json
from pathlib import Path

from tierwise.analysis.runs import REFERENCE, find_run
from tierwise.core import paths
from tierwise.core.errors import InputError, suggesting
from tierwise.core.files import replacing, write_whole
from tierwise.core.text_files import read_json
from tierwise.core.toml import Strict, validate
from tierwise.report.site import BUILD, LATEST, ORDER, names
from tierwise.report.text_template import fill


class Version(Strict):
    version: str
    run_id: str

    def save(self, folder: Path) -> None:
        write_whole(folder / BUILD, self.model_dump_json(indent=1) + "\n")


def load_version(folder: Path) -> Version:
    return validate(read_json(folder / BUILD, f"{folder.name}/{BUILD}"), Version, where=f"{folder.name}/{BUILD}")


def put_last(version: str) -> None:
    """Let `version`, whose folder is in place, be ``latest``, and list it."""
    order = names()
    write_whole(paths.site() / ORDER, json.dumps([*order, *([] if version in order else [version])], indent=1) + "\n")
    with replacing(paths.site() / LATEST) as part:
        part.unlink()  # a link takes the empty file's place
        part.symlink_to(version)
    listed = [load_version(paths.site() / name) for name in reversed(names())]
    shipped = {one.run_id for one in listed if (paths.reference() / one.run_id).is_dir()}
    write_whole(paths.site() / "index.html", fill("versions.html", versions=listed, shipped=shipped))


def find(name: str) -> Version:
    """Return the one version whose name contains `name`, ``latest``, or the last one of the ``reference`` run."""
    known = names()
    wanted = str((paths.site() / LATEST).readlink()) if name == LATEST and known else name
    if name == REFERENCE:
        shipped = find_run(REFERENCE).name
        wanted = next((version for version in reversed(known) if load_version(paths.site() / version).run_id == shipped), name)
    found = [version for version in known if version == wanted] or [version for version in known if wanted in version]
    if len(found) != 1:
        rule = f"names {'several versions' if found else 'no version'}; there are: {', '.join(found or known) or 'none'}"
        raise InputError("version", value=name, rule=rule, remedy=suggesting(name, [LATEST, *known], "make report builds one"))
    return load_version(paths.site() / found[0])
