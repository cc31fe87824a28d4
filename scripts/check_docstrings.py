"""Refuse docstrings that cannot be read alone: those that begin in the middle of a sentence and, in `src`, public ones of a word or two,
and those of public functions and properties that name a thing in place of what is done."""

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
VERBS: Final = frozenset(
    """
    accept acquire add adjust advance allow answer append apply approximate arrange ask assert assign assume attach await be begin bill bind
    bootstrap bring build buy call cancel carry change check choose claim clean clear close collect combine compare compile complete compute
    connect consume contain convert copy correct count create cut decide declare decode decompose defer define delay delete deliver derive
    describe detach determine disable discard divide do download drain draw drop drive empty enable encode end ensure enter escape estimate
    evaluate examine exchange execute exit expand explain export expose extend extract fail fall fetch fill filter find finish fit fix flush
    follow force forget free gather generate get give go grow guess hand handle have hear hide hold import increase initialise insert
    install interpolate introduce invert join judge keep kill launch lay learn leave lend let limit link list load lock log look lower make
    map mark match measure meet merge mount move name narrow normalise note notice notify obtain offer open pack parse pass pause pay
    perform pick place plan poll pop predict prepare print process produce prove provide publish push put quote raise rank reach read
    rebuild receive reckon recognise record recover reduce refer refuse register reject release remember remove rename render repeat replace
    replay report require reserve reset resolve restart restore resume retry return reverse run save say scan search seek select send
    separate serve set settle shift show shrink shuffle shut simulate sketch skip sleep slow solve sort speak split spread stand start stay
    step stop store stretch strip submit sum summarise suspend switch synchronise tabulate take tell think throw tidy time touch transfer
    translate treat trim try turn typeset undo unmount update use validate verify visit wait wake walk warn watch weigh widen work wrap
    write yield
    """.split()  # noqa: SIM905 - a list of as many strings is a page long
)
"""Words that the docstring of a function begins with: what it does, told as a command. What is missing here is added."""
NAMES: Final = re.compile(r"(?!say|speak|tell|think)\w+( of\b|,? \(?-> ?)", re.IGNORECASE)
"""A verb before one of these is a name: *Record of a run*, *Name -> row*."""
SENTENCE: Final = re.compile(r"(?<=[.?])\s|\n\s*\n")
"""What a docstring's first sentence ends with."""
HOME: Final = Path(__file__).parents[1]
SOURCES: Final = HOME / "src"
BESIDE: Final = ("tests", "benchmarks", "scripts")
"""Folders whose docstrings are told whole, but may be short, and name a thing."""
FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
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
            yield Said(line.lineno, named, line.value.value, function=before is None and isinstance(node, FUNCTIONS))
        elif isinstance(line, Definition):
            yield from docstrings(line, public=public and _is_public(line) and not isinstance(node, FUNCTIONS))


def fragment(said: Said) -> str | None:
    """What is wrong with the beginning of a docstring, wherever it stands, if anything is."""
    return "begins in the middle of a sentence" if FRAGMENTS.match(said.text.strip()) else None


def fault(said: Said) -> str | None:
    """What is wrong with a docstring of `src`, if anything is."""
    if said.public and len(said.text.split()) < FEWEST_WORDS:
        return f"has fewer than {FEWEST_WORDS} words"
    if cut := fragment(said):
        return cut
    return "begins with no verb" if said.public and said.function and not _says_what_is_done(said.text.strip()) else None


def _is_public(definition: Definition) -> bool:
    return isinstance(definition, ast.Module) or definition.name.startswith("__") or not definition.name.startswith("_")


def _says_what_is_done(text: str) -> bool:
    """Whether a text begins with a verb, or is a question, which a command of the shell may ask."""
    verb = re.match(r"\w+", text)
    return SENTENCE.split(text)[0].endswith("?") or bool(verb and verb[0].lower() in VERBS and not NAMES.match(text))


def _names(line: ast.stmt | None) -> list[str]:
    """What an assignment gives a value to."""
    targets = line.targets if isinstance(line, ast.Assign) else [line.target] if isinstance(line, ast.AnnAssign) else []
    return [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]


def main() -> int:
    """Print every docstring with a fault; 1 where there is one."""
    found = 0
    for folder, wrongs in ((SOURCES, fault), *((HOME / name, fragment) for name in BESIDE)):
        for path in sorted(folder.rglob("*.py")):
            for said in docstrings(ast.parse(path.read_text(encoding="utf-8"))):
                if wrong := wrongs(said):
                    found += 1
                    print(f"{path.relative_to(HOME)}:{said.line}: {wrong}: {said.text.strip().splitlines()[0]}")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
