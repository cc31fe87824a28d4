"""What README and CONTRIBUTING promise a reader is what the project does."""

import os
import re
import subprocess
import sys
import tomllib
from operator import attrgetter
from pathlib import Path
from pkgutil import resolve_name

from tierwise.core import paths
from tierwise.core.pairs import Pair, load_pair
from tierwise.core.paths import home
from tierwise.core.toml import validate
from tierwise.core.vocabulary import Evidence

README = (home() / "README.md").read_text(encoding="utf-8")


def code_blocks(language: str) -> list[str]:
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```", README)


def test_continuous_integration_runs_the_two_commands() -> None:
    commands = (home() / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert code_blocks("sh")[0] == "make report\nmake test\nmake demo\n"
    assert {"make check", "make test", "PROFILE=smoke make report"} <= set(commands)
    assert os.access(home() / ".ci" / "run", os.X_OK)


def test_every_make_target_that_it_names_exists() -> None:
    targets = set(re.findall(r"(?m)^([a-z]+):", (home() / "Makefile").read_text(encoding="utf-8")))
    assert set(re.findall(r"\bmake ([a-z]+)\b(?=[` \n])", README.replace("make rows", ""))) <= targets


def test_its_example_of_a_pair_is_one() -> None:
    pair = validate(tomllib.loads(code_blocks("toml")[0]), Pair, where="README.md")
    assert pair.name == "mine"
    assert pair.tiers.keys() == {"hdd", "ssd"}
    assert pair.evidence is Evidence.MEASURED


def test_the_pairs_that_it_names_exist() -> None:
    for name in set(re.findall(r"TIERS=(\w+)", README)) - {"mine"}:
        load_pair(name)  # names what is not there


def test_the_documents_have_the_times_of_the_plan() -> None:
    assert re.findall(r"<!-- minutes (\w+) -->\d+<!-- end --> minutes", README) == ["smoke", "quick", "full", "tests"]
    done = subprocess.run([sys.executable, "scripts/fill_times.py", "--check"], cwd=home(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


TEXT = (paths.home() / "CONTRIBUTING.md").read_text(encoding="utf-8")
TOY = Path(__file__).parent / "toy_study"


def test_every_step_of_the_walk_is_there() -> None:
    steps = re.findall(r'\["([\w.]+)"\]', TEXT.split("```mermaid\n")[1].split("```")[0])
    assert (steps[0], steps[-1]) == ("cli.report", "report.render.render")
    for step in steps:
        module, _, name = re.sub(r"\.([A-Z]|\w+$)", r":\1", step, count=1).partition(":")
        assert callable(attrgetter(name)(resolve_name(f"tierwise.{module}"))), step


def test_the_files_of_a_study_are_those_of_the_toy_and_a_line_of_the_book() -> None:
    listed = TEXT.split("## Adding a study\n")[1].split("```text\n")[1].split("```")[0].split()
    toys = [path.relative_to(TOY).as_posix() for path in TOY.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert sorted(listed) == sorted(["report/_quarto.yml", *(toy.replace("toy_x", "NAME").replace("toy-x", "PAIR") for toy in toys)])
