"""A built version as a folder to give away: site, PDFs, rows, manifest, checksums, citation, and nothing of the machine."""

import base64
import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tierwise.core import paths
from tierwise.core.errors import InputError, MissingError
from tierwise.core.files import digest, make_folder, put, scratch_folder, write_whole
from tierwise.report import render, site, versions
from tierwise.report.dictionary import dictionary
from tierwise.report.site import LATEST
from tierwise.report.text_template import fill
from tierwise.report.versions import CITATION, Version, commit_of
from tierwise.timings.export import check_nothing_private, pack_tables, whole
from tierwise.timings.manifest import Manifest, load_manifest
from tierwise.timings.parts import TIMINGS, read_rows
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
        files = sorted(path for path in made.rglob("*") if path.is_file())
        sums = "".join(f"{digest(path)}  {path.relative_to(made)}\n" for path in files)
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


STYLE: Final = re.compile(r'<link rel="stylesheet" href="([^"]+)">')
SCRIPT: Final = re.compile(r'<script src="([^"]+)"></script>')
PICTURE: Final = re.compile(r'<img src="([^":]+\.svg)"')
FONT: Final = re.compile(r'url\("?([^")]+\.woff2)"?\)')
STILL: Final = re.compile(r"<noscript>.*?</noscript>", re.DOTALL)
LINK: Final = re.compile(r'<a\s+href="([^":#]+)"')
PDF: Final = re.compile(r'<a\s+href="[^"]+\.pdf">(.*?)</a>', re.DOTALL)


def write_one(target: Path, version: str = LATEST) -> Path:
    """Write the report `version` into the one file `target`, whole or not at all, from the version's own executed notebooks."""
    if target.suffix != ".html" or target.exists():
        raise InputError("ONE", value=str(target), rule="must be a new file whose name ends in .html", remedy="name another one")
    found = versions.find(version)
    target.parent.mkdir(parents=True, exist_ok=True)
    with scratch_folder(".tierwise-one-", within=target.parent) as scratch:
        write_whole(target, inlined(render.plain_page(found, paths.site() / found.version, scratch)))
    return target


def inlined(site: Path) -> str:
    """Return the plain engine's single page in the folder `site` with all that it loads or links to, but for the PDFs."""
    page = PDF.sub(r"\1", STILL.sub("", (site / "index.html").read_text(encoding="utf-8")))
    linked = dict.fromkeys(path for path in LINK.findall(page) if (site / path).is_file())
    files = json.dumps({path: (site / path).read_text(encoding="utf-8") for path in linked}, ensure_ascii=False).replace("<", "\\u003c")
    page = PICTURE.sub(lambda found: f'<img src="data:image/svg+xml;base64,{_base64(site / found[1])}"', page)
    page = page.replace("</body>", f"{fill('files.html', files=files)}</body>")
    page = STYLE.sub(lambda found: f"<style>\n{_style(site / found[1])}</style>", page)
    scripts = {name: (site / name).read_text(encoding="utf-8").replace("</script", "<\\/script") for name in SCRIPT.findall(page)}
    return SCRIPT.sub(lambda found: f"<script>\n{scripts[found[1]]}</script>", page)


def _style(path: Path) -> str:
    fonts = {name: _base64(path.parent / name) for name in FONT.findall(path.read_text(encoding="utf-8"))}
    return FONT.sub(lambda found: f'url("data:font/woff2;base64,{fonts[found[1]]}")', path.read_text(encoding="utf-8"))


def _base64(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
