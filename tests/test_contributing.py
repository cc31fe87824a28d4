"""What CONTRIBUTING says of the code is so: the walk from `make report` to a figure, and the files of a study."""

import re
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tierwise.core import paths

TEXT = (paths.home() / "CONTRIBUTING.md").read_text(encoding="utf-8")
TOY = Path(__file__).parent / "toy_study"
MOST_STEPS = 15


def section(title: str) -> str:
    """What stands under the heading `title`."""
    return TEXT.split(f"## {title}\n")[1].split("\n## ")[0]


def picture() -> str:
    """The Mermaid text of the walk."""
    return section("From `make report` to a figure").split("```mermaid\n")[1].split("```")[0]


def steps() -> dict[str, str]:
    """Node -> module or function, in the order of the walk."""
    return dict(re.findall(r'(\w+)\["([\w.]+)"\]', picture()))


def edges() -> list[tuple[str, str]]:
    """(from, to) of every arrow."""
    return re.findall(r'^ *(\w+)(?:\["[\w.]+"\])? (?:-- "[^"]*" )?--> (\w+)', picture(), re.MULTILINE)


def found(name: str) -> Any:
    """The module, class, method or function that `name` is below the package."""
    words = name.split(".")
    for length in range(len(words), 0, -1):
        try:
            thing: Any = import_module(".".join(["tierwise", *words[:length]]))
        except ModuleNotFoundError:
            continue
        for attribute in words[length:]:
            thing = getattr(thing, attribute)
        return thing
    raise AttributeError(name)


def test_the_walk_is_one_path_of_few_steps_from_the_command_to_the_page() -> None:
    nodes = list(steps())
    assert 10 <= len(nodes) <= MOST_STEPS
    assert edges() == list(pairwise(nodes))
    named = list(steps().values())
    assert (named[0], named[-1]) == ("cli.report", "report.render.render")
    assert len(set(named)) == len(named)


@pytest.mark.parametrize("name", steps().values())
def test_every_step_is_there(name: str) -> None:
    assert callable(found(name))


def test_what_is_not_there_would_be_seen() -> None:
    for name in ("bench.loop.no_such_function", "no_such_module.x"):
        with pytest.raises(AttributeError):
            found(name)


def test_the_files_of_a_study_are_those_of_the_toy_and_a_line_of_the_book() -> None:
    listed = section("Adding a study").split("```text\n")[1].split("```")[0].split()
    toys = [path.relative_to(TOY).as_posix() for path in TOY.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert sorted(listed) == sorted(["report/_quarto.yml", *(toy.replace("toy_x", "NAME").replace("toy-x", "PAIR") for toy in toys)])
