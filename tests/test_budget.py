"""A budget of minutes: what it buys is decided by the reference run's spreads and the expected times alone."""

import os
import time
from typing import Any

import pytest

from tierwise.analysis.runs import REFERENCE, find_run
from tierwise.analysis.statistics import MINIMUM_REPEATS
from tierwise.bench.loop import gather_inputs
from tierwise.cluster.client import Deadline
from tierwise.core.errors import InputError
from tierwise.pipeline import ReportRequest, _deadline
from tierwise.plan.budget import (
    LEAST,
    MARGIN,
    Intervals,
    bought,
    expected_seconds,
    load_intervals,
    offers,
    ordered,
    seconds_in,
)
from tierwise.plan.estimate import load_recorded, plan_of


def intervals(**log_sd: float) -> Intervals:
    cases: dict[str, Any] = {name: [{"claim": "A1", "case": "x", "log_sd": value, "decided_from": 0}] for name, value in log_sd.items()}
    return Intervals.model_validate({"run": "r", "studies": cases})


def test_a_first_step_gives_an_answer() -> None:
    assert LEAST == MINIMUM_REPEATS


@pytest.mark.parametrize(("text", "seconds"), [("", 0), ("60m", 3600), ("1.5h", 5400), ("90s", 90)])
def test_a_budget_has_a_unit(text: str, seconds: float) -> None:
    assert seconds_in(text) == seconds


@pytest.mark.parametrize("text", ["60", "m", "0m", "-5m", "1d"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="BUDGET=60m"):
        seconds_in(text)


def test_what_shrinks_the_widest_interval_most_for_its_minutes_comes_first() -> None:
    times = {(name, number): cost for name, cost in (("dear", 100.0), ("cheap", 10.0), ("sure", 10.0)) for number in range(8)}
    steps = ordered(times, intervals(dear=0.2, cheap=0.1, sure=0.001))
    assert steps[0] == [("cheap", number) for number in range(5)], "without an interval, replicates are worth nothing"
    assert {len(step) for step in steps[1:]} == {1, 5}
    assert sorted(unit for step in steps for unit in step) == sorted(times)
    firsts = [step[0] for step in steps]
    assert firsts.index(("cheap", 7)) < firsts.index(("sure", 0)) or firsts.index(("dear", 0)) < firsts.index(("sure", 0))


def test_no_replicate_is_bought_that_cannot_end_in_time() -> None:
    times = {("a", number): 10.0 for number in range(6)}
    steps = ordered(times, intervals(a=0.1))
    for machines, ends_s in ((1, 50.0), (5, 10.0)):
        assert bought(steps, times, ends_s * MARGIN - 0.1, machines) == ({}, 0.0)
        assert bought(steps, times, ends_s * MARGIN, machines) == ({"a": 5}, ends_s)
    assert bought(steps, times, 1e6, 1) == ({"a": 6}, 60.0)


def test_a_replicate_begins_only_if_it_can_end_and_the_first_five_only_together() -> None:
    units = [("a", number) for number in range(6)]
    deadline = Deadline(time.monotonic() + 60.0, [units[:5], units[5:]], dict.fromkeys(units, 10.0), MARGIN)
    assert deadline.fits(units[0], units, 1.0, 1)
    assert not deadline.fits(units[0], units, 1.3, 1), "its step would end too late"
    assert deadline.fits(units[0], units, 1.3, 5)
    assert deadline.fits(units[1], units[1:], 1.3, 1)
    assert not deadline.fits(units[5], units[5:], 6.1, 5)


def test_beside_other_work_more_time_is_kept_for_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = gather_inputs(profile="smoke", tiers="", seed=1)
    plan = plan_of(inputs, pace=load_recorded().pace)
    ends_s = []
    for others in (0.0, 4.0 * (os.cpu_count() or 1)):
        monkeypatch.setattr(os, "getloadavg", lambda others=others: (others, others, others))
        ends_s.append(_deadline(ReportRequest("smoke", budget_s=1800.0, begun_s=0.0), inputs, plan).at_s)
    assert ends_s[0] - ends_s[1] > 2 * 60 * plan.report_minutes


def test_expected_times_sum_to_the_plan_and_more_machines_buy_no_less() -> None:
    inputs = gather_inputs(profile="full", tiers="", seed=1)
    plan = plan_of(inputs, pace=load_recorded().pace)
    expected_s = expected_seconds(plan, inputs)
    assert sum(expected_s.values()) / 60 + plan.report_minutes == pytest.approx(plan.minutes)
    one, ten = offers(plan, inputs, 3600.0, [1, 10], price_per_hour=1.0)
    assert all(ten.replicates[name] >= number for name, number in one.replicates.items())
    assert sum(one.replicates.values()) > 0
    assert one.minutes <= 60.0
    assert (ten.price or 0) == pytest.approx(10 * ten.minutes / 60)
    assert load_intervals().run == find_run(REFERENCE).name, "scripts/record_intervals.py"
