"""What a chapter's notebook draws of a run that is open already: its cells, executed in this process."""

import ast
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import nbformat
import pytest

from tierwise.core import paths
from tierwise.report.display import Figure, Sentence, Table
from tierwise.report.formats import NBSP
from tierwise.report.page import Page
from tierwise.report.run import Run


def code_of(chapter: str) -> list[nbformat.NotebookNode]:
    folder = paths.home() / "notebooks"
    named = folder / f"show-{chapter}.ipynb"
    path = named if named.is_file() else folder / f"{chapter}.ipynb"
    return [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]


def labels(chapter: str) -> list[str]:
    lines = [cell.source.splitlines()[0] for cell in code_of(chapter)]
    return [line.removeprefix("#| label: ") for line in lines if line.startswith("#| label: fig-")]


def drawn(chapter: str, run: Run, *wanted: str, **parameters: Any) -> dict[str, Figure | Sentence]:
    """Return label -> what the figures' cells of the notebook show where it opens `run`; `wanted`: these labels alone."""
    names: dict[str, Any] = {}
    found: dict[str, Figure | Sentence] = {}

    def opened(*_: object, prices: Mapping[str, float] | None = None) -> Run:
        return replace(run, prices=prices or run.prices)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tierwise.report.run.open_run", opened)
        patch.setattr("builtins.print", lambda *_, **__: None)
        for cell in code_of(chapter):
            first = cell.source.splitlines()[0]
            if first.startswith("#| label: fig-"):
                label = first.removeprefix("#| label: ")
                if not wanted or label in wanted:
                    found[label] = eval(cell.source, names)
            elif first == "#| include: false" or not _shows(cell.source):
                exec(cell.source, names)
            if cell.metadata.get("tags") == ["parameters"]:
                names |= parameters
    return found


def table_of(page: Page, label: str) -> list[list[str]]:
    """Return the cells of a table of the page, with plain spaces."""
    made = page.exhibit(label)
    assert isinstance(made, Table), made
    assert all(len(row) == len(made.header) for row in made.rows)
    return [[cell.replace(NBSP, " ") for cell in row] for row in made.rows]


def figure_of(page: Page, label: str) -> Figure:
    made = page.exhibit(label)
    assert isinstance(made, Figure), made
    return made


def _shows(source: str) -> bool:
    return isinstance(ast.parse(source).body[-1], ast.Expr)
