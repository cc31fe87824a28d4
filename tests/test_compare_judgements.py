"""``scripts/compare_judgements.py``: what two commits say of a run differs in nothing but the fields that were renamed."""

import copy
import runpy
from collections.abc import Callable
from typing import Any

import pytest

from tierwise.core import paths

WORDS = "confirmed (tiers slowed 8-fold)"
STATES = [{"state": "large", "verdict": "confirmed"}]
CASES = [{"case": "large", "verdict": "confirmed"}]
BEFORE = {
    "id": "V4",
    "verdict": WORDS,
    "states": STATES,
    "deciding_state": "large",
    "here": {"verdict": "not measured", "arms": {}},
    "arms": {"memory": {"verdict": WORDS, "states": copy.deepcopy(STATES)}},
}
NOW = {
    "id": "V4",
    "verdict": "confirmed",
    "verdict_text": WORDS,
    "conditions": ["tiers slowed 8-fold"],
    "cases": CASES,
    "deciding_case": "large",
    "here": {"verdict": "not measured", "verdict_text": "not measured", "conditions": [], "arms": {}},
    "arms": {
        "memory": {"verdict": "confirmed", "verdict_text": WORDS, "conditions": ["tiers slowed 8-fold"], "cases": copy.deepcopy(CASES)}
    },
}


@pytest.fixture(scope="module")
def differences() -> Callable[[Any, Any], list[str]]:
    found: Callable[[Any, Any], list[str]] = runpy.run_path(str(paths.home() / "scripts" / "compare_judgements.py"))["differences"]
    return found


@pytest.mark.parametrize("before", [[BEFORE], {"version": 2, "claims": [BEFORE]}], ids=["a list", "version 2"])
def test_the_words_of_before_are_the_text_of_now(differences: Callable[[Any, Any], list[str]], before: Any) -> None:
    assert differences(before, {"version": 4, "claims": [NOW]}) == []


def test_two_of_one_version_are_compared_field_by_field(differences: Callable[[Any, Any], list[str]]) -> None:
    other = {**NOW, "conditions": []}
    assert differences({"version": 4, "claims": [NOW]}, {"version": 4, "claims": [other]}) == [
        "V4.conditions: ['tiers slowed 8-fold'] before, [] now"
    ]


@pytest.mark.parametrize("within", [(), ("here",), ("arms", "memory"), ("cases", 0)])
def test_another_verdict_is_told_wherever_it_stands(differences: Callable[[Any, Any], list[str]], within: tuple[str | int, ...]) -> None:
    other = copy.deepcopy(NOW)
    judged: Any = other
    for name in within:
        judged = judged[name]
    judged["verdict" if "cases" in within else "verdict_text"] = "undecided"
    (told,) = differences({"version": 2, "claims": [BEFORE]}, {"version": 4, "claims": [other]})
    assert told.startswith(f"V4.{within[0] if within else 'verdict_text'}: ")


def test_a_claim_that_one_alone_judged_is_told(differences: Callable[[Any, Any], list[str]]) -> None:
    assert differences([BEFORE], {"version": 4, "claims": []}) == ["V4: judged by one of them alone"]
