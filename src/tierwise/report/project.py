"""The Quarto project in ``report/``, assembled for one build: the same chapters for both engines."""

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Final, Protocol

import vl_convert
import yaml

from tierwise.core import paths
from tierwise.core.errors import InputError
from tierwise.report import notebooks
from tierwise.report.cite import Stamp
from tierwise.report.site import BIBTEX, FIGURES, QUERIES, ROWS, SQL
from tierwise.report.theme import VEGA_LITE

VARIABLE: Final = re.compile(r"\{\{<\s*var\s+([\w-]+)\s*>\}\}")
OUTPUTS: Final = ("_site", "_build", "site_libs", "index.typ")
FRONT_PAGE, FRONT = "index.qmd", "show-answer"
"""Quarto wants the first page to have this name; it is made of this notebook."""
CONTENTS: Final = """```{=typst}
#heading(level: 2, numbering: none, outlined: false)[Contents]
#block(height: 40mm, columns(2, gutter: 6mm)[
#set text(size: 7.5pt)
#set par(leading: 0.4em, spacing: 0.6em)
#outline(title: none, depth: 1)
])
```
"""
"""The contents stand behind the answer on paper; a page has them at its side."""
BESIDE: Final = (SQL, "pictures", FIGURES, ROWS, QUERIES)
"""Folders that a page links to or shows."""


@dataclass(frozen=True)
class Book:
    """The report's source in `folder`: `chapters`, in order, from file name to Markdown; `variables` that a template may show."""

    folder: Path
    title: str
    subtitle: str
    chapters: Mapping[str, str]
    variables: Mapping[str, str]


class Engine(Protocol):
    """What turns a book into ``index.html`` and ``tierwise.pdf``; `name` is what the front page says, `suffix` ends a version's name."""

    name: str
    suffix: str

    def build(self, book: Book, site: Path) -> None: ...


def assemble(folder: Path, executed: Path, stamp: Stamp, variables: Mapping[str, str], made: Mapping[str, str]) -> Book:
    """Copy ``report/`` to `folder`, with every chapter as Markdown, the queries, and the charts' script.

    `stamp` is on all that a reader takes away. `made`: chapters (file name -> Markdown) that are neither prose nor notebooks.

    Raises:
        InputError: ``_quarto.yml`` names a chapter that is not there, or a chapter names an unknown variable.
        MissingError: a notebook was not executed.
    """
    shutil.copytree(paths.home() / "report", folder, ignore=shutil.ignore_patterns(*OUTPUTS))
    told = yaml.safe_load((folder / "_quarto.yml").read_text(encoding="utf-8"))["book"]
    (folder / BIBTEX).write_text(stamp.bibtex(), encoding="utf-8")
    told_of = {**variables, "citation": stamp.citation("Report"), "bibtex": stamp.bibtex().strip()}
    texts = {name: made.get(name) or _chapter(folder, executed, name, stamp) for name in told["chapters"]}
    chapters = {name: expand(text, told_of, name) for name, text in texts.items()}
    for name, text in chapters.items():
        (folder / name).write_text(text, encoding="utf-8")
    for name in BESIDE:
        (folder / name).mkdir(exist_ok=True)
    _copy_queries(folder / SQL)
    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=VEGA_LITE)
    (folder / "theme" / "vega.js").write_text(bundle, encoding="utf-8")
    return Book(folder, told["title"], told["subtitle"], chapters, variables)


def expand(text: str, variables: Mapping[str, str], where: str) -> str:
    """Replace ``{{< var name >}}``; an unknown name is an `InputError` that names the chapter."""
    for name in VARIABLE.findall(text):
        if name not in variables:
            raise InputError(where, field="variable", value=name, rule=f"unknown; there are: {', '.join(sorted(variables))}")
    return VARIABLE.sub(lambda found: variables[found[1]], text)


def _chapter(folder: Path, executed: Path, name: str, stamp: Stamp) -> str:
    """Prose as it stands in ``report/``, or the executed notebook of the same stem; of the first page `FRONT`."""
    if name == FRONT_PAGE:
        return f"{notebooks.chapter(executed / f'{FRONT}.ipynb', folder, stamp)}\n{CONTENTS}"
    if name.startswith("show-"):
        return notebooks.chapter(executed / f"{Path(name).stem}.ipynb", folder, stamp)
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
