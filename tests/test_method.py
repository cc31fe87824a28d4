"""What is another experiment: an edit that could change a number, and none that could not."""

import shutil
from importlib import resources
from pathlib import Path

import pytest

from tierwise.bench import method

COUNTED = 'def f(x: int) -> int:\n    """Twice."""\n    return 2 * x  # doubled\n\n\nLIMIT = 3\n"""So many."""\n'


@pytest.mark.parametrize(
    "edited",
    [
        COUNTED.replace("Twice.", "The double of `x`."),
        COUNTED.replace("So many.", "At most so many."),
        COUNTED.replace("  # doubled", ""),
        COUNTED.replace("2 * x", "(\n        2 * x\n    )"),
    ],
)
def test_words_and_layout_are_no_other_method(edited: str) -> None:
    assert edited != COUNTED
    assert method.meaning(edited) == method.meaning(COUNTED)


@pytest.mark.parametrize("edited", [COUNTED.replace("2 *", "3 *"), COUNTED.replace("LIMIT = 3", "LIMIT = 4"), COUNTED + "f(LIMIT)\n"])
def test_another_number_or_call_is_another_method(edited: str) -> None:
    assert method.meaning(edited) != method.meaning(COUNTED)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the package whose fingerprint is taken."""
    shutil.copytree(str(resources.files("tierwise")), tmp_path / "tierwise", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(resources, "files", lambda name: tmp_path / name)
    return tmp_path / "tierwise"


@pytest.mark.parametrize(
    ("file", "counts"),
    [
        ("devices/seek.py", True),
        ("simulate/replay.py", True),
        ("tiers/clock.py", True),
        ("postgres/warming.py", True),
        ("bench/stopwatch.py", True),
        ("studies/index_placement/measuring/variants.py", True),
        ("studies/survey_arrays/measuring/trials.py", True),
        ("studies/index_placement/measuring/forecast.py", False),
        ("studies/index_placement/reading/figures.py", False),
        ("report/words.py", False),
    ],
)
def test_a_constant_counts_where_numbers_come_from(package: Path, file: str, counts: bool) -> None:
    before = method.method_sha256()
    path = package / file
    path.write_text(path.read_text(encoding="utf-8") + '"""A word more."""\n', encoding="utf-8")
    assert method.method_sha256() == before, "a docstring"
    path.write_text(path.read_text(encoding="utf-8") + "ANOTHER = 7\n", encoding="utf-8")
    assert (method.method_sha256() != before) is counts
