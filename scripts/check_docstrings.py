"""Refuse docstrings of `src` that begin in the middle of a sentence: each must be readable without the name that it belongs to."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

FRAGMENTS: Final = ("Of", "By", "In", "On", "At", "As", "With", "To")
"""Words that a docstring begins with where it leaves out what it speaks of."""
SOURCES: Final = Path(__file__).parents[1] / "src"


def fragments(path: Path) -> Iterator[tuple[int, str]]:
    """(line, first line of the docstring) of each definition in `path` whose docstring begins with one of `FRAGMENTS`."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            said = ast.get_docstring(node) or ""
            if said.split(" ")[0] in FRAGMENTS:
                yield node.body[0].lineno, said.splitlines()[0]


def main() -> int:
    """Print every such docstring; 1 where there is one."""
    found = [(path, line, said) for path in sorted(SOURCES.rglob("*.py")) for line, said in fragments(path)]
    for path, line, said in found:
        print(f"{path.relative_to(SOURCES.parent)}:{line}: begins in the middle of a sentence: {said}")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
