"""How a figure or a table of an executed notebook came to be: the queries that were asked for it, and the later steps in Python."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from nbformat import NotebookNode

from tierwise.report.queries import QUERIES_MIME, Query, script

LEFT_OUT: Final = re.compile(r"^#\|\s*include:\s*false\s*$", re.MULTILINE)
"""A cell for whoever works in the notebook: a query and the frame that it gives."""
ASK: Final = "query"
"""Method of a run that asks a query."""
TEXT: Final = "tierwise.core.studies.text"
"""Reads a query, which is no later step."""


@dataclass(frozen=True)
class Made:
    """What a figure or a table was made by.

    `queries`: each alone; `steps`: dotted names of what was called on their rows, in order; the last one drew the figure.
    """

    queries: tuple[Query, ...] = ()
    steps: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {"queries": [query.model_dump() for query in self.queries], "steps": list(self.steps)}

    @staticmethod
    def from_json(told: Mapping[str, Any]) -> "Made":
        return Made(tuple(Query(**query) for query in told["queries"]), tuple(told["steps"]))

    def scripts(self, label: str) -> dict[str, str]:
        """Return file names -> SQL that runs by itself: for each run that was asked one, which has all its queries."""
        runs = dict.fromkeys(query.run_id for query in self.queries)
        return {
            f"{label}{f'-{number}' if number > 1 else ''}.sql": script([query for query in self.queries if query.run_id == run])
            for number, run in enumerate(runs, 1)
        }


def made(cells: Sequence[NotebookNode], shown: NotebookNode) -> Made:
    """Find how the cell `shown` among the executed code `cells` came to its figure or table: by the cells left out of the page whose names
    it uses. Where those asked nothing its queries are its own.
    """
    imports = {name: whole for cell in cells for name, whole in _imports(ast.parse(cell.source))}
    needed, used = _names(shown, ast.Load), [shown]
    for cell in reversed(cells[: cells.index(shown)]):
        given = _names(cell, ast.Store)
        if LEFT_OUT.search(cell.source) and given & needed:
            needed = (needed | _names(cell, ast.Load)) - given
            used.insert(0, cell)
    asked = [_asked(cell) for cell in used]
    first = next((number for number, queries in enumerate(asked) if queries), 0)
    of_frames = [query for queries in asked[:-1] for query in queries]
    return Made(
        queries=tuple(dict.fromkeys(of_frames or asked[-1])),
        steps=tuple(dict.fromkeys(step for cell in used[first:] for step in _calls(ast.parse(cell.source), imports))),
    )


def _asked(cell: NotebookNode) -> list[Query]:
    told = [output.data[QUERIES_MIME] for output in cell.outputs if QUERIES_MIME in output.get("data", {})]
    return [Query(**query) for queries in told for query in queries]


def _names(cell: NotebookNode, context: type[ast.Load | ast.Store]) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.Name) and isinstance(node.ctx, context)}


def _imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in tree.body:
        match node:
            case ast.ImportFrom(module=module, names=names):
                yield from ((name.asname or name.name, f"{module}.{name.name}") for name in names)
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Call(
                    func=ast.Attribute(attr="reading"), args=[ast.Constant(value=str() as study), ast.Constant(value=str() as module)]
                ),
            ):
                yield name, f"tierwise.studies.{study}.reading.{module}"


def _calls(node: ast.AST, imports: Mapping[str, str]) -> Iterator[str]:
    whole = _dotted(node.func, imports) if isinstance(node, ast.Call) else ""
    asks = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == ASK
    if not asks:
        for child in ast.iter_child_nodes(node):
            yield from _calls(child, imports)
    if whole.startswith("tierwise.") and whole != TEXT:
        yield whole


def _dotted(node: Any, imports: Mapping[str, str]) -> str:
    match node:
        case ast.Name(id=name):
            return imports.get(name, "")
        case ast.Attribute(value=value, attr=attr):
            return f"{before}.{attr}" if (before := _dotted(value, imports)) else ""
    return ""
