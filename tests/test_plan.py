"""What a report would measure and how long that takes, on one machine or several, and what a budget of minutes buys."""

import os
import time
from contextlib import ExitStack
from typing import Any

import pytest

from support import BUSY, beside, said, said_as_json
from tierwise.analysis.runs import REFERENCE, find_run
from tierwise.analysis.statistics import MINIMUM_REPEATS
from tierwise.bench.inputs import Inputs
from tierwise.bench.live import turns_of
from tierwise.bench.loop import gather_inputs
from tierwise.bench.runs import Outlook
from tierwise.bench.simulation import SimulatedStudy
from tierwise.bench.study_registry import fingerprints, load_study
from tierwise.cluster.client import Deadline
from tierwise.core import studies
from tierwise.core.errors import InputError
from tierwise.core.pace import Pace, Processors, calibrate, piece_s
from tierwise.core.pairs import TODAY, load_pair
from tierwise.core.profiles import load_profile
from tierwise.core.progress import minutes_left
from tierwise.pipeline import ReportRequest, StudyProgress, _deadline
from tierwise.plan.budget import (
    LEAST,
    MARGIN,
    Intervals,
    bought,
    expected_seconds,
    fleets,
    load_intervals,
    machines_in,
    makespan,
    offers,
    ordered,
    replicate_minutes,
    seconds_in,
)
from tierwise.plan.estimate import Plan, as_json, as_text, beside_runs, load_recorded, plan_of, sentence

RECORDED = load_recorded().pace
PROFILES = ("smoke", "quick", "full")
MOST_MINUTES = {"smoke": 8, "quick": 11, "full": 110}


def inputs(profile: str = "quick", tiers: str = "") -> Inputs:
    return gather_inputs(profile=profile, tiers=tiers, seed=1, census="synthetic")


@pytest.fixture(scope="module")
def quick() -> Plan:
    return plan_of(inputs(), pace=RECORDED)


def test_every_study_is_there_on_its_sources_pair_with_its_executions(quick: Plan) -> None:
    assert {line.study for line in quick.lines} == set(studies.names())
    for line in quick.lines:
        study, profile = load_study(line.study), inputs().profile
        trials = study.trials(profile, load_pair(line.pair))
        if isinstance(study, SimulatedStudy):
            assert line.trials == len(trials) * line.replicates
        else:
            assert line.trials == len(turns_of(study, load_pair(line.pair), inputs(), line.replicates))
        assert load_pair(line.pair).source in {study.source, TODAY}


@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_of_ours_has_a_record_of_every_study(profile: str) -> None:
    plan = plan_of(inputs(profile), pace=RECORDED)
    assert all(line.minutes and line.disk_gb is not None for line in plan.lines)
    recorded = load_recorded().profiles[profile]
    for line in plan.lines:
        known, trials = recorded.studies[line.study], load_study(line.study).trials(load_profile(profile), load_pair(line.pair))
        assert len({trial.key for trial in trials}) == len(trials) > 0
        assert line.minutes == pytest.approx(line.trials * known.seconds / known.trials / 60)
    assert plan.minutes == pytest.approx(sum(line.minutes or 0 for line in plan.lines) + recorded.report_s / 60)
    assert plan.minutes <= MOST_MINUTES[profile]


def test_a_pair_of_ones_own_costs_what_the_sources_pair_does(quick: Plan) -> None:
    own, source = (
        {line.study: line for line in plan_of(inputs(tiers="local"), pace=RECORDED).lines if line.pair == name}
        for name in ("local", "source-m")
    )
    assert own["index_placement"].minutes == pytest.approx(source["index_placement"].minutes, rel=0.4)
    assert source["index_placement"] in quick.lines


def test_a_study_without_a_record_is_listed_and_named(quick: Plan) -> None:
    profile = inputs().profile.model_copy(update={"name": "mine"})
    plan = plan_of(Inputs(profile, inputs().pairs, None, 1, "18"), pace=RECORDED)
    assert all(line.minutes is None and line.disk_gb is None for line in plan.lines)
    assert "no record" in as_text(plan)
    assert "index_placement" in sentence(plan)
    assert [(line.study, line.trials) for line in plan.lines] == [(line.study, line.trials) for line in quick.lines]


def test_rows_that_are_there_cost_nothing_and_the_reason_for_the_rest_is_named(quick: Plan) -> None:
    rows = dict.fromkeys(set(studies.names()) - {"read_latency"}, "20260101-000000-quick-abcdef")
    why = {"read_latency": "tierwise.recorders.strace changed since run 20260101-000000-quick-abcdef"}
    plan = beside_runs(quick, Outlook(fingerprints(inputs()), None, rows, why))
    (line,) = plan.measured
    assert (line.study, line.why) == ("read_latency", why["read_latency"])
    assert plan.minutes == pytest.approx(plan.report_minutes + (line.minutes or 0))
    assert plan.disk_gb == line.disk_gb
    assert why["read_latency"] in as_text(plan)
    assert "20260101-000000-quick-abcdef" in as_text(plan)
    assert {one["study"]: one["rows_of"] for one in as_json(plan)["lines"]} == {**rows, "read_latency": ""}


@pytest.mark.parametrize(
    ("pace", "slowdown"),
    [
        (Pace(RECORDED.piece_s, 8.0), 1.0),
        (Pace(2 * RECORDED.piece_s, 8.0), 2.0),
        (Pace(RECORDED.piece_s / 2, 8.0), 0.5),
        (Pace(RECORDED.piece_s, RECORDED.processors / 2), 2.0),
    ],
)
def test_slow_processors_and_few_of_them_make_a_run_longer(quick: Plan, pace: Pace, slowdown: float) -> None:
    plan = plan_of(inputs(), pace=pace)
    assert plan.slowdown == pytest.approx(slowdown)
    assert plan.minutes == pytest.approx(slowdown * quick.minutes)


def test_the_console_tells_which_study_and_how_long_the_rest_takes_at_the_pace_so_far(
    quick: Plan, capfd: pytest.CaptureFixture[str]
) -> None:
    first, second = "wal_placement", "read_latency"
    progress = StudyProgress([first, second], quick)
    progress.begin(first)
    progress.end(first, 2 * quick.seconds_of(first))
    progress.begin(second)
    begun, then = capfd.readouterr().err.splitlines()
    assert begun.startswith("study 1 of 2: wal placement, about ")
    assert then == f"study 2 of 2: read latency, about {minutes_left(2 * quick.seconds_of(second))}"


def test_a_calibration_sees_what_other_programs_take() -> None:
    cores, before = os.cpu_count() or 1, Processors.now()
    with ExitStack() as ends:
        for _ in range(3 * cores):
            ends.enter_context(beside(*BUSY))
        time.sleep(0.5)  # until all of them are at work
        pace = calibrate()
    assert pace.processors < 0.8 * cores
    assert pace.piece_s < 4 * piece_s(), "processor time hardly depends on others"
    assert Processors.now().wanted_s > before.wanted_s
    assert 0 <= Processors.now().steal_since(before) < 1


def test_steal_is_a_share_of_what_was_wanted() -> None:
    assert Processors(10.0, 3.0).steal_since(Processors(4.0, 1.5)) == pytest.approx(0.25)
    assert Processors(4.0, 1.5).steal_since(Processors(4.0, 1.5)) == 0


def test_the_command_prints_the_same_as_a_table_and_as_an_object() -> None:
    found = said_as_json("plan", "--profile", "smoke")
    assert {line["study"] for line in found["lines"]} == set(studies.names())
    assert found["minutes"] > 0
    text = said("plan", "--profile", "smoke")
    assert all(name in text for name in studies.names())


@pytest.fixture(scope="module")
def full() -> Plan:
    return plan_of(gather_inputs(profile="full", tiers="", seed=1), pace=load_recorded().pace)


def test_a_machine_that_is_free_gets_the_longest_task_that_is_left() -> None:
    assert makespan([3, 1, 2, 2], 1) == 8
    assert makespan([3, 1, 2, 2], 2) == 4
    assert makespan([3, 1, 2, 2], 10) == 3, "no sooner than the longest task"


def test_one_machine_takes_what_the_plan_says_and_more_machines_end_sooner_at_a_higher_price(full: Plan) -> None:
    one, ten, hundred = fleets(full, [1, 10, 100], price_per_hour=2.0)
    assert one.minutes == pytest.approx(full.minutes)
    assert one.price == pytest.approx(full.minutes / 60 * 2.0)
    assert one.minutes > ten.minutes > hundred.minutes
    assert (one.price or 0) < (ten.price or 0) < (hundred.price or 0)
    assert hundred.minutes == pytest.approx(max(replicate_minutes(full)) + full.report_minutes)
    assert fleets(full, [1], None)[0].price is None
    assert fleets(full, machines_in(""), 1.0) == []


@pytest.mark.parametrize("text", ["0", "x", "1,-2", "1000000", "1;2"])
def test_what_is_no_number_of_machines_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="MACHINES"):
        machines_in(text)


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
