"""From an executed notebook to a chapter of Markdown, the same for both engines.

A chart becomes two raw blocks, of which each format takes its own: inert HTML that the page's script draws, and an SVG
for print. The caption that a cell shows becomes the last paragraph of its labelled block. What papermill and the kernel
leave behind (paths, times, printed text) goes.
"""

import html
import json
import re
from pathlib import Path
from typing import Any, Final

import nbformat
from nbformat import NotebookNode

from tierwise.core.errors import InputError, MissingError
from tierwise.report.display import VEGA_MIME

LABEL: Final = re.compile(r"^#\|\s*label:\s*(\S+)", re.MULTILINE)
LABELLED: Final = ("fig-", "tbl-")


def chapter(executed: Path, figures: Path) -> str:
    """The Markdown of the executed notebook `executed`; its charts for print are written into the folder `figures`.

    Raises:
        MissingError: there is no such notebook.
        InputError: a cell failed, or shows what a chapter may not; names notebook, label or cell, and rule.
    """
    if not executed.is_file():
        raise MissingError(f"chapter {executed.stem}", why="its notebook was not executed for this run", remedy="make report")
    cells = nbformat.read(executed, as_version=4).cells
    texts = (cell.source if cell.cell_type == "markdown" else _shown(cell, executed.name, figures) for cell in cells)
    return "\n\n".join(text for text in texts if text) + "\n"


def _shown(cell: NotebookNode, where: str, figures: Path) -> str:
    """What a code cell shows: nothing, a sentence, or under its label a figure or a table with its caption."""
    found = LABEL.search(cell.source)
    label = found[1] if found else ""
    if label and not label.startswith(LABELLED):
        raise InputError(where, field="label", value=label, rule=f"must begin with {' or '.join(LABELLED)}")
    data = [_data(output, where) for output in cell.outputs if output.output_type != "stream"]
    match data:
        case []:
            return ""
        case [{"text/markdown": text}]:
            return str(text)
        case [body, {"text/markdown": caption}] if label:
            return f"::: {{#{label}}}\n\n{_body(body, figures / f'{label}.svg')}\n\n{caption}\n\n:::"
    rule = "a cell shows one sentence, or under a label (#| label: fig-... or tbl-...) one figure or one table"
    raise InputError(where, field="cell", value=cell.source, rule=rule)


def _data(output: NotebookNode, where: str) -> dict[str, Any]:
    """The output by mime type."""
    if output.output_type == "error":
        raise InputError(where, rule=f"a cell failed: {output.evalue}")
    data = dict(output.data)
    if VEGA_MIME not in data and "text/markdown" not in data:
        raise InputError(where, rule=f"a cell shows {sorted(data)}: a chapter shows figures, tables and sentences only")
    return data


def _body(data: dict[str, Any], svg: Path) -> str:
    if VEGA_MIME not in data:
        return str(data["text/markdown"])
    svg.parent.mkdir(exist_ok=True)
    svg.write_text(data["image/svg+xml"], encoding="utf-8")
    image = f"{svg.parent.name}/{svg.name}"
    return f'````{{=html}}\n{inert(data[VEGA_MIME], image)}\n````\n\n````{{=typst}}\n#image("{image}", width: 100%)\n````'


def inert(spec: dict[str, Any], image: str) -> str:
    """HTML that does nothing until the page's script draws `spec` into it; `image` stands there where no script runs."""
    text = json.dumps(spec, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    label = html.escape(spec["description"], quote=True)
    script = f'<script type="application/json">{text}</script>'
    still = f'<noscript><img src="{image}" alt=""></noscript>'
    return f'<div class="vl-chart" role="img" aria-label="{label}">{script}{still}</div>'
