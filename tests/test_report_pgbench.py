"""The chapter on the pgbench study shows what its rows say, and says so where there are none."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import cells
from cells import figure_of, table_of
from pgbench_rows import LARGE, PHASES, SMALL, pgbench_rows
from rows import make_run, save_run, study_record
from tierwise.core.vocabulary import IoMode
from tierwise.report.display import Figure, Missing
from tierwise.report.formats import DASH
from tierwise.report.page import Page, open_page
from tierwise.report.run import open_run
from tierwise.studies.pgbench_placement.reading.names import PAIR, STUDY, points
from tierwise.timings.manifest import load_manifest

Opened = Callable[..., Page]
EXHIBITS = ("fig-pgbench-gains", "tbl-pgbench-io", "tbl-pgbench-rates")
POINT = {
    "memory": 1.0,
    "index_to_memory": 0.4,
    "skew": 1.1,
    "layout": "strewn",
    "writes": 0.2,
    "slowdown": 1.0,
    "evidence": "simulated",
    "tps": {
        "all_hdd": [100.0] * 5 * 5,
        "index_ssd": [120.0] * 5 * 5,
        "table_ssd": [500.0] * 5 * 5,
        "all_ssd": [900.0] * 5 * 5,
        "heat": [300.0] * 5 * 5,
        "dm_cache": [130.0] * 5 * 5,
    },
}
FLIPPED = {
    **POINT,
    "memory": 0.134,
    "index_to_memory": 3.0,
    "layout": "random-keys",
    "tps": {"all_hdd": [100.0] * 5, "index_ssd": [250.0] * 5, "table_ssd": [180.0] * 5, "all_ssd": [600.0] * 5, "heat": [230.0] * 5},
}
FACTS: dict[str, Any] = {
    "size_bytes": {"large": {"pgbench_accounts": 850, "pgbench_accounts_pkey": 150}},
    "memory_share": 16 / 45,
    "flip_map": [POINT, FLIPPED],
    "by_scale": [
        {
            "scale": scale,
            "published_scale": 3000,
            "replicates": list(range(5)),
            "tps": {
                "all_hdd": [100.0] * 5,
                "index_ssd": [100 * 1.1 * scale**0.01 * 1.001**seed for seed in range(5)],
                "table_ssd": [500.0 * 1.001**seed for seed in range(5)],
            },
        }
        for scale in (12, 36, 108)
    ],
}


@pytest.fixture
def opened(raw: Path) -> Opened:
    def page_of(*rows: pl.DataFrame) -> Page:
        folder = save_run(raw, pl.concat(rows))
        record = study_record(STUDY, PAIR, trials=("t",), **FACTS)
        manifest = load_manifest(folder)
        manifest.model_copy(update={"studies": (*manifest.studies, record)}).save(folder)
        return open_page(open_run(folder.name), STUDY, PAIR)

    return page_of


@pytest.fixture
def page(opened: Opened) -> Page:
    mix = {"all_hdd": 100.0, "index_ssd": 125.0, "table_ssd": 400.0}
    return opened(
        pgbench_rows(LARGE),
        pgbench_rows(SMALL, size="small", flags={"all_ssd": "cpu"}),
        pgbench_rows(mix, mix={"script": "mix", "writes": 0.2, "skew": 1.1, "layout": "strewn"}),
    )


def test_values_are_the_gains_of_each_set_and_say_which_move_pays(page: Page) -> None:
    found = page.own
    assert found["tables_gain"] == pytest.approx(LARGE["table_ssd"] / LARGE["all_hdd"], rel=0.03)
    assert found["indexes_gain"] == pytest.approx(LARGE["index_ssd"] / LARGE["all_hdd"], rel=0.03)
    assert (found["answered"], found["tables_first"], found["indexes_first"], found["indexes_pay"]) == (True, True, False, True)
    assert found["small_pays"], "tables of the small set gain a fifth"
    assert found["before_gain"] == pytest.approx(found["tables_gain"], rel=0.05), "these windows are as fast in each phase"
    assert found["hdd_checkpoint_share"] == pytest.approx(PHASES["checkpoint"] / sum(PHASES.values()))
    assert found["index_misses"] == pytest.approx(10 / 90)
    assert found["index_device"] == pytest.approx(0.1 / 0.6)


def test_the_tables_show_io_and_claims(page: Page) -> None:
    accounts = next(row for row in table_of(page, "tbl-pgbench-io") if row[:4] == ["large", "all on HDD", "accounts", "checkpoint"])
    assert accounts[4] == "60.0 %"
    claims = {row[0]: row for row in table_of(page, "tbl-pgbench-claims")}
    assert claims["V2"][2].startswith("large 4.2")
    assert claims["V2"][3].startswith("**undecided**"), "the source has three to four times, and the model interval reaches there"


def test_the_table_of_time_shows_what_was_recorded_of_rejected_windows_too(opened: Opened) -> None:
    shares = {
        "processor": 0.1,
        "processor queue": 0.02,
        "row locks": 0.3,
        "WAL": 0.004,
        "reads hdd": 0.3,
        "reads": 0.1,
        "writes hdd": 0.176,
    }
    page = opened(pgbench_rows(LARGE, flags={"table_ssd": "row-locks"}, shares=shares), pgbench_rows(SMALL, size="small"))
    found = {tuple(row[:3]): row[3:] for row in table_of(page, "tbl-pgbench-time")}
    assert found["large", "tables on SSD", "wait"] == ["12", "30", "0", "0.4", "40", "18", "0", "0", "66, 25, 0.1"]
    assert len(found) == 4, "the small set's windows were not recorded"
    assert page.rows("tbl-pgbench-time")["window_id"].n_unique() == 20


def test_rates_stand_with_and_without_the_checkpoint_and_with_commits_that_do_not_wait(opened: Opened) -> None:
    load = {"protocol": "prepared", "synchronous_commit": "on"}
    faster = {name: 1.5 * tps for name, tps in LARGE.items()}
    page = opened(
        slow_in_checkpoints(pgbench_rows(LARGE, mix=load), "all_hdd"),
        pgbench_rows(faster, mix={**load, "synchronous_commit": "off"}),
        pgbench_rows(SMALL, mix={**load, "protocol": "simple"}),
    )
    shown = {tuple(row[:3]): row[3:] for row in table_of(page, "tbl-pgbench-rates")}
    assert [*shown][:3] == [("large", "all on HDD", "wait"), ("large", "all on HDD", "do not wait"), ("large", "indexes on SSD", "wait")]
    assert len(shown) == 8, "statements that are not prepared are elsewhere"
    figures = {name: [float(one.split(" ")[0].replace(",", "")) for one in cells] for name, cells in shown.items()}
    whole, calm, gain, calm_gain = figures["large", "tables on SSD", "wait"]
    assert (whole, calm) == pytest.approx((LARGE["table_ssd"], LARGE["table_ssd"]), rel=0.02)
    assert calm_gain == pytest.approx(LARGE["table_ssd"] / LARGE["all_hdd"], rel=0.02)
    assert gain == pytest.approx(calm_gain * 20 / 16, rel=0.02), "in 8 of 20 seconds everything on HDD is half as fast"
    assert figures["large", "all on HDD", "do not wait"][0] == pytest.approx(600, rel=0.02)
    assert page.own["tables_gain"] == pytest.approx(gain, rel=0.02), "of commits that wait"


def slow_in_checkpoints(rows: pl.DataFrame, placement: str) -> pl.DataFrame:
    slow = (pl.col("cell").str.json_path_match("$.phase") == "checkpoint") & pl.col("trial").str.contains(placement)
    return rows.with_columns(result_rows=pl.when(slow).then(pl.col("result_rows") // 2).otherwise(pl.col("result_rows")))


def test_what_the_server_reported_late_is_a_dash_and_pages_read_are_those_of_the_log(opened: Opened) -> None:
    page = opened(pgbench_rows(LARGE, reported=False), pgbench_rows(SMALL, size="small"))
    accounts = {row[0]: row for row in table_of(page, "tbl-pgbench-io") if row[1:4] == ["all on HDD", "accounts", "before"]}
    assert (accounts["large"][4], accounts["small"][4]) == (DASH, "60.0 %")
    assert accounts["large"][5] != "0"
    assert page.own["index_misses"] == pytest.approx(10 / 90), "as if the server had reported them"


def test_what_was_simulated_is_a_map_and_a_line_over_scales(page: Page) -> None:
    known = points(page.run, PAIR)
    assert known["table_ssd"].to_list() == pytest.approx([5.0, 1.8])
    assert known["hot_ssd"].is_null().all()
    found = page.own
    assert (found["map_points"], found["map_tables"], found["map_indexes"], found["map_random"]) == (2, 1, 1, True)
    assert found["map_spots"] == 2
    assert found["map_error"] == pytest.approx(0.25, rel=0.05), "500 simulated, 400 emulated"
    assert (found["heat_better"], found["heat_points"], found["dm_cache_better"]) == (1, 2, 1)
    assert (found["scale_small"], found["scale_large"], found["scale_holds"]) == (12, 108, True)
    assert found["scale_indexes_large"] == pytest.approx(1.1 * 108**0.01, rel=0.01)
    assert found["scale_tables_small"] == pytest.approx(5.0, rel=0.01)
    assert found["conditions"] == 2
    assert found["tables_most"] == pytest.approx(LARGE["table_ssd"] / LARGE["all_hdd"], rel=0.03)
    flip = figure_of(page, "fig-pgbench-flip")
    assert flip.rows.group_by("how").len().sort("how").rows() == [("emulated", 2), ("simulated", 4)]


def test_where_the_better_move_turns_the_text_has_the_measured_ratio(opened: Opened) -> None:
    turned = {"script": "mix", "writes": 0.2, "skew": 1.1, "layout": "random-keys", "memory": 0.134}
    page = opened(pgbench_rows(LARGE), pgbench_rows({"all_hdd": 100.0, "index_ssd": 300.0, "table_ssd": 200.0}, mix=turned))
    found: dict[str, Any] = dict(page.own)
    assert found["turned_gain"] == pytest.approx(1.5, rel=0.02)
    assert found["turned_low"] < 1.5 < found["turned_high"]
    assert f"{found['turned_gain']:.2f} times the transaction rate of moving the tables" in page.section("sec-pgbench-map").text


def test_without_a_measured_turn_the_text_has_no_ratio(page: Page) -> None:
    assert page.own["turned_gain"] is None
    assert "random keys, we measured" not in page.section("sec-pgbench-map").text


def test_a_cross_has_the_shape_of_its_share_of_updates(opened: Opened) -> None:
    mix = {"all_hdd": 100.0, "index_ssd": 125.0, "table_ssd": 400.0}
    load = {"script": "mix", "skew": 1.1, "layout": "strewn"}
    page = opened(pgbench_rows(LARGE), *(pgbench_rows(mix, mix={**load, "writes": writes}) for writes in (0.2, 1.0)))
    crosses = figure_of(page, "fig-pgbench-flip").chart.to_dict()["vconcat"][0]["layer"][-1]["encoding"]["shape"]
    assert crosses["field"] == "updates"
    assert len({*crosses["scale"]["range"]}) == 2


def test_every_chart_draws_what_its_caption_names(page: Page) -> None:
    drawn = cells.drawn(STUDY, page.run)
    assert [*drawn] == ["fig-pgbench-gains", "fig-pgbench-flip"]
    for made in drawn.values():
        assert isinstance(made, Figure)
        assert made.bundle()["image/svg+xml"].count("aria-roledescription") >= made.rows.height > 0


def test_charts_show_the_io_mode_that_decides_alone_and_any_other_where_that_was_not_measured(opened: Opened) -> None:
    alone = pgbench_rows(LARGE, mix={"clients": 1}, io_mode=IoMode.BUFFERED)
    page = opened(pgbench_rows(LARGE), pgbench_rows(LARGE, io_mode=IoMode.BUFFERED), alone)
    assert set(page.rows("fig-pgbench-gains")["io_mode"]) == {"direct"}
    assert set(page.rows("fig-pgbench-gains", clients=1)["io_mode"]) == {"buffered"}


def test_rejected_windows_have_no_gain(opened: Opened) -> None:
    page = opened(pgbench_rows(LARGE, flags={"table_ssd": "cpu"}))
    assert "table_ssd" not in set(page.rows("fig-pgbench-gains")["placement"])
    assert page.own["answered"] is False


def test_a_run_of_few_windows_or_none_shows_no_estimate(opened: Opened, tmp_path: Path) -> None:
    few = opened(pgbench_rows(LARGE, replicates=1))
    assert isinstance(few.exhibit("fig-pgbench-gains"), Missing)
    none = open_page(open_run(make_run(tmp_path / "none", replicates=1).name, tmp_path / "none"), STUDY, PAIR)
    assert all(isinstance(none.exhibit(label), Missing) for label in EXHIBITS)
    assert none.own["answered"] is False
