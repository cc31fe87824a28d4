"""Make an executed notebook a chapter of Markdown, the same for both engines.

A chart becomes two raw blocks, of which each format takes its own: inert HTML that the page's script draws, and an SVG
for print. The caption that a cell shows becomes the last paragraph of its labelled block. What papermill and the kernel
leave behind (paths, times, printed text) goes.
"""

import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import nbformat
from nbformat import NotebookNode

from tierwise.core.errors import InputError, MissingError
from tierwise.core.files import write_whole
from tierwise.report.dictionary import described
from tierwise.report.display import MADE_MIME, ROWS_MIME, VEGA_MIME
from tierwise.report.formats import listed
from tierwise.report.queries import Made
from tierwise.report.site import BIBTEX, FIGURES, QUERIES, ROWS, TABLES
from tierwise.report.text_template import fill
from tierwise.report.versions import Stamp

LABEL: Final = re.compile(r"^#\|\s*label:\s*(\S+)", re.MULTILINE)
LABELLED: Final = ("fig-", "tbl-")
CODE: Final = re.compile(r"(`+).+?\1|\$\$?[^$]+\$\$?", re.DOTALL)  # code and formulas: what stands there is a name
NO_NUMBER: Final = re.compile(r"(?<![\w.])-?(?:nan|NaN|inf|None(?! [a-z]))(?![\w.]\w)\b")


@dataclass(frozen=True)
class Shown:
    """What one cell adds to a chapter: `text` is prose, a sentence or a caption; `body` the figure or table `label` by mime type."""

    cell: str
    text: str
    from_rows: bool
    label: str = ""
    body: Mapping[str, Any] = field(default_factory=dict)
    made: Made = field(default_factory=Made)


def read(executed: Path) -> list[Shown]:
    """Return what the executed notebook `executed` shows, cell by cell; a cell that failed or shows anything else is refused."""
    if not executed.is_file():
        raise MissingError(f"chapter {executed.stem}", why="its notebook was not executed for this run", remedy="make report")
    cells = nbformat.read(executed, as_version=4).cells
    shown = (Shown(cell.id, cell.source, False) if cell.cell_type == "markdown" else _shown(cell, executed.name) for cell in cells)
    kept = [part for part in shown if part.text]
    for part in kept:
        _check(part, f"{executed.name} ({part.label or part.cell})")
    return kept


def chapter(executed: Path, folder: Path, stamp: Stamp, paper: Sequence[str] = ()) -> str:
    """Return the Markdown of `executed`, and write what its figures give away into `folder`; `paper`: labels of the paper's figures."""
    numbers = {label: number for number, label in enumerate(paper, 1)}
    return "\n\n".join(_markdown(part, folder, stamp, numbers.get(part.label)) for part in read(executed)) + "\n"


def figures(executed: Path) -> list[str]:
    """Return the labels of the figures that the executed notebook `executed` shows, in their order; none where it was not executed."""
    return [part.label for part in read(executed) if part.label.startswith("fig-")] if executed.is_file() else []


def give_away(executed: Path, target: Path) -> None:
    """Copy every whole notebook in `executed` into `target`, as it ran, without what papermill and the kernel say of this machine."""
    target.mkdir(parents=True, exist_ok=True)
    for path in sorted(executed.glob("[!.]*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        if any(output.output_type == "error" for cell in notebook.cells for output in cell.get("outputs", ())):
            continue
        for part in (notebook, *notebook.cells):
            part.metadata.pop("papermill", None)
        for cell in notebook.cells:
            if cell.cell_type == "code":
                cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
        nbformat.write(notebook, target / path.name)


def _shown(cell: NotebookNode, where: str) -> Shown:
    found = LABEL.search(cell.source)
    label = found[1] if found else ""
    if label and not label.startswith(LABELLED):
        raise InputError(where, field="label", value=label, rule=f"must begin with {' or '.join(LABELLED)}")
    outputs = [output for output in cell.outputs if output.output_type != "stream"]
    match [_data(output, where) for output in outputs]:
        case []:
            return Shown(cell.id, "", True)
        case [{"text/markdown": text}]:
            return Shown(cell.id, str(text), True)
        case [body, {"text/markdown": caption}] if label:
            made = Made.model_validate(body[MADE_MIME]) if MADE_MIME in body else Made()
            return Shown(cell.id, str(caption), True, label, body, made)
    rule = "a cell shows one sentence, or under a label (#| label: fig-... or tbl-...) one figure or one table"
    raise InputError(where, field="cell", value=cell.source, rule=rule)


def _check(part: Shown, where: str) -> None:
    """Refuse a number that is none in what the cell made from rows: its text, its table, its chart."""
    prose = (CODE.sub("", str(text)) for text in (part.text, part.body.get("text/markdown", "")))
    for text in (*prose, json.dumps(part.body.get(VEGA_MIME, ""))) if part.from_rows else ():
        if found := NO_NUMBER.search(text):
            rule = f"shows {found[0]}, which is no number: say why there is none"
            raise InputError(where, field="text", value=text[max(0, found.start() - 30) : found.end() + 30], rule=rule)


def _markdown(part: Shown, folder: Path, stamp: Stamp, in_paper: int | None) -> str:
    if not part.label:
        return part.text
    body, behind = str(part.body.get("text/markdown", "")), ""
    if VEGA_MIME in part.body:
        file = f"{ROWS}/{part.label}.csv"
        write_whole(folder / file, part.body[ROWS_MIME])
        body = _chart(part, folder, stamp)
        behind = f" Rows: `{file}`." + (f" Figure {in_paper} of the paper." if in_paper else "")
    elif scripts := write_scripts(part.label, part.made, folder):
        behind = f" Query: {listed(f'`{script}`' for script in scripts)}."
    if VEGA_MIME not in part.body and ROWS_MIME in part.body:
        file = f"{TABLES}/{part.label}.csv"
        write_whole(folder / file, part.body[ROWS_MIME])
        behind += f" Rows: `{file}`."
    return f"::: {{#{part.label}}}\n\n{body}\n\n{part.text}{behind}\n\n:::"


def _data(output: NotebookNode, where: str) -> dict[str, Any]:
    if output.output_type == "error":
        raise InputError(where, rule=f"a cell failed: {output.evalue}")
    data = dict(output.data)
    if VEGA_MIME not in data and "text/markdown" not in data:
        raise InputError(where, rule=f"a cell shows {sorted(data)}: a chapter shows figures, tables and sentences only")
    return data


def _chart(part: Shown, folder: Path, stamp: Stamp) -> str:
    image = f"{FIGURES}/{part.label}.svg"
    write_whole(folder / image, part.body["image/svg+xml"])
    chart = f"{inert(part.body[VEGA_MIME], image)}\n{menu(part.label, part.text, part.made, stamp, folder)}"
    return f'````{{=html}}\n{chart}\n````\n\n````{{=typst}}\n#image("{image}", width: 100%)\n````'


def inert(spec: dict[str, Any], image: str) -> str:
    """Return HTML that does nothing until the page's script draws `spec` into it; `image` stands there where no script runs."""
    text = json.dumps(spec, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    label = html.escape(spec["description"], quote=True)
    script = f'<script type="application/json">{text}</script>'
    still = f'<noscript><img src="{image}" alt="{label}"></noscript>'
    return f'<div class="vl-chart" role="img" aria-label="{label}">{script}{still}</div>'


def menu(label: str, caption: str, made: Made, stamp: Stamp, folder: Path) -> str:
    """Return the menu of figure `label` as HTML; its query and the JSON that describes its rows are written into `folder`."""
    rows, facts = f"{ROWS}/{label}.csv", f"{ROWS}/{label}.json"
    scripts = write_scripts(label, made, folder)
    details = {"figure": label, "caption": caption, "rows": rows, "queries": scripts, "python": made.steps, **stamp.as_json()}
    write_whole(folder / facts, json.dumps({**details, "columns": described(folder / rows)}, indent=1, ensure_ascii=False) + "\n")
    known = {"svg": f"{FIGURES}/{label}.svg", "rows": rows, "facts": facts, "bibtex": BIBTEX, "citation": stamp.citation(f"Figure {label}")}
    return fill("menu.html", **known, label=label, scripts=scripts, queries=made.queries, steps=made.steps).strip()


def write_scripts(label: str, made: Made, folder: Path) -> list[str]:
    """Write the queries behind figure or table `label` into `folder`, as they run by themselves; return their places in it."""
    scripts = {f"{QUERIES}/{name}": text for name, text in made.scripts(label).items()}
    for place, text in scripts.items():
        write_whole(folder / place, text)
    return list(scripts)
