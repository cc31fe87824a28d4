"""Refuse docstrings of `src` that cannot be read alone: those that begin in the middle of a sentence, public ones of a word or two, and
those of public functions that name a thing and say nothing of it."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

FRAGMENTS: Final = re.compile(
    r"(Above|After|Along|And|As|At|Because|Before|Behind|Below|Beside|Between|Beyond|But|By|During|Except|For|From|If|In|Into|It|Its|Likewise"
    r"|Nothing|Of|On|Onto|Or|Over|Per|Raised|See|Since|So|Than|That|Their|They|Those|Through|To|Toward|Under|Until|Up|Upon|Via|Whose|With"
    r"|Within|Without|Yes)\b"
)
"""Words that a docstring begins with where it leaves out what it speaks of, or has no verb."""
FEWEST_WORDS: Final = 4
"""A public docstring of fewer words says no more than the name that it stands below."""
NAMES: Final = re.compile(r"(A|All|An|Both|Each|Every|No|One|Our|Several|The|This|Three|Two)\b")
"""Words that a name of a thing begins with. A name may tell what a property, a class or a constant is, not what a function does."""
VERBS: Final = re.compile(
    r"\b(activates?|am|are|as|asks?|be|because|becomes?|been|begins?|brings?|can|cannot|comes?|could|did|differs?|do|does|ends?|finds?|gets?"
    r"|gives?|goes?|had|has|have|holds?|how|if|is|keeps?|knows?|leaves?|lies?|makes?|may|might|moves?|must|needs?|not|once|says?|shall|should"
    r"|shows?|since|so|stands?|stays?|takes?|tells?|that|until|waits?|wants?|was|were|what|when|where|whether|which|while|who|whom|whose|why"
    r"|will|works?|would)\b"
)
"""Words of which a sentence about a thing has one: common verbs, and words that a clause begins with, which has one."""
SENTENCE: Final = re.compile(r"(?<=\.)\s|\n\s*\n")
"""What a docstring's first sentence ends with."""
SOURCES: Final = Path(__file__).parents[1] / "src"

Definition = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


class Said(NamedTuple):
    """A docstring of a definition, or the string that stands below a constant or a field."""

    line: int
    public: bool
    text: str
    function: bool = False


def docstrings(node: Definition, *, public: bool = True) -> Iterator[Said]:
    """Every docstring of `node` and of what it defines; what a function has in it is private."""
    for before, line in zip([None, *node.body], node.body, strict=False):
        if isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant) and isinstance(line.value.value, str):
            named = public and not any(name.startswith("_") for name in _names(before))
            yield Said(line.lineno, named, line.value.value, function=before is None and _is_function(node))
        elif isinstance(line, Definition):
            yield from docstrings(line, public=public and _is_public(line) and not isinstance(node, ast.FunctionDef))


def fault(said: Said) -> str | None:
    """What is wrong with a docstring, if anything is."""
    if said.public and len(said.text.split()) < FEWEST_WORDS:
        return f"has fewer than {FEWEST_WORDS} words"
    if FRAGMENTS.match(said.text.strip()):
        return "begins in the middle of a sentence"
    first = SENTENCE.split(said.text.strip())[0]
    return "has no verb" if said.public and said.function and NAMES.match(first) and not VERBS.search(first) else None


def _is_public(definition: Definition) -> bool:
    return isinstance(definition, ast.Module) or definition.name.startswith("__") or not definition.name.startswith("_")


def _is_function(definition: Definition) -> bool:
    """Whether it is called: a property is read."""
    return isinstance(definition, ast.FunctionDef | ast.AsyncFunctionDef) and not any(
        "property" in ast.unparse(one) for one in definition.decorator_list
    )


def _names(line: ast.stmt | None) -> list[str]:
    """What an assignment gives a value to."""
    targets = line.targets if isinstance(line, ast.Assign) else [line.target] if isinstance(line, ast.AnnAssign) else []
    return [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]


def main() -> int:
    """Print every docstring with a fault; 1 where there is one."""
    found = 0
    for path in sorted(SOURCES.rglob("*.py")):
        for said in docstrings(ast.parse(path.read_text(encoding="utf-8"))):
            if wrong := fault(said):
                found += 1
                print(f"{path.relative_to(SOURCES.parent)}:{said.line}: {wrong}: {said.text.strip().splitlines()[0]}")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
