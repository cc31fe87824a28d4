"""No prose in code: what readers see stands in templates, which an editor can change without Python."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import tierwise

PACKAGE = Path(tierwise.__file__).parent
AREAS = ("report", "analysis", "costs", "advisor", "studies/*/reading")
MOST = 6
EXEMPT = re.compile(r"(?i)_?(rule|why|remed(y|ies)|help|description|epilog)|.*(sql|query|queries)")
"""Names of arguments and variables: parts of an error, help, descriptions of fields, SQL."""
CODE = re.compile(r"(select|from|with \w+ as|where|update|delete|create)\b|@\w+\{|```|.*(</?[a-z]|\bdatum\b|&&)", re.DOTALL)
"""How SQL, BibTeX and Typst begin, and what only markup and expressions of Vega contain."""


def prose(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of each literal of more than `MOST` words that is not exempt."""
    exempt: set[ast.AST] = set()
    for node in ast.walk(ast.parse(source)):  # a parent before its children
        targets = [node.target] if isinstance(node, ast.AnnAssign) else node.targets if isinstance(node, ast.Assign) else []
        named = [part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]
        named += [node.arg or ""] if isinstance(node, ast.keyword) else []
        error = isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Error")
        docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(node, ast.JoinedStr | ast.Constant) and node not in exempt:
            parts = node.values if isinstance(node, ast.JoinedStr) else [node]
            text = "".join(part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str))
            if sum(bool(re.search("[A-Za-z]{2}", word)) for word in text.split()) > MOST and not CODE.match(text.strip()):
                yield node.lineno, text
        if error or docstring or isinstance(node, ast.JoinedStr) or any(map(EXEMPT.fullmatch, named)):
            exempt |= set(ast.walk(node))


def test_no_literal_is_prose() -> None:
    files = [path for area in AREAS for folder in PACKAGE.glob(area) for path in folder.rglob("*.py")]
    found = [(path.relative_to(PACKAGE).as_posix(), *one) for path in files for one in prose(path.read_text(encoding="utf-8"))]
    assert not found, "\n".join(f"{file}:{line}: {text}" for file, line, text in found)


def test_prose_differs_from_what_is_exempt() -> None:
    text = "'one two three four five six seven'"
    assert [*prose(f"x = {text}")] == [(1, text[1:-1])]
    assert not [found for code in ("QUERY = ", "", "f(help=", "XError(", "'<b>'") for found in prose(code + text + ")" * code.count("("))]
