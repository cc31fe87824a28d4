"""What lies outside the studies' rooms is an instrument: it names no study, no source's letter and no claim."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tierwise
from tierwise.analysis.claims import load_claims
from tierwise.core import data_sets, studies

PACKAGE = Path(tierwise.__file__).parent


def known() -> re.Pattern[str]:
    letters = "".join(load_claims().sources)
    ids = "|".join(claim.id for claim in load_claims().claims)
    names = "|".join(source.name for source in load_claims().sources.values())
    return re.compile(
        rf"\[[{letters}]{{3,}}\]|\b({'|'.join(studies.names())})\b|\bsource[- ][{letters}{letters.lower()}]\b|\b({ids})\b|\b({names})\b"
    )


def literals(source: str) -> Iterator[str]:
    """Strings of a module that are no docstrings."""
    tree = ast.parse(source)
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


def instrument() -> list[str]:
    return sorted(
        path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py") if "studies" not in path.relative_to(PACKAGE).parts
    )


FORMATS = {("tiers/meter.py", "V7")}
"""Literals that look like a claim's id and are NumPy's: seven bytes of padding."""


def test_no_literal_of_the_instrument_names_a_study_a_source_or_a_claim() -> None:
    pattern = known()
    naming = {
        (file, text) for file in instrument() for text in literals((PACKAGE / file).read_text(encoding="utf-8")) if pattern.search(text)
    }
    assert naming == FORMATS


def imported(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{name.name}" for name in node.names)


def test_the_instrument_imports_no_study_and_outside_their_rooms_no_data_set_is_loaded_by_name() -> None:
    rooms = tuple(f"tierwise.datasets.{name}" for name in data_sets.names())
    for file in instrument():
        names = list(imported((PACKAGE / file).read_text(encoding="utf-8")))
        assert not [name for name in names if name.startswith("tierwise.studies")], file
        if not file.startswith("datasets/"):
            assert not [name for name in names if name.startswith(rooms)], file


def test_no_name_of_the_instrument_is_one_of_a_data_set_that_readers_choose() -> None:
    asked = set(data_sets.with_choice())
    for file in instrument():
        if not file.startswith(("datasets/", "cli.py")):  # the command line has an option for each
            tree = ast.parse((PACKAGE / file).read_text(encoding="utf-8"))
            names = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg | ast.keyword)} | set(literals(ast.unparse(tree)))
            assert not asked & names, file


@pytest.mark.parametrize(
    "text", ["'index_placement'", "'source-m'", "'of source M'", "'with the Zipfian reads'", "f'{x} H12'", "'[HLM][0-9]'"]
)
def test_what_would_name_one_is_seen(text: str) -> None:
    assert any(known().search(found) for found in literals(f"x = {text}"))


def test_every_room_has_both_sides() -> None:
    for name in studies.names():
        room = PACKAGE / "studies" / name
        for file in ("measuring/trials.py", "measuring/forecast.py", "measuring/forecast.toml", "reading/rows.sql", "reading/chapter.py"):
            assert (room / file).is_file(), f"{name} has no {file}"


READING = """
import sys
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
