"""The study of the log's place in small: windows of real commits, the trials that a pair allows, and its chapter."""

import json
from pathlib import Path

import polars as pl
import pytest

from cells import drawn, figure_of, table_of
from rows import save_run
from support import measured, read_transactions
from tierwise.bench.inputs import Inputs
from tierwise.bench.loop import gather_inputs
from tierwise.core import paths, session_group
from tierwise.core.errors import EvidenceError
from tierwise.core.pairs import load_pair
from tierwise.core.profiles import Profile, load_profile
from tierwise.devices.protocol import DeviceModel, Operation
from tierwise.postgres.wait_events import UNNAMED, WAL
from tierwise.report.display import Figure, Missing
from tierwise.report.estimates import estimates
from tierwise.report.formats import DASH
from tierwise.report.page import Page, open_page
from tierwise.report.run import open_run
from tierwise.studies.wal_placement.measuring import trials as study
from tierwise.studies.wal_placement.reading.fig_wal_rates import COLOURS, PANELS, PLACES
from tierwise.studies.wal_placement.reading.log_moves import PAIR
from tierwise.tiers import sleeps
from tierwise.tiers.open import device_model
from tierwise.timings.manifest import load_manifest
from tierwise.timings.trial_files import TrialKey
from wal_rows import RATES, SLOWDOWN, Case, wal_rows

TINY = {
    "replicates": 1,
    "window_s": {"hdd": 6.0, "cached": 0.2, "ssd": 0.2},
    "warm_s": 0.2,
    "settle_s": 0.1,
    "slowdown": 8.0,
    "cells": [{"clients": [1]}, {"wals": ["hdd"]}, {"wals": ["hdd"], "group_commit": [True]}],
}


def with_grid(profile: Profile, **changes: object) -> Profile:
    return profile.model_copy(update={"studies": {study.NAME: {**TINY, **changes}}})


@pytest.mark.alone  # who waits for others' commits sleeps, and others must not keep the processors from those who come meanwhile
@pytest.mark.skipif(session_group.obstacle() is not None, reason=str(session_group.obstacle()))
@pytest.mark.skipif(sleeps.obstacle() is not None, reason=str(sleeps.obstacle()))
@pytest.mark.usefixtures("own_folders")
def test_a_window_tells_its_commits_and_the_flushes_that_they_shared() -> None:
    gathered = gather_inputs(profile="smoke", tiers="", seed=1)
    inputs = Inputs(
        with_grid(gathered.profile), (load_pair(PAIR),), None, 1, gathered.server_version, needs_real_time=gathered.needs_real_time
    )
    manifest, rows = measured(study.NAME, inputs)
    assert rows.height == 5

    seen = {}
    seen_in = ("cell", "result_rows", "elapsed_s", "proof", "trial", "flags")
    for cell, commits, elapsed_s, proof, trial, flags in rows.select(seen_in).iter_rows():
        where = json.loads(cell)
        wal = json.loads(proof)["files"]["wal"]
        assert wal["tier"] == where["wal"], "the log lies where the trial has it"
        assert 0 < json.loads(proof)["processor"]["share"] < 1
        assert 0 < json.loads(proof)["processor"]["mount_share"] < 1
        assert not json.loads(proof)["server"].get("checkpointer", {}).get("num_done"), "no checkpoint runs in a window"
        seen[where["wal"], where["clients"], where["commit_delay_us"] > 0] = (study_rate(commits, elapsed_s), wal["flushes"] / commits)
        shares, busy = json.loads(proof)["window_shares"], json.loads(proof)["utilisation"]
        assert json.loads(proof)["sessions"] == where["clients"]
        assert sum(shares.values()) == pytest.approx(1.0, abs=0.005), "all of the sessions' time"
        assert sum(share for name, share in shares.items() if name.startswith(UNNAMED)) < 0.05
        assert shares[WAL] > (0.95 if where["wal"] == "hdd" else 0.4), "only commits wait for a device"
        assert max(busy, key=busy.__getitem__) == where["wal"]
        assert "cpu" not in flags or where["wal"] != "hdd"
        assert "cpu" in flags or (where["wal"], where["clients"]) != ("ssd", 8), "this window measures the processor"
        assert read_transactions(paths.raw() / manifest.run_id, TrialKey(study.NAME, PAIR, trial), 0).height >= commits

    rate, flushes = {case: one[0] for case, one in seen.items()}, {case: one[1] for case, one in seen.items()}
    assert rate["hdd", 1, False] == pytest.approx(120, rel=0.1), "a commit waits for a whole turn of 7,200 a minute"
    assert all(flushes[place, 1, False] == pytest.approx(1.0, abs=0.15) for place in ("hdd", "cached", "ssd"))
    assert flushes["hdd", 8, False] < 0.5, "commits that come together share a flush"
    assert flushes["hdd", 8, True] < flushes["hdd", 8, False], "and more of them do where they wait for each other"
    assert rate["hdd", 8, True] > 1.2 * rate["hdd", 8, False]
    assert rate["ssd", 1, False] > 5 * rate["hdd", 1, False]
    assert rate["cached", 1, False] > 5 * rate["hdd", 1, False]

    (facts,) = (record.facts for record in manifest.studies)
    assert facts["accounts"] == study.ACCOUNTS
    assert facts["commit_delays_us"] == study.COMMIT_DELAYS_US


def study_rate(commits: int, elapsed_s: float) -> float:
    return commits / elapsed_s * float(TINY["slowdown"])  # type: ignore[arg-type]


def test_every_profile_has_a_grid_that_can_be_read() -> None:
    for name in ("smoke", "quick", "full"):
        gathered = study.trials(load_profile(name), load_pair(PAIR))
        assert {"hdd", "ssd"} <= {trial.cell.wal for trial in gathered}
        assert load_profile(name).replicates_of(study.NAME) >= 5


@pytest.mark.parametrize(("pair", "waited"), [("wal-placement", "hdd"), ("today-server", "cached"), ("today-aws", "ssd")])
def test_a_log_on_quick_storage_has_short_windows_whatever_its_tier_is_named(pair: str, waited: str) -> None:
    tiers, profile = load_pair(pair), load_profile("quick")
    (cell, *_) = (trial.cell for trial in study.trials(profile, tiers) if trial.cell.wal == "hdd")
    assert study.grid(profile).waits_on(cell, tiers) == waited


def test_the_commit_delay_is_half_a_flush_where_a_flush_is_long() -> None:
    """The delays are what PostgreSQL's manual advises for the devices of the pair, not anybody's taste."""

    def flushed_s(model: DeviceModel, now_s: float, page: int) -> float:
        for operation, size in ((Operation.WRITE, 8192), (Operation.FLUSH, 0)):
            model.submit(now_s, 1, operation, page * 8192, size)
            done: list[tuple[int, float]] = []
            while not any(tag == 1 for tag, _ in done):
                done = model.advance(model.next_event_s())
            now_s = next(done_s for tag, done_s in done if tag == 1)
        return now_s

    for place, spec in load_pair(PAIR).tiers.items():
        model, now_s, taken_s = device_model(spec, stretch=1.0, seed=1), 0.0, 0.0
        assert model is not None
        for commit in range(100):
            done_s = flushed_s(model, now_s, commit // 8)
            taken_s, now_s = taken_s + done_s - now_s, done_s + 1e-4
        assert study.COMMIT_DELAYS_US[place] * 1e-6 == pytest.approx(taken_s / 100 / 2, rel=0.1)  # type: ignore[index]


def test_where_sleeps_cannot_be_counted_no_commit_waits_for_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sleeps, "obstacle", lambda: "not permitted")
    gathered = study.trials(with_grid(load_profile("smoke")), load_pair(PAIR))
    assert len(gathered) == 4
    assert not any(trial.cell.commit_delay_us for trial in gathered)
    assert "commit_delay is left out, since sleeps cannot be counted here (not permitted)" in capsys.readouterr().err


def test_a_pair_without_a_cached_tier_has_none_of_its_cells_and_a_real_disk_is_not_slowed() -> None:
    gathered = study.trials(with_grid(load_profile("smoke")), load_pair("local"))
    assert {trial.cell.wal for trial in gathered} == {"hdd", "ssd"}
    assert {trial.cell.slowdown for trial in gathered} == {1.0}


def test_without_fuse_nothing_is_measured() -> None:
    assert study.trials(load_profile("smoke"), load_pair(PAIR).simulated()) == ()


def test_a_window_without_a_commit_is_no_evidence() -> None:
    with pytest.raises(EvidenceError, match="no transaction ended in the window"):
        study.STUDY.check(wal_rows({("hdd", 1, "off"): 0.0}))
    study.STUDY.check(wal_rows())


def opened(raw: Path, *, replicates: int = 5, flags: dict[Case, str] | None = None, rows: pl.DataFrame | None = None) -> Page:
    folder = save_run(raw, wal_rows(replicates=replicates, flags=flags) if rows is None else rows)
    manifest = load_manifest(folder)
    manifest.model_copy(update={"pairs": {PAIR: load_pair(PAIR).model_dump(mode="json")}}).save(folder)
    return open_page(open_run(folder.name, raw), "wal_placement", PAIR)


@pytest.fixture
def page(tmp_path: Path) -> Page:
    return opened(tmp_path)


def marks(page: Page) -> set[str]:
    return {layer["mark"]["type"] for layer in figure_of(page, "fig-wal-rates").chart.to_dict()["vconcat"][0]["layer"]}


def test_a_ratio_is_that_of_the_windows_of_one_replicate_at_the_same_load(page: Page) -> None:
    found = estimates(page.rows("tbl-wal-ratios"), ["clients", "group_commit", "wal", "over"])
    over_disks = {key[:2]: one for key, one in found.items() if key[2:] == ("ssd", "hdd")}
    assert list(over_disks) == [(1, "off"), (8, "off"), (8, "on")]
    for (clients, grouped), one in over_disks.items():
        assert one.value == pytest.approx(RATES["ssd", clients, grouped] / RATES["hdd", clients, grouped], rel=0.01)
        assert one.repeats == 5
        low, high = one.interval or (0.0, 0.0)
        assert low < (one.value or 0.0) < high
    assert page.values["delay_most"] == pytest.approx(2.0, rel=0.01)
    assert page.values["slowdown"] == SLOWDOWN
    delay = {name: page.values[f"delay_{name}"] for name in ("cases", "faster", "slower", "disks")}
    assert delay == {"cases": 2, "faster": 1, "slower": 1, "disks": True}
    ends = [page.values[f"delay_{name}"] for name in ("low", "least", "most", "high")]
    assert ends == sorted(ends), "the intervals enclose the ratios"  # type: ignore[type-var]  # numbers all


def test_a_run_of_one_replicate_draws_no_median_and_has_no_answer(page: Page, tmp_path: Path) -> None:
    single = opened(tmp_path / "single", replicates=1)
    assert "line" in marks(page)
    assert "line" not in marks(single)
    assert isinstance(single.exhibit("tbl-wal-ratios"), Missing)
    assert single.own["answered"] is False
    assert single.values["answered"] is True, "the reference run speaks instead"


def test_the_table_shows_ratios(page: Page) -> None:
    table = table_of(page, "tbl-wal-ratios")
    assert [row[:2] for row in table] == [["1", "0"], ["8", "0"], ["8", "half a flush"]]
    assert table[0][2].startswith(("50.", "51."))
    assert table[2][3:] == [DASH, DASH]


def test_the_table_of_time_has_a_row_for_each_place_and_load(page: Page) -> None:
    table = {tuple(row[:3]): row[3:] for row in table_of(page, "tbl-wal-time")}
    assert len(table) == len(RATES)
    assert table["cache", "8", "0"] == ["10", "0", "0", "90", "0", "0", "0", "0", f"{DASH}, 80, {DASH}"]


def test_the_chart_has_a_dot_for_every_window_and_a_panel_without_group_commit_and_with(page: Page) -> None:
    figure = figure_of(page, "fig-wal-rates")
    assert figure.rows.height == 5 * len(RATES)
    assert f"n = {5 * len(RATES)} windows" in figure.caption
    image = figure.bundle()["image/svg+xml"]
    assert all(title in image for title in PANELS.values())


def test_rates_with_processors_are_lower_and_marked_apart_and_only_slowed_drives_have_them(tmp_path: Path) -> None:
    device_s, cpu_s = 3.0, 1.0
    page = opened(tmp_path, rows=wal_rows().with_columns(device_s=pl.lit(device_s), cpu_s=pl.lit(cpu_s)))
    figure = figure_of(page, "fig-wal-rates")
    slower = (figure.rows["with_processors_per_s"] / figure.rows["commits_per_s"]).to_list()
    assert slower == pytest.approx([(device_s + cpu_s) / SLOWDOWN / (device_s / SLOWDOWN + cpu_s)] * len(slower))
    layers = figure.chart.to_dict()["vconcat"][0]["layer"]
    shapes = [layer["mark"].get("shape") for layer in layers if layer["encoding"]["y"]["field"] == "with_processors_per_s"]
    assert shapes == [None, "triangle-up"], "a line and its points"
    assert "without processor time" in figure.caption
    assert "Triangles" in figure.caption

    fast = wal_rows().with_columns(pl.col("cell").str.replace(f'"slowdown":{SLOWDOWN}', '"slowdown":1.0', literal=True))
    figure = figure_of(opened(tmp_path / "fast", rows=fast), "fig-wal-rates")
    assert figure.rows["with_processors_per_s"].is_null().all()
    assert "Triangles" not in figure.caption


def test_the_places_that_are_requested_keep_their_marks(page: Page) -> None:
    figure = drawn("wal_placement", page.run, PLACES=["cached", "ssd"])["fig-wal-rates"]
    assert isinstance(figure, Figure)
    assert set(figure.rows["wal"]) == {"cached", "ssd"}
    scale = figure.chart.to_dict()["vconcat"][0]["layer"][1]["encoding"]["color"]["scale"]
    assert scale == {"domain": [PLACES["cached"], PLACES["ssd"]], "range": [COLOURS["cached"], COLOURS["ssd"]]}


def test_rejected_windows_are_counted_and_give_no_ratio(tmp_path: Path) -> None:
    page = opened(tmp_path, flags={("ssd", 8, "off"): "cpu"})
    figure = figure_of(page, "fig-wal-rates")
    assert (figure.rows["flag"] == "cpu").sum() == 5
    assert f"n = {(figure.rows['flag'] == 'none').sum()} windows" in figure.caption
    (row,) = (row for row in table_of(page, "tbl-wal-ratios") if row[:2] == ["8", "0"])
    assert row[2] == DASH
