"""Options and arguments of commands, with their help from ``options.toml``, which an editor can change."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

import typer


def option(place: str, *names: str, **settings: Any) -> Any:
    """Return an option with the help that ``options.toml`` has at `place`, such as ``plan.machines``."""
    return typer.Option(*names, help=_help(place), **settings)


def argument(place: str, **settings: Any) -> Any:
    return typer.Argument(help=_help(place), **settings)


def _help(place: str) -> str:
    command, _, parameter = place.partition(".")
    return _texts()[command][parameter]


@cache
def _texts() -> dict[str, dict[str, str]]:
    return tomllib.loads((files("tierwise") / "options.toml").read_text(encoding="utf-8"))
