"""``scripts/compare_judgements.py`` prints each field in which two commits' verdicts on a run differ."""

import runpy
from collections.abc import Callable
from typing import Any

import pytest

from tierwise.core import paths

CLAIM = {"id": "V4", "verdict": "confirmed", "conditions": ["tiers slowed 8-fold"]}


@pytest.fixture(scope="module")
def differences() -> Callable[[Any, Any], list[str]]:
    found: Callable[[Any, Any], list[str]] = runpy.run_path(str(paths.home() / "scripts" / "compare_judgements.py"))["differences"]
    return found


@pytest.mark.parametrize(
    ("claims", "version", "lines"),
    [
        ([CLAIM], 6, []),
        ([{**CLAIM, "conditions": []}], 6, ["V4.conditions: ['tiers slowed 8-fold'] before, [] now"]),
        ([], 6, ["V4: judged by one of them alone"]),
        ([CLAIM], 7, ["the JSON has version 6 there and 7 here: name a commit of one version"]),
    ],
)
def test_every_difference_is_a_line(
    differences: Callable[[Any, Any], list[str]], claims: list[Any], version: int, lines: list[str]
) -> None:
    assert differences({"version": 6, "claims": [CLAIM]}, {"version": version, "claims": claims}) == lines
