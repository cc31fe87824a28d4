"""A built version as a folder to give away: site, PDFs, rows, manifest, checksums, citation, and nothing of the machine."""

import hashlib
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tierwise.core import paths
from tierwise.core.errors import InputError, MissingError
from tierwise.core.files import make_folder, put, scratch_folder
from tierwise.report import site, versions
from tierwise.report.cite import CITATION, commit_of
from tierwise.report.dictionary import dictionary
from tierwise.report.site import LATEST
from tierwise.report.text_template import fill
from tierwise.report.versions import Version
from tierwise.timings.export import pack_tables, whole
from tierwise.timings.manifest import Manifest, load_manifest
from tierwise.timings.parts import TIMINGS, read_rows
from tierwise.timings.private import check_nothing_private
from tierwise.timings.references import MANIFEST, taken

SUMS: Final = "SHA256SUMS"
RUN: Final = "run"
DOCUMENTS: Final = ("LICENSE", "docs/artifact.md")
DICTIONARY: Final = "DICTIONARY.md"


@dataclass(frozen=True)
class Published:
    """What was put where; `dirty`: of code that no commit has."""

    folder: Path
    built: Version
    dirty: bool
    files: int


def publish(target: Path, version: str = LATEST) -> Published:
    """Write the report `version` (as `versions.find` takes it) with its run into the folder `target`, whole or not at all."""
    built = versions.find(version)
    shipped = paths.reference() / built.run_id
    run = shipped if shipped.is_dir() else paths.raw() / built.run_id
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError("TO", value=str(target), rule="must be a new or an empty folder", remedy="name another one")
    samples = _checked(run).samples
    dirty = "-dirty" in built.version
    make_folder(target.parent)
    with scratch_folder(".tierwise-publish-", within=target.parent) as scratch:
        made = scratch / "made"
        shutil.copytree(paths.site() / built.version, made, symlinks=True)
        _copy_run(run, made / RUN)
        for name in DOCUMENTS:
            shutil.copy(paths.home() / name, made)
        sampled = ", ".join(f"`{table}`" for table in samples)
        about = fill("published.md", version=built.version, run_id=built.run_id, dirty=dirty, sampled=sampled)
        (made / CITATION).write_text(_citation(built), encoding="utf-8")
        (made / DICTIONARY).write_text(dictionary(made), encoding="utf-8")
        (made / "README.md").write_text(about, encoding="utf-8")
        check_nothing_private(made)
        files = _files(made)
        sums = "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(made)}\n" for path in files)
        (made / SUMS).write_text(sums, encoding="utf-8")
        put(made, target)
    return Published(target, built, dirty, len(files) + 1)


def _citation(built: Version) -> str:
    lines = f"date-released: {site.date_of(built.version)}\ncommit: {commit_of(built.version, built.run_id)}"
    return re.sub(r"^date-released: .*$", lines, (paths.home() / CITATION).read_text(encoding="utf-8"), flags=re.MULTILINE)


def _checked(run: Path) -> Manifest:
    if not (run / MANIFEST).is_file():
        raise MissingError(f"run {run.name}", why="make publish also copies its rows", remedy="run make report, and publish the new report")
    manifest = load_manifest(run)
    if manifest.status != "complete":
        raise InputError(f"run {run.name}", rule="is not complete", remedy="make report with the same inputs continues it")
    return manifest


def _copy_run(run: Path, target: Path) -> None:
    target.mkdir()
    if taken(run):
        read_rows(run).write_parquet(target / TIMINGS)
    else:
        shutil.copy(run / TIMINGS, target)
    whole(load_manifest(run)).save(target)
    pack_tables(run, target)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())
