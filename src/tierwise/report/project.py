"""The Quarto project in ``report/``, assembled for one build: site, data annex and paper, each the same source for both engines."""

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, Final

import vl_convert
import yaml

from tierwise.core import paths
from tierwise.core.errors import InputError
from tierwise.report import notebooks
from tierwise.report.site import BIBTEX, FIGURES, PAPER, QUERIES, ROWS, SQL, TABLES
from tierwise.report.text_template import fill
from tierwise.report.theme import VEGA_LITE
from tierwise.report.versions import Stamp

VARIABLE: Final = re.compile(r"\{\{<\s*var\s+([\w-]+)\s*>\}\}")
PAPER_NOTEBOOK: Final = "show-paper"
OUTPUTS: Final = ("_site", "_build", "site_libs", "index.typ")
REFERENCES: Final = "references.qmd"
DEFINED: Final = re.compile(r"\{(?:\.\w+ )?#((?:fig|tbl|sec)-[\w-]+)")
REFERENCE: Final = re.compile(r"@((?:fig|tbl|sec)-[\w-]*\w)")
BEGINS: Final = re.compile(r"(^|[.?!:]\**\s+|\n\n)\Z")  # what stands before the first word of a sentence
UNNUMBERED: Final = re.compile(r"^# .*\{.*\.unnumbered", re.MULTILINE)
FRONT_PAGE, FRONT = "index.qmd", "show-answer"  # Quarto wants the first page to have this name; it is made of this notebook
CONTENTS: Final = "contents.md"
"""The contents stand behind the answer, on paper; a page of the site has them at its side."""
BESIDE: Final = (SQL, "pictures", FIGURES, ROWS, TABLES, QUERIES)  # folders that a page links to or shows


@dataclass(frozen=True)
class Book:
    """The source of the site or the `paper` in `folder`: `chapters` (file name -> Markdown), and `variables` of a template."""

    folder: Path
    title: str
    subtitle: str
    chapters: Mapping[str, str]
    variables: Mapping[str, str]
    paper: bool = False


def assemble(
    folder: Path, executed: Path, stamp: Stamp, variables: Mapping[str, str], calculator: str = "", *, only: Sequence[str] = ()
) -> Book:
    """Copy ``report/`` to `folder`, with every chapter as Markdown, the queries, and the charts' script; `stamp` is on all of it.

    `calculator` is the HTML of the chapter of this name; `only`: the chapters to assemble, else all.
    """
    settings = _copy(folder)["book"]
    (folder / BIBTEX).write_text(stamp.bibtex(), encoding="utf-8")
    paper = notebooks.figures(executed / f"{PAPER_NOTEBOOK}.ipynb")
    texts = {name: _chapter(folder, executed, name, stamp, paper) for name in only or settings["chapters"]}
    scripts = {label: f" (`{QUERIES}/{label}.sql`)" for label in paper if (folder / QUERIES / f"{label}.sql").is_file()}
    places = ", ".join(f"its Figure {number} is @{label}{scripts.get(label, '')}" for number, label in enumerate(paper, 1))
    values = {**variables, "citation": stamp.citation("Report"), "bibtex": stamp.bibtex().strip(), "paper_figures": places}
    values["calculator"] = f"````{{=html}}\n{calculator}\n````"
    chapters = {name: expand(text, values, name) for name, text in texts.items()}
    for name, text in chapters.items():
        (folder / name).write_text(text, encoding="utf-8")
    for name in BESIDE:
        (folder / name).mkdir(exist_ok=True)
    _copy_queries(folder / SQL)
    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=VEGA_LITE)
    (folder / "theme" / "vega.js").write_text(bundle, encoding="utf-8")
    return Book(folder, settings["title"], settings["subtitle"], chapters, variables)


def assemble_paper(folder: Path, executed: Path, stamp: Stamp, book: Book) -> Book:
    """Return the paper of the report `book` in `folder`, one document that refers to the annex's chapters for what it lacks."""
    settings = _copy(folder)
    name = f"{PAPER}.qmd"
    text = f"{notebooks.chapter(executed / f'{PAPER_NOTEBOOK}.ipynb', folder, stamp)}\n{(folder / REFERENCES).read_text(encoding='utf-8')}"
    text = elsewhere(expand(text, book.variables, name), book.chapters)
    (folder / name).write_text(text, encoding="utf-8")
    project = {"type": "default", "output-dir": settings["project"]["output-dir"], "render": [name]}
    shared = {key: value for key, value in settings.items() if key not in {"project", "book", "format"}}
    alone = {"title": book.title, "subtitle": book.subtitle, "paper": True, "format": {"typst": settings["format"]["typst"]}}
    (folder / "_quarto.yml").write_text(yaml.safe_dump({"project": project, **shared, **alone}), encoding="utf-8")
    return Book(folder, book.title, book.subtitle, {name: text}, book.variables, paper=True)


def elsewhere(text: str, chapters: Mapping[str, str]) -> str:
    """Say ``the annex's Chapter 9`` for each reference of `text` to a label that is not in it but in one of `chapters`."""
    counted = [chapter for chapter in chapters.values() if not UNNUMBERED.search(chapter)]
    places = {label: place for place, chapter in enumerate(counted, 1) for label in DEFINED.findall(chapter)}
    own = set(DEFINED.findall(text))

    def in_annex(found: re.Match[str]) -> str:
        the = "The" if BEGINS.search(text, 0, found.start()) else "the"
        return found[0] if found[1] in own else f"{the} annex's Chapter\u00a0{places[found[1]]}"

    return REFERENCE.sub(in_annex, text)


def expand(text: str, variables: Mapping[str, str], where: str) -> str:
    for name in VARIABLE.findall(text):
        if name not in variables:
            raise InputError(where, field="variable", value=name, rule=f"unknown; there are: {', '.join(sorted(variables))}")
    return VARIABLE.sub(lambda found: variables[found[1]], text)


def _copy(folder: Path) -> dict[str, Any]:
    shutil.copytree(paths.home() / "report", folder, ignore=shutil.ignore_patterns(*OUTPUTS))
    return dict(yaml.safe_load((folder / "_quarto.yml").read_text(encoding="utf-8")))


def _chapter(folder: Path, executed: Path, name: str, stamp: Stamp, paper: Sequence[str]) -> str:
    """Prose as it stands in ``report/``, or the executed notebook of the same stem; of the first page `FRONT`."""
    if name == FRONT_PAGE:
        return f"{notebooks.chapter(executed / f'{FRONT}.ipynb', folder, stamp, paper)}\n{fill(CONTENTS)}"
    if name.startswith("show-"):
        return notebooks.chapter(executed / f"{Path(name).stem}.ipynb", folder, stamp, paper)
    if not (folder / name).is_file():
        raise InputError("report/_quarto.yml", field="chapters", value=name, rule="no such file in report/")
    return (folder / name).read_text(encoding="utf-8")


def _copy_queries(target: Path) -> None:
    """Every query beside the page, by its path in the package, as text that a browser shows."""
    with as_file(files("tierwise")) as package:
        for query in sorted((*(package / "analysis").rglob("*.sql"), *(package / "studies").rglob("*.sql"))):
            copy = target / query.relative_to(package).with_name(f"{query.name}.txt")
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(query, copy)
