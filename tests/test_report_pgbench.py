"""The chapter on the pgbench study says what its rows say, and says so where there are none."""

import re
from pathlib import Path

import polars as pl
import pytest

import cells
from pgbench_rows import LARGE, SMALL, pgbench_rows
from rows import STARTED, make_run, save_run
from tierwise.report.display import Figure, Sentence, Table
from tierwise.report.reference import open_reference
from tierwise.report.run import Run, open_run
from tierwise.studies.pgbench_placement.reading import chapter as pgbench_placement
from tierwise.studies.pgbench_placement.reading import chapter_cost as pgbench_cost
from tierwise.studies.pgbench_placement.reading import chapter_map as pgbench_map
from tierwise.studies.pgbench_placement.reading import chapter_scale as pgbench_scale
from tierwise.studies.pgbench_placement.reading import chapter_why as pgbench_why
from tierwise.studies.pgbench_placement.reading import figures
from tierwise.timings.manifest import StudyRecord, load_manifest
from tierwise.timings.traces import TrialKey
from tierwise.timings.transactions import write_transactions

PAIR = "source-v"
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
FACTS = {
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
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Windows of both sets, one mix that is a point of the map, and the transactions of the first replicate."""
    monkeypatch.setenv("TIERWISE_RAW", str(tmp_path))
    mix = {"all_hdd": 100.0, "index_ssd": 125.0, "table_ssd": 400.0}
    rows = pl.concat(
        [
            pgbench_rows(LARGE),
            pgbench_rows(SMALL, size="small", flags={"all_ssd": "cpu"}),
            pgbench_rows(mix, mix={"script": "mix", "writes": 0.2, "skew": 1.1, "layout": "strewn"}),
        ]
    )
    folder = save_run(tmp_path, rows)
    record = StudyRecord(name="pgbench_placement", pair=PAIR, trials=("t",), replicates=5, settings={}, server_version="18.6", facts=FACTS)
    manifest = load_manifest(folder)
    manifest.model_copy(update={"studies": (*manifest.studies, record)}).save(folder)
    for trial in rows.filter(pl.col("trial").str.starts_with("direct/large"))["trial"].unique():
        ended_s = [STARTED.timestamp() + 1 + tenth / 10 for tenth in range(200)]
        done = pl.DataFrame({"client": [0] * 200, "ended_s": ended_s, "latency_s": [0.1] * 200}, schema_overrides={"client": pl.Int32})
        write_transactions(folder, TrialKey("pgbench_placement", PAIR, trial), 0, done)
    return open_run(folder.name)


def test_the_tables_tell_io_background_and_other_conditions(run: Run) -> None:
    for made, words in (
        (pgbench_placement.io_by_relation(run, PAIR), ("accounts' primary key", "checkpoint", "WAL")),
        (pgbench_placement.background(run, PAIR), ("large", "small")),
        (pgbench_why.conditions(run, PAIR), ("20 % writes, skew 1.1, strewn", "11.1")),
        (pgbench_why.processors(run, PAIR), ("large", "small", "90.0")),
        (pgbench_map.flip_map(run, PAIR), ("tables", "indexes", "side by side, keys at random")),
        (pgbench_map.other_uses(run, PAIR), ("3.00", "1.30", "\N{EN DASH}")),
        (pgbench_cost.placements(run, PAIR), ("tables on SSD", "0.0")),
    ):
        assert isinstance(made, Table)
        text = made.markdown()
        assert all(word in text for word in words), text


def test_what_the_server_reported_late_is_a_dash_and_pages_read_are_the_log_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIERWISE_RAW", str(tmp_path))
    rows = pl.concat([pgbench_rows(LARGE, reported=False), pgbench_rows(SMALL, size="small")])
    run = open_run(save_run(tmp_path, rows).name)
    background = pgbench_placement.background(run, PAIR)
    assert isinstance(background, Table)
    late, told = ([row[2:] for row in background.rows if row[0] == size] for size in ("large", "small"))
    assert late == [["\N{EN DASH}", "\N{EN DASH}", "0", "8.00", "\N{EN DASH}", "\N{EN DASH}"]] * 4
    assert [row[:2] for row in told] == [["2.86", "100\N{NO-BREAK SPACE}%"]] * 4
    assert background.caption.count("tells its counts late") == 1
    where = pgbench_placement.io_by_relation(run, PAIR)
    assert isinstance(where, Table)
    accounts = {row[0]: row for row in where.rows if row[1:4] == ["all on HDD", "accounts", "before"]}
    assert accounts["large"][4] == "\N{EN DASH}"
    assert accounts["small"][4] == "60.0\N{NO-BREAK SPACE}%"
    assert accounts["large"][5] != "0"
    conditions = pgbench_why.conditions(run, PAIR)
    assert isinstance(conditions, Table)
    assert conditions.rows[0][4] == "11.1\N{NO-BREAK SPACE}%"  # 10 of 90 pages, as if the server had told them


def test_gains_are_carried_on_to_the_published_size(run: Run) -> None:
    shown = pgbench_scale.sizes(run, PAIR)
    assert isinstance(shown, Table)
    indexes, tables = shown.rows
    assert indexes[4].startswith("1.19 (")  # 1.1 times 3000 ** 0.01
    assert tables[4].startswith("5.01 (")
    assert indexes[5].startswith("1.00 (")
    assert "**simulated**" in shown.caption
    assert "1.19 (" in pgbench_scale.carried(run, PAIR).text


def test_the_charts_draw_windows_gains_and_a_window_second_by_second(run: Run) -> None:
    drawn = cells.drawn("pgbench_placement", run)
    assert len(drawn) == 4
    for made in drawn.values():
        assert isinstance(made, Figure)
        assert made.bundle()["image/svg+xml"].count("aria-roledescription") >= made.rows.height > 0


def test_the_indexes_share_of_the_misses_predicts_both_gains(run: Run) -> None:
    text = pgbench_why.mechanism(run, PAIR).text
    assert "11.1" in text  # 10 of 90 replicates
    assert "indexes on SSD would gain 1.12 and tables 9.00" in text
    assert re.search(r"found are 1\.(09|1)\d* with indexes and 4\.\d+ with tables", text)


def test_a_run_without_windows_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIERWISE_RAW", str(tmp_path))
    run = open_run(make_run(tmp_path, replicates=1).name)
    empty = (
        pgbench_placement.answer,
        pgbench_placement.io_by_relation,
        pgbench_placement.background,
        pgbench_why.conditions,
        pgbench_why.mechanism,
        pgbench_why.one_cause,
        pgbench_why.processors,
        pgbench_map.flip_map,
        pgbench_map.spot_checks,
        pgbench_map.other_uses,
        pgbench_map.who_wins,
        pgbench_cost.placements,
        pgbench_scale.carried,
        pgbench_scale.sizes,
    )
    assert all(isinstance(show(run, PAIR), Sentence) for show in empty)
    assert all(isinstance(shown, Sentence) for shown in cells.drawn("pgbench_placement", run).values())


def test_a_window_without_a_whole_second_has_no_curve(monkeypatch: pytest.MonkeyPatch) -> None:
    run = open_reference()
    assert run
    kept = pl.DataFrame({"ended_s": [0.1, 0.4, 1.2], "stands_for": [1.0, 1.0, 1.0]})
    monkeypatch.setattr(figures, "_inside", lambda *_: kept)
    columns = {"trial": "a", "replicate": 0, "phase": "checkpoint", "started_s": 0.0, "transactions": 3}
    short, long = (
        pl.DataFrame([{"placement": placement, **columns, "elapsed_s": elapsed_s}])
        for placement, elapsed_s in (("table_ssd", 0.3), ("all_hdd", 2.5))
    )
    assert isinstance(figures.timeline(run, PAIR, short), Sentence)
    shown = figures.timeline(run, PAIR, pl.concat([short, long]))
    assert isinstance(shown, Figure)
    assert shown.rows.select("second", "tps").rows() == [(0.0, 2.0), (1.0, 1.0)]
