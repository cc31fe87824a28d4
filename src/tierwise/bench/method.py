"""The fingerprint of the code that numbers come from: comments, layout and docstrings aside, since no number hangs on them."""

import ast
import hashlib
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Final

METHOD: Final = ("core", "devices", "simulate", "tiers", "postgres", "recorders", "datasets", "bench", "studies", "timings")
"""Packages whose code decides what is measured; a change in one of them is another experiment."""
BESIDE: Final = ("reading", "forecast.py")
"""Parts of a study's room that only read or foretell."""


def method_sha256() -> str:
    """Over every module of the measuring side."""
    digest = hashlib.sha256()
    package = Path(str(resources.files("tierwise")))
    for path in modules(package):
        digest.update(path.relative_to(package).as_posix().encode() + b"\0" + meaning(path.read_text(encoding="utf-8")).encode() + b"\0")
    return digest.hexdigest()


def modules(package: Path) -> Iterator[Path]:
    """The files below `package` that count, in order."""
    for part in METHOD:
        for path in sorted((package / part).rglob("*.py")):
            if not set(BESIDE) & set(path.relative_to(package).parts):
                yield path


def meaning(source: str) -> str:
    """The text of a module as its syntax tree says it, without docstrings."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [line for line in node.body if not _is_text(line)] or [ast.Pass()]
    return ast.unparse(tree)


def _is_text(line: ast.stmt) -> bool:
    """Whether it is a string that stands alone: a docstring, or what stands below a constant."""
    return isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant) and isinstance(line.value.value, str)
