"""Which studies there are and what lies in their packages, from file names alone: the reading side never imports the measuring one."""

from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

from tierwise.core.errors import InputError, suggesting

TRIALS: Final = "trials.py"  # a folder of ``tierwise/studies`` is a study's package where its measuring side has this file


def packages() -> Traversable:
    return files("tierwise") / "studies"


def names() -> list[str]:
    return sorted(package.name for package in packages().iterdir() if (package / "measuring" / TRIALS).is_file())


def known(name: str) -> str:
    if name not in names():
        raise InputError("study", value=name, rule=f"no such study; there are: {', '.join(names())}", remedy=suggesting(name, names()))
    return name


def having(file: str) -> list[str]:
    return [name for name in names() if packages().joinpath(name, *file.split("/")).is_file()]


def path(name: str, file: str) -> str:
    """Return where `file` of the package of study `name` lies in the package, as the report cites it."""
    return f"studies/{name}/{file}"


def text(name: str, file: str) -> str:
    return packages().joinpath(name, *file.split("/")).read_text(encoding="utf-8")
