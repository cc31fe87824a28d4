"""``scripts/check_docstrings.py``: what cannot be read alone is refused, wherever it stands."""

import ast
import runpy
import shutil
from pathlib import Path
from typing import Any

import pytest

from tierwise.core import paths

LINT: dict[str, Any] = runpy.run_path(str(paths.home() / "scripts" / "check_docstrings.py"))
WHOLE = '"""The module says what it holds."""\n'


def faults(source: str) -> list[str]:
    """What the lint says of each docstring of `source`, those with no fault left out."""
    return [fault for said in LINT["docstrings"](ast.parse(WHOLE + source)) if (fault := LINT["fault"](said))]


@pytest.mark.parametrize(
    "source",
    [
        'def folder():\n    """Of the run, where its rows lie."""',
        'async def folder():\n    """By name, where its rows lie."""',
        'class Lab:\n    def folder(self):\n        """Nothing: the files stay for a resumed run."""',
        'class Lab:\n    folder: str\n    """In which the rows of a run lie."""',
        'DIGITS = 12\n"""Of a digest, in hexadecimal."""',
        'if True:\n    pass\n\n\ndef _folder():\n    """Until it has ended, and no longer."""',
    ],
)
def test_a_docstring_that_begins_in_the_middle_of_a_sentence_is_refused_private_or_not(source: str) -> None:
    assert faults(source) == ["begins in the middle of a sentence"]


@pytest.mark.parametrize(
    "source", ['def told():\n    """For programs."""', 'class Plan:\n    """The answer."""', 'ROOM = 1\n"""The room."""']
)
def test_a_public_docstring_of_a_word_or_two_is_refused(source: str) -> None:
    assert faults(source) == ["has fewer than 4 words"]


@pytest.mark.parametrize(
    "text",
    [
        "The folder of a run's rows.",
        "The folder that holds the rows of a run.",
        "Every row of a run, in order. It is read once.",
        "Whether the run has rows.",
        "Name -> row, of every study.",
        "Record of the reads of a run.",
        "Seconds that a scan takes.",
        "(low, high) of the interval.",
        "`None` where nothing was measured.",
        "A window holds a checkpoint.",
        "Returns the rows of a run.",
    ],
)
@pytest.mark.parametrize("place", ["def folder():", "async def folder():", "class Lab:\n    @cached_property\n    def folder(self):"])
def test_a_public_function_or_property_that_names_a_thing_is_refused(place: str, text: str) -> None:
    assert faults(f'{place}\n        """{text}"""') == ["begins with no verb"]


@pytest.mark.parametrize(
    "source",
    [
        'def folder():\n    """Return the folder of a run\'s rows."""',
        'def folder():\n    """Say of each claim whether it holds."""',
        'def folder():\n    """Record the reads of a run."""',
        'def folder():\n    """Name -- which is a verb here -- the run."""',
        'def folder():\n    """Which tables belong on which storage? The answer is measured."""',
        'class Lab:\n    @property\n    def folder(self):\n        """Return the folder of a run\'s rows."""',
        'class Lab:\n    """The folder of a run\'s rows."""',
        'def _folder():\n    """The folder."""',
        'def outer():\n    """Make a function and return it."""\n    def inner():\n        """The folder."""',
        'async def outer():\n    """Make a function and return it."""\n    def inner():\n        """The folder."""',
        '_ROOM = 1\n"""The room."""',
        'ROOM, SIZE = 1, 2\n"""Offset and size in bytes."""',
    ],
)
def test_whole_sentences_and_short_private_ones_pass(source: str) -> None:
    assert faults(source) == []


def test_every_docstring_of_the_package_can_be_read_alone() -> None:
    assert LINT["main"]() == 0


@pytest.mark.parametrize("folder", ["src/tierwise", "tests", "benchmarks", "scripts"])
def test_half_a_sentence_is_refused_in_every_folder(folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "scripts").mkdir()
    lint = shutil.copy(paths.home() / "scripts" / "check_docstrings.py", tmp_path / "scripts")
    (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    (tmp_path / folder / "new.py").write_text(f'{WHOLE}ROOM = 1\n"""Of the lab, where its rows lie."""\n', encoding="utf-8")
    assert runpy.run_path(str(lint))["main"]() == 1
    assert capsys.readouterr().out.splitlines() == [
        f"{folder}/new.py:3: begins in the middle of a sentence: Of the lab, where its rows lie."
    ]
