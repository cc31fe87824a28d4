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
from tierwise.core import studies

PACKAGE = Path(tierwise.__file__).parent
STILL = {
    "costs/answer_text.py",  # the stamp of the load that `tierwise cost` shows by default
    "costs/cli.py",  # and the help on it
    "datasets/survey/synthetic.py",  # provenance of the rows
    "report/chapters/validation.py",  # the drive that a validation is of
    "report/figures/survey.py",  # what two rooms share
    "simulate/zipf.py",  # the machine of `tierwise simulate zipf`
}
"""Files that still do, each for the reason beside it; none may come to it."""


def known() -> re.Pattern[str]:
    letters = "".join(load_claims().sources)
    ids = "|".join(claim.id for claim in load_claims().claims)
    return re.compile(rf"\b({'|'.join(studies.names())})\b|\bsource[- ][{letters}{letters.lower()}]\b|\b({ids})\b")


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


def test_no_literal_of_the_instrument_names_a_study_a_source_or_a_claim() -> None:
    pattern = known()
    naming = {file for file in instrument() for text in literals((PACKAGE / file).read_text(encoding="utf-8")) if pattern.search(text)}
    assert naming == STILL


@pytest.mark.parametrize("text", ["'index_placement'", "'source-m'", "'of source M'", "f'{x} H12'"])
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
