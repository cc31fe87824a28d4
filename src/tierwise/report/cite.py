"""How this report and its figures are cited: the software by ``CITATION.cff``, with the run and the commit that they are of."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import yaml

from tierwise.core import paths
from tierwise.report import site
from tierwise.report.run import Run
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
