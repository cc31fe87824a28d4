"""The versions of the report that were built here: their order, the page that lists them, and how each is cited."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from tierwise.analysis.runs import REFERENCE, find_run
from tierwise.core import paths
from tierwise.core.errors import InputError, suggesting
from tierwise.core.files import replacing, write_whole
from tierwise.core.text_files import read_json
from tierwise.core.toml import Strict, validate
from tierwise.report import site
from tierwise.report.run import Run
from tierwise.report.site import BUILD, LATEST, ORDER, names
from tierwise.report.text_template import fill

CITATION: Final = "CITATION.cff"


@dataclass(frozen=True)
class Stamp:
    """What is said of everything that is taken from a report: its run, the machine, and the version and commit that it was built by."""

    run_id: str
    run_started: str
    run_code: str
    host: Mapping[str, Any]
    version: str
    commit: str
    date: str

    def citation(self, what: str) -> str:
        return fill("citation.txt", **software(), what=what, run_id=self.run_id, commit=self.commit, date=self.date).strip()

    def bibtex(self) -> str:
        return fill("citation.bib", **software(), run_id=self.run_id, commit=self.commit, date=self.date)

    def as_json(self) -> dict[str, Any]:
        run = {"id": self.run_id, "started_at": self.run_started, "code_version": self.run_code}
        return {"run": run, "host": dict(self.host), "report": {"version": self.version, "commit": self.commit, "date": self.date}}


def stamp_of(run: Run, version: str) -> Stamp:
    """Return the stamp of the report `version`, whose name begins with its date, on `run`."""
    manifest = run.manifest
    return Stamp(
        run_id=run.run_id,
        run_started=f"{manifest.started_at:%Y-%m-%dT%H:%M:%SZ}",
        run_code=manifest.code_version,
        host=manifest.host.model_dump(),
        version=version,
        commit=commit_of(version, run.run_id),
        date=site.date_of(version),
    )


def software() -> dict[str, str]:
    """Return author, title (a sentence) and version of the software, as ``CITATION.cff`` has them."""
    entry = yaml.safe_load((paths.home() / CITATION).read_text(encoding="utf-8"))
    author = ", ".join(one["name"] for one in entry["authors"])
    return {"author": author, "title": entry["title"], "version": str(entry["version"])}


def commit_of(version: str, run_id: str) -> str:
    """Return the whole hash of the commit that built `version`, with ``-dirty`` where changes were not committed; short where unknown."""
    code = site.code_of(version, run_id)
    commit = site.git("rev-parse", "--verify", "--quiet", f"{code.removesuffix('-dirty')}^{{commit}}")
    return f"{commit}{'-dirty' if code.endswith('-dirty') else ''}" if commit else code


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
