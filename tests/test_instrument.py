"""The code outside the studies names no study, no source's letter and no claim; and no code has prose, which stands in templates."""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import tierwise
from tierwise.analysis.claims import load_claims
from tierwise.core import data_sets, studies
from tierwise.core.paths import home

PACKAGE = Path(tierwise.__file__).parent
TREES = {
    path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
    for path in sorted(PACKAGE.rglob("*.py"))
    if "studies" not in path.relative_to(PACKAGE).parts
}
FORMATS = {("tiers/meter.py", "V7")}  # literals that look like a claim's id and are NumPy's: seven bytes of padding


@cache
def known() -> re.Pattern[str]:
    letters = "".join(load_claims().sources)
    names = "|".join(
        [*studies.names(), *(claim.id for claim in load_claims().claims), *(one.name for one in load_claims().sources.values())]
    )
    return re.compile(rf"\[[{letters}]{{3,}}\]|\b({names}|source[- ][{letters}{letters.lower()}])\b")


def literals(tree: ast.AST) -> set[str]:
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings
    }


def test_no_literal_of_the_instrument_names_a_study_a_source_or_a_claim() -> None:
    assert {(file, text) for file, tree in TREES.items() for text in literals(tree) if known().search(text)} == FORMATS


@pytest.mark.parametrize("text", ["'index_placement'", "'source-m'", "'of source M'", "'with the Zipfian reads'", "f'{x} H12'"])
def test_what_would_name_one_is_seen(text: str) -> None:
    assert any(known().search(found) for found in literals(ast.parse(f"x = {text}")))


def test_the_instrument_imports_no_study_and_loads_no_data_set_by_name() -> None:
    packages = ("tierwise.studies", *(f"tierwise.datasets.{name}" for name in data_sets.names()))
    options = set(data_sets.with_choice())
    for file, tree in TREES.items():
        nodes = list(ast.walk(tree))
        names = {f"{node.module}.{name.name}" for node in nodes if isinstance(node, ast.ImportFrom) for name in node.names}
        names |= {name.name for node in nodes if isinstance(node, ast.Import) for name in node.names}
        in_datasets = file.startswith("datasets/")
        assert not [name for name in names if name.startswith(packages[:1] if in_datasets else packages)], file
        arguments = {node.arg for node in nodes if isinstance(node, ast.arg | ast.keyword)}
        assert in_datasets or file in {"cli.py", "core/errors.py"} or not options & (arguments | literals(tree)), file


READING = """
import sys
from functools import cache
class Blocked:
    def find_spec(self, name, path=None, target=None):
        words = name.split(".")
        if words[0] == "tierwise" and {"tiers", "postgres", "bench", "recorders", "measuring"} & set(words):
            raise ImportError(f"{name} is blocked")
sys.meta_path.insert(0, Blocked())
from importlib import import_module
from pathlib import Path
package = Path(import_module("tierwise").__file__).parent
for path in sorted(package.glob("studies/*/reading/*.py")):
    import_module(".".join(("tierwise", *path.relative_to(package).with_suffix("").parts)).removesuffix(".__init__"))
"""


def test_every_reading_module_works_without_what_measures() -> None:
    done = subprocess.run([sys.executable, "-c", READING], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


CONTRACT = """
[importlinter]
root_package = toy
contract_types =
    import table: scripts.import_table.ImportTable

[importlinter:contract:table]
name = toy
type = import table
root = toy
table =
    low:
    gone: low
    cli: *
"""


def test_an_import_that_the_contract_s_table_lacks_is_named_with_its_line_and_the_table_has_every_package_and_no_other(
    tmp_path: Path,
) -> None:
    (tmp_path / "toy").mkdir()
    for name, source in {"__init__": "", "low": "\nimport toy.high", "high": "", "cli": "from toy import high, low"}.items():
        (tmp_path / "toy" / f"{name}.py").write_text(source, encoding="utf-8")
    (tmp_path / ".importlinter").write_text(CONTRACT, encoding="utf-8")
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache", "--no-logo"]
    environment = {**os.environ, "PYTHONPATH": str(home()), "NO_COLOR": "1", "COLUMNS": "200"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    for said in (
        "toy.low imports toy.high (line 2); low may not import high",
        "high has no line",
        "gone has a line in the table and does not",
    ):
        assert said in done.stdout


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
