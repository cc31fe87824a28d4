"""A built version as a folder to give away: site, PDF, rows, manifest, checksums, citation, and nothing of the machine."""

import hashlib
import os
import platform
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from tierwise.core import paths
from tierwise.core.errors import InputError, MissingError
from tierwise.report import versions
from tierwise.report.facts import Facts
from tierwise.report.site import LATEST
from tierwise.timings.manifest import MANIFEST, load_manifest
from tierwise.timings.store import TIMINGS

SUMS: Final = "SHA256SUMS"
RUN: Final = "run"
TRACES: Final = "traces"
DOCUMENTS: Final = ("CITATION.cff", "LICENSE", "docs/artifact.md")
COMMON: Final = frozenset({"localhost", "linux", "debian", "ubuntu"})
"""Host names that say nothing and stand in texts by chance."""

README: Final = """# {version}

A report of tierwise: open `index.html`, or `tierwise.pdf`. Nothing here needs a network or an installation.

| file | what it is |
|---|---|
| `index.html`, `assets/`, `figures/`, `sql/`, `rows/` | the report, every chart, query, and the rows behind each chart |
| `tierwise.pdf` | the same report for print |
| `run/manifest.json`, `run/timings.parquet`, `run/traces/` | run `{run_id}`: what was asked, on what, and every raw row |
| `facts.json` | what this version says, for `tierwise diff` |
| `artifact.md` | the artifact checklist |
| `SHA256SUMS` | `sha256sum -c SHA256SUMS` checks every file |

{dirty}To cite: `CITATION.cff`, with the run id. Licence: `LICENSE`.
"""
DIRTY: Final = "**The code had uncommitted changes when this was built**: its version `{version}` names no commit that has exactly it.\n\n"


@dataclass(frozen=True)
class Published:
    """What was put where; `dirty`: of code that no commit has."""

    folder: Path
    facts: Facts
    dirty: bool
    files: int


def publish(target: Path, version: str = LATEST) -> Published:
    """Write the report `version` (as `versions.find` takes it) with its run into the folder `target`, whole or not at all.

    Raises:
        InputError: `target` holds something, the run is not complete, or a file names this machine, its user or a folder.
        MissingError: the rows of the run are not here any more.
    """
    facts = versions.find(version)
    shipped = paths.reference() / facts.run_id
    run = shipped if shipped.is_dir() else paths.raw() / facts.run_id
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError("TO", value=str(target), rule="must be a new or an empty folder", remedy="name another one")
    _check_run(run)
    dirty = "-dirty" in facts.version
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".publish-", dir=target.parent) as scratch:
        made = Path(scratch) / "made"
        shutil.copytree(paths.site() / facts.version, made, symlinks=True)
        _copy_run(run, made / RUN)
        for name in DOCUMENTS:
            shutil.copy(paths.home() / name, made)
        told = DIRTY.format(version=facts.version) if dirty else ""
        (made / "README.md").write_text(README.format(version=facts.version, run_id=facts.run_id, dirty=told), encoding="utf-8")
        _check_nothing_private(made)
        files = _files(made)
        sums = "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(made)}\n" for path in files)
        (made / SUMS).write_text(sums, encoding="utf-8")
        if target.exists():
            target.rmdir()
        made.replace(target)
    return Published(target, facts, dirty, len(files) + 1)


def _check_run(run: Path) -> None:
    if not (run / MANIFEST).is_file():
        raise MissingError(f"run {run.name}", why="its rows are published with the report", remedy="make report, and publish that")
    if load_manifest(run).status != "complete":
        raise InputError(f"run {run.name}", rule="is not complete", remedy="make report with the same inputs continues it")


def _copy_run(run: Path, target: Path) -> None:
    """Manifest, rows and recorded block sequences; not the executed notebooks, whose chapters are the report."""
    target.mkdir()
    for name in (MANIFEST, TIMINGS):
        shutil.copy(run / name, target)
    if (run / TRACES).is_dir():
        shutil.copytree(run / TRACES, target / TRACES, symlinks=True)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _check_nothing_private(folder: Path) -> None:
    private = re.compile("|".join(rf"(?<![\w.-]){re.escape(word)}(?![\w-])" for word in _private()).encode())
    for path in folder.rglob("*"):
        where = str(path.relative_to(folder))
        if path.is_symlink():
            raise InputError(where, rule="is a symbolic link, and a published folder holds none")
        if path.is_file() and (found := private.search(_content(path))):
            rule = "stands in a file that would be published: a report names no host, no user and no folder"
            raise InputError(where, value=found[0].decode(), rule=rule, remedy="report this as a bug")


def _private() -> Iterator[str]:
    """What names this machine, its user's home, or the folders that were used."""
    host = platform.node().split(".")[0]
    if len(host) >= 4 and host.lower() not in COMMON:
        yield host
    yield from {str(path) for path in (Path.home(), paths.home(), paths.raw(), paths.site())} - {"/"}
    if work := os.environ.get("TIERWISE_WORK"):
        yield str(Path(work).resolve())


def _content(path: Path) -> bytes:
    """What the file says; of a Parquet file, which is compressed, its texts."""
    if path.suffix != ".parquet":
        return path.read_bytes()
    texts = pl.read_parquet(path).select(pl.col(pl.String)).unique()
    return texts.write_csv().encode()
