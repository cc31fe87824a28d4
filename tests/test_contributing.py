"""What CONTRIBUTING says of the code is so: the walk from `make report` to a figure, and the files of a study."""

import re
from operator import attrgetter
from pathlib import Path
from pkgutil import resolve_name

from tierwise.core import paths

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
