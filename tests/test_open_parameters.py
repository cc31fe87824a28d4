"""What a text leaves open: from the smoke run of the tests and from invented points."""

from collections.abc import Iterator

import pytest

from kept_smoke import RAW
from tierwise.analysis.causes import Cause
from tierwise.analysis.claims import Bounds
from tierwise.analysis.left_open import OpenMap, points_of
from tierwise.analysis.rules import Verdict
from tierwise.analysis.statistics import geometric_estimate
from tierwise.core.vocabulary import Evidence
from tierwise.pipeline import runs_in
from tierwise.report.run import Run, open_run

BOUNDS = Bounds(lower=1.4, upper=1.5)


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    with runs_in(RAW):
        yield open_run()


def mapped(*values: float, at_one: Verdict = Verdict.CONFIRMED) -> OpenMap:
    found = [
        ({"clients": str(number)}, geometric_estimate([value * 1.001**seed for seed in range(5)])) for number, value in enumerate(values)
    ]
    return OpenMap(axes=("clients",), evidence=Evidence.SIMULATED, at_one=at_one, points=points_of(found, BOUNDS))


@pytest.mark.parametrize("verdict", [Verdict.CONFIRMED, Verdict.CONTRADICTED])
def test_what_one_setting_says_stands_where_every_other_says_the_same(verdict: Verdict) -> None:
    inside, outside = (1.42, 1.45, 1.48), (1.1, 2.0)
    same, other = (inside, outside) if verdict is Verdict.CONFIRMED else (outside, inside)
    assert mapped(*same).outcome((verdict, None, "")) == (verdict, None, "")
    for points in (other, (*same, other[0]), (*same, 1.4999)):
        found = mapped(*points).outcome((verdict, None, ""))
        assert found[:2] == (Verdict.UNDECIDED, Cause.LEFT_OPEN)


def test_the_share_lies_between_what_agrees_for_certain_and_what_may() -> None:
    found = mapped(1.45, 1.499, 2.0, 3.0)
    assert found.share == (0.25, 0.5)
    assert found.agreement == "1 to 2 of 4 simulated settings agree (clients)"
