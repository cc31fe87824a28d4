"""What a report would measure, how long and with what precision, said before it begins."""

import json
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tierwise.analysis.statistics import geometric_estimate
from tierwise.bench.fingerprints import fingerprints
from tierwise.bench.inputs import Inputs
from tierwise.bench.live import turns_of
from tierwise.bench.loop import gather_inputs
from tierwise.bench.rooms import load_study
from tierwise.bench.runs import Outlook
from tierwise.bench.simulation import SimulatedStudy
from tierwise.cli import app
from tierwise.core import studies
from tierwise.core.pairs import TODAY, Pair, load_pair
from tierwise.core.quiet import Noise
from tierwise.datasets import census
from tierwise.plan import estimate
from tierwise.plan.estimate import Plan, as_json, as_text, beside_runs, half_width, plan_of, sentence
from tierwise.plan.forecast import Forecast, Prospect, load, load_host
from tierwise.studies.index_placement.measuring import forecast as index_placement
from tierwise.studies.index_placement.measuring.forecast import Constants, Scene, expected_rows, forecast
from tierwise.studies.pgbench_placement.measuring import forecast as pgbench_placement

STATES = list(census.STATES)
QUIET = Noise(steal=0.0, late_s=1e-4, latest_s=1e-3)


@cache
def inputs(profile: str = "quick", tiers: str = "") -> Inputs:
    return gather_inputs(profile=profile, tiers=tiers, seed=1, census="synthetic")


@pytest.fixture(autouse=True)
def as_fast_as_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine keeps the pace of the one that the constants are of, and is as quiet."""
    monkeypatch.setattr(estimate, "reference_work", lambda: load_host().pace_s)
    monkeypatch.setattr(estimate, "listen", lambda: QUIET)


@pytest.fixture(scope="module")
def quick() -> Plan:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(estimate, "reference_work", lambda: load_host().pace_s)
        patch.setattr(estimate, "listen", lambda: QUIET)
        return plan_of(inputs())


def test_every_study_is_there_on_its_sources_pair_with_its_trials(quick: Plan) -> None:
    assert {line.study for line in quick.lines} == set(studies.names())
    for line in quick.lines:
        study, asked = load_study(line.study), inputs()
        trials = study.trials(asked.profile, load_pair(line.pair))
        counted = [trial for trial in trials if not trial.waited]
        executed = (
            len(trials) * line.blocks
            if isinstance(study, SimulatedStudy)
            else len(turns_of(study, load_pair(line.pair), asked, line.blocks))
        )
        assert (line.cells, line.trials) == (len(counted), executed)
        assert load_pair(line.pair).source in {load_study(line.study).source, TODAY}


def test_the_readers_pair_is_planned_beside_it(quick: Plan) -> None:
    lines = [line for line in plan_of(inputs(tiers="local")).lines if line.study == "index_placement"]
    assert [(line.pair, line.substrate) for line in lines] == [("source-m", "emulated"), ("local", "mixed"), ("today-server", "emulated")]
    assert lines[0] in quick.lines


@pytest.mark.parametrize("pair", ["today-server", "today-aws", "today-azure", "today-gcp"])
def test_a_pair_of_today_is_measured_where_it_is_named_by_the_reader_or_by_the_profile(quick: Plan, pair: str) -> None:
    assert (pair in {line.pair for line in quick.lines}) is (pair == inputs().profile.today)
    asked = inputs(tiers=pair)
    assert {each.name for each in asked.pairs if each.source == TODAY} == {pair, "today-server"}
    assert set(asked.pair_files()[pair]["devices"]) == {tier.device for tier in load_pair(pair).tiers.values() if tier.kind != "directory"}
    assert pair in {line.pair for line in plan_of(asked).lines}


def test_the_whole_is_the_sum_of_its_minutes_and_the_most_of_its_disk() -> None:
    plan = plan_of(inputs(tiers="local"))
    assert plan.minutes == pytest.approx(plan.report_s / 60 + sum(line.minutes() or 0 for line in plan.lines))
    assert plan.disk_gb == max(line.disk_gb or 0 for line in plan.lines)


def test_rows_that_are_there_cost_nothing_and_it_says_whose_they_are_and_why_others_are_measured_anew(quick: Plan) -> None:
    rows = dict.fromkeys(set(studies.names()) - {"read_latency"}, "20260101-000000-quick-abcdef")
    why = {"read_latency": "tierwise.recorders.strace changed since run 20260101-000000-quick-abcdef"}
    plan = beside_runs(quick, Outlook(fingerprints(inputs()), None, rows, why))
    (line,) = plan.measured
    assert (line.study, line.why) == ("read_latency", why["read_latency"])
    assert plan.minutes == pytest.approx(plan.report_s / 60 + (line.minutes() or 0))
    assert plan.minutes < quick.minutes
    assert plan.disk_gb == line.disk_gb
    assert f"plan: {line.trials} trials" in sentence(plan)
    text = as_text(plan).splitlines()
    assert f"read_latency: measured anew, because {why['read_latency']}" in text
    assert "index_placement: nothing is measured, its rows are those of run 20260101-000000-quick-abcdef" in text
    assert text[1].split()[6] == "there"
    assert {one["study"]: one["rows_of"] for one in as_json(plan)["lines"]} == {**rows, "read_latency": ""}


def test_more_rows_blocks_and_variants_take_longer_and_more_disk() -> None:
    smoke, quick, full = (plan_of(inputs(profile)).lines[0] for profile in ("smoke", "quick", "full"))
    assert (smoke.minutes() or 0) < (quick.minutes() or 0) < (full.minutes() or 0)
    assert (smoke.disk_gb or 0) < (quick.disk_gb or 0) < (full.disk_gb or 0)
    assert all(quick.half_widths[name] <= width for name, width in smoke.half_widths.items()), "at least as many blocks"
    assert all(full.half_widths[name] == width for name, width in smoke.half_widths.items()), "five blocks each"


def test_a_host_that_is_half_as_fast_takes_at_most_twice_as_long(quick: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimate, "reference_work", lambda: 2 * load_host().pace_s)
    slow = plan_of(inputs())
    assert slow.pace == pytest.approx(2)
    assert slow.minutes == quick.minutes  # at the recorded pace
    assert quick.minutes * 1.2 < slow.minutes_now < quick.minutes * 2  # disks are as slow as they were


def test_stolen_time_is_missing_to_what_the_host_does_and_to_nothing_else(quick: Plan) -> None:
    stolen = replace(quick, noise=replace(QUIET, steal=0.5))
    assert stolen.minutes_now == pytest.approx((2 * quick.host_s + quick.device_s) / 60)
    assert stolen.minutes == quick.minutes == quick.minutes_now


def test_both_forecasts_and_the_noise_are_told(quick: Plan) -> None:
    noisy = replace(quick, pace=2.0, noise=Noise(steal=0.3, late_s=0.02, latest_s=0.1))
    text = as_text(noisy)
    assert f"at the pace of data/plan/host.toml, {noisy.minutes:.1f} in all" in text
    assert f"as this machine is now, {noisy.minutes_now:.1f} in all" in text
    assert "This machine is noisy: steal 30.0 %, 99 of 100 sleepers at most 20.0 ms late (the latest 100.0 ms)" in text
    assert "many rows of what is waited for" in text
    assert "RETRY=1" in text


def test_the_reference_run_has_five_blocks_and_seeds_of_everything_within_seven_minutes() -> None:
    plan = plan_of(inputs("smoke"))
    assert plan.minutes <= 7, "six, before every block had a lab of its own"
    assert {line.blocks for line in plan.lines} == {5}
    tables = inputs("smoke").profile.studies
    assert tables["survey_arrays"]["hunt"]["seeds"] == 5
    assert inputs("quick").profile.studies["pgbench_placement"]["flip_map"]["seeds"] == 5


def test_a_study_that_forecasts_nothing_is_listed_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimate, "find_spec", lambda _: None)
    plan = plan_of(inputs())
    assert all(line.cells and line.minutes() is None and line.disk_gb is None and not line.half_widths for line in plan.lines)
    assert plan.minutes == plan.report_s / 60
    assert "no forecast" in as_text(plan)
    assert "without index_placement" in sentence(plan)


@pytest.mark.parametrize("blocks", [5, 7])
def test_the_half_width_is_that_of_the_interval_which_the_verdict_uses(blocks: int) -> None:
    logs = np.random.default_rng(1).normal(0, 0.1, blocks)
    found = geometric_estimate([float(ratio) for ratio in np.exp(logs)])
    assert found.high is not None
    assert found.value is not None
    assert half_width(float(logs.std(ddof=1)), blocks) == pytest.approx(100 * (found.high / found.value - 1))


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("fraction", [0.02, 1.0])
def test_a_count_finds_as_many_pages_as_were_counted_and_none_beside_the_table(state: str, fraction: float) -> None:
    constants = load("index_placement", Constants)
    scene = Scene(load_pair("source-m"), round(census.ROWS * fraction), 1, constants)
    pages = scene.pages(state, shuffled=False)
    assert len(pages) == pytest.approx(constants.heap_pages[state] * fraction, rel=0.15)
    assert (np.diff(pages) > 0).all()
    assert 0 <= pages[0] <= pages[-1] <= scene.table_pages
    assert len(scene.pages(state, shuffled=True)) > 1.3 * len(pages)


def test_a_shuffled_table_costs_more_reads_and_each_flash_read_the_same() -> None:
    scene = Scene(load_pair("source-m"), 491_657, 1, load("index_placement", Constants))
    in_order, shuffled = (len(scene.pages("FL", order)) * scene.service_s("hdd", "FL", order) for order in (False, True))
    assert shuffled > 2 * in_order
    assert scene.service_s("ssd", "FL", True) == pytest.approx(scene.service_s("ssd", "FL", False), rel=0.01)
    assert scene.service_s("hdd", "", True) > 5 * scene.service_s("hdd", "FL", False)  # anywhere, out of order


def test_nobody_waits_for_a_device_that_is_replayed_afterwards() -> None:
    source = load_pair("source-m")
    profile = inputs().profile
    trials = load_study("index_placement").trials(profile, source)
    prospect = Prospect(profile, source, trials, {}, 1)
    assert forecast(prospect).device_s > 10
    assert forecast(replace(prospect, pair=source.simulated())).device_s == 0


def test_windows_wait_for_the_clock_and_the_rest_grows_with_the_data() -> None:
    profile, pair = inputs().profile, load_pair("source-v")
    table = profile.studies["pgbench_placement"]

    def of(**changes: object) -> Forecast:
        changed = profile.model_copy(update={"studies": {"pgbench_placement": {**table, **changes}}})
        trials = load_study("pgbench_placement").trials(changed, pair)
        return pgbench_placement.forecast(Prospect(changed, pair, trials, {}, 1))

    as_it_is, larger, longer, alone = of(), of(scale=40), of(window_s={"hdd": 40, "ssd": 40}), of(flip_map=None)
    assert as_it_is.device_s >= 10 * 6 + 5 * 3
    assert longer.device_s > 1.8 * as_it_is.device_s
    assert longer.host_s == as_it_is.host_s
    assert larger.host_s > 1.2 * as_it_is.host_s
    assert larger.device_s == as_it_is.device_s
    assert larger.disk_bytes > as_it_is.disk_bytes
    assert alone.host_s < as_it_is.host_s
    assert set(as_it_is.spreads) == {"index_ssd", "table_ssd"}
    assert of(blocks=1).device_s * 5 == pytest.approx(as_it_is.device_s)


@pytest.mark.parametrize(
    ("source", "rows"), [("synthetic", 491_657), ("download", census.ROWS), ("file:packed.zip", census.ROWS), ("file:rows.txt", 1_000)]
)
def test_the_rows_are_those_that_the_source_will_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, rows: int) -> None:
    monkeypatch.setenv("TIERWISE_HOME", str(tmp_path))
    (tmp_path / "packed.zip").write_bytes(b"")
    (tmp_path / "rows.txt").write_bytes(bytes(index_placement.RAW_ROW_BYTES * 1_000))
    assert expected_rows(source, 0.2) == rows


def test_the_table_and_the_object_say_the_same(quick: Plan) -> None:
    said = as_json(quick)
    assert json.loads(json.dumps(said)) == said
    assert said["stamp"] == "simulated"
    first = said["lines"][0]
    text = as_text(quick).splitlines()
    assert text[1].split()[:7] == [
        first["study"],
        first["pair"],
        first["substrate"],
        *(str(first[name]) for name in ("cells", "blocks", "trials")),
        f"{first['minutes']:.1f}",
    ]
    assert text[1].split()[7] == f"{first['minutes_now']:.1f}"
    assert any("simulated" in line for line in text[-6:])
    assert max(map(len, text)) <= 140


def test_the_command_prints_either_and_refuses_an_unknown_profile() -> None:
    run = CliRunner()
    assert "index_placement" in run.invoke(app, ["plan", "--profile", "smoke"]).stdout
    told = json.loads(run.invoke(app, ["plan", "--profile", "smoke", "--format", "json"]).stdout)
    assert told["profile"] == "smoke"
    refused = run.invoke(app, ["plan", "--profile", "nonesuch"])
    assert "nonesuch" in str(refused.exception)


@pytest.mark.parametrize(("study", "table"), [("survey_arrays", {"share": 0.1}), ("survey_placement", {"share": 0.1, "joined": 10})])
def test_source_h_waits_for_its_queries_and_loads_its_rows_once(study: str, table: dict[str, float]) -> None:
    profile, pair = inputs().profile, load_pair("source-h")

    def of(on: Pair = pair, **changes: object) -> Forecast:
        changed = profile.model_copy(update={"studies": {study: {**table, "blocks": 5, **changes}}})
        trials = load_study(study).trials(changed, on)
        found = import_module(f"tierwise.studies.{study}.measuring.forecast").forecast(Prospect(changed, on, trials, {}, 1))
        assert isinstance(found, Forecast)
        return found

    as_it_is, larger, once = of(), of(share=0.2), of(blocks=1)
    assert as_it_is.device_s == pytest.approx(5 * once.device_s)
    assert as_it_is.host_s < 5 * once.host_s
    assert larger.device_s > as_it_is.device_s
    assert larger.host_s > as_it_is.host_s
    assert larger.disk_bytes > as_it_is.disk_bytes
    assert of(pair.simulated()).device_s == 0
    assert as_it_is.spreads
