"""How a figure of an executed notebook came to be: the queries that were asked for it, and the later steps in Python."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from nbformat import NotebookNode

from tierwise.report.queries import QUERY_MIME, ask

LEFT_OUT: Final = re.compile(r"^#\|\s*include:\s*false\s*$", re.MULTILINE)
"""A cell for whoever works in the notebook: a query and the frame that it gives."""
ASK: Final = f"{ask.__module__}.{ask.__name__}"
TEXT: Final = "tierwise.core.studies.text"
"""Reads a query, which is no later step."""


@dataclass(frozen=True)
class Made:
    """What a figure was made by.

    `queries`: each alone, as SQL; `scripts`: each with all views that it needs. `steps`: dotted names of what was called on their rows, in
    order; the last one drew the figure.
    """

    queries: tuple[str, ...] = ()
    scripts: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()


def made(cells: Sequence[NotebookNode], figure: NotebookNode) -> Made:
    """Find how the cell `figure` among the executed code `cells` came to its chart: by the cells left out of the page whose names it
    uses."""
    imports = {name: whole for cell in cells for name, whole in _imports(ast.parse(cell.source))}
    needed, used = _names(figure, ast.Load), [figure]
    for cell in reversed(cells[: cells.index(figure)]):
        given = _names(cell, ast.Store)
        if LEFT_OUT.search(cell.source) and given & needed:
            needed = (needed | _names(cell, ast.Load)) - given
            used.insert(0, cell)
    asked = [_asked(cell) for cell in used]
    first = next((number for number, queries in enumerate(asked) if queries), 0)
    return Made(
        queries=tuple(one["query"] for queries in asked for one in queries),
        scripts=tuple(one["script"] for queries in asked for one in queries),
        steps=tuple(dict.fromkeys(step for cell in used[first:] for step in _calls(ast.parse(cell.source), imports))),
    )


def _asked(cell: NotebookNode) -> list[dict[str, str]]:
    return [output.data[QUERY_MIME] for output in cell.outputs if QUERY_MIME in output.get("data", {})]


def _names(cell: NotebookNode, context: type[ast.Load | ast.Store]) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.Name) and isinstance(node.ctx, context)}


def _imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The names that a cell imports from modules, with what they stand for."""
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            yield from ((name.asname or name.name, f"{node.module}.{name.name}") for name in node.names)


def _calls(node: ast.AST, imports: Mapping[str, str]) -> Iterator[str]:
    """What of tierwise is called, the innermost first; what is called for a query's parameters is no step."""
    whole = _dotted(node.func, imports) if isinstance(node, ast.Call) else ""
    if whole != ASK:
        for child in ast.iter_child_nodes(node):
            yield from _calls(child, imports)
    if whole.startswith("tierwise.") and whole not in {ASK, TEXT}:
        yield whole


def _dotted(node: Any, imports: Mapping[str, str]) -> str:
    match node:
        case ast.Name(id=name):
            return imports.get(name, "")
        case ast.Attribute(value=value, attr=attr):
            return f"{before}.{attr}" if (before := _dotted(value, imports)) else ""
    return ""
