"""The pgbench study's claims are judged by windows of pgbench: at the least slowdown that the processors could follow, and they say so."""

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from pgbench_rows import LARGE, SMALL, pgbench_rows
from rows import save_run, study_record
from tierwise.analysis.causes import Cause
from tierwise.analysis.judging import ClaimVerdict
from tierwise.analysis.rules import Verdict
from tierwise.analysis.views import open_views
from tierwise.core.vocabulary import Evidence, IoMode
from tierwise.report.study_registry import judge_all
from tierwise.timings.manifest import load_manifest

pytestmark = pytest.mark.usefixtures("by_replicates_alone")


def judged(raw: Path, *rows: pl.DataFrame) -> dict[str, ClaimVerdict]:
    run = save_run(raw, pl.concat(rows))
    return {claim.id: claim for claim in judge_all(raw, run.name) if claim.source == "V"}


def test_ratios_are_to_everything_on_hdd_in_the_same_replicate(tmp_path: Path) -> None:
    found = judged(tmp_path, pgbench_rows({**LARGE, "index_ssd": 580.0}))
    assert found["V1"].verdict is Verdict.CONFIRMED
    assert found["V1"].estimate is not None
    assert abs(found["V1"].estimate - 1.45) < 0.03
    assert found["V2"].verdict is Verdict.CONTRADICTED, "more than 200 % is no 325 %"
    assert found["V3"].verdict is Verdict.CONFIRMED
    assert found["V4"].verdict is Verdict.NOT_MEASURED  # nothing of the small set was
    assert found["V6"].verdict is Verdict.NOT_MEASURED


def open_map(raw: Path, *gains: float, seeds: int = 5) -> ClaimVerdict:
    """V1 confirmed at one setting, with a map of points that gain so much."""
    folder = save_run(raw, pgbench_rows({**LARGE, "index_ssd": 580.0}))
    facts = [
        {
            "memory": 1.0,
            "clients": clients,
            "replicates": list(range(seeds)),
            "tps": {"all_hdd": [100.0] * seeds, "index_ssd": [100 * gain * 1.001**seed for seed in range(seeds)]},
        }
        for clients, gain in enumerate(gains, start=1)
    ]
    record = study_record("pgbench_placement", "source-v", left_open=facts)
    load_manifest(folder).model_copy(update={"studies": (record,)}).save(folder)
    return next(claim for claim in judge_all(raw, folder.name) if claim.id == "V1")


def test_a_verdict_holds_for_all_that_the_text_leaves_open_or_for_nothing(tmp_path: Path) -> None:
    everywhere = open_map(tmp_path / "a", 1.42, 1.45)
    assert everywhere.verdict is Verdict.CONFIRMED
    assert everywhere.open_map is not None
    assert (everywhere.open_map.share, everywhere.open_map.evidence) == ((1.0, 1.0), Evidence.SIMULATED)
    somewhere = open_map(tmp_path / "b", 1.42, 1.498, 2.0, 1.1)  # inside, at a bound, outside on either side
    assert (somewhere.verdict, somewhere.cause) == (Verdict.UNDECIDED, Cause.LEFT_OPEN)
    assert somewhere.reason.endswith("1 to 2 of 4 simulated settings agree (memory, clients)")
    assert somewhere.open_map is not None
    assert (somewhere.open_map.share, somewhere.open_map.at_one) == ((0.25, 0.5), Verdict.CONFIRMED)
    assert open_map(tmp_path / "c", 2.0, 1.1).verdict is Verdict.UNDECIDED, "one setting says what no point of the map does"


def test_a_verdict_holds_at_every_measured_setting_that_the_text_leaves_open(tmp_path: Path) -> None:
    half = pgbench_rows({**LARGE, "table_ssd": 1000.0}, mix={"memory": 0.5})
    found = judged(tmp_path, pgbench_rows(LARGE), half)
    assert (found["V8"].verdict, found["V8"].cause) == (Verdict.UNDECIDED, Cause.LEFT_OPEN), "3.9 and 2.3 times, of 2 to 2.86"
    assert found["V3"].verdict is Verdict.CONFIRMED, "at both"


def test_a_setting_with_several_cases_has_one_verdict_as_the_statement_has(tmp_path: Path) -> None:
    """Both on the SSD is slower than the tables there and faster than the indexes, with all memory and with half: contradicted twice."""
    slower = {**LARGE, "all_ssd": 1500.0}
    found = judged(tmp_path, pgbench_rows(slower), pgbench_rows(slower, mix={"memory": 0.5}))["V3"]
    assert {case.verdict for case in found.cases} == {Verdict.CONTRADICTED, Verdict.CONFIRMED}
    assert found.open_map is not None
    assert [(point.setting["memory"], point.verdict) for point in found.open_map.points] == [
        ("1", Verdict.CONTRADICTED),
        ("0.5", Verdict.CONTRADICTED),
    ]
    assert found.verdict is Verdict.CONTRADICTED


def test_what_the_processors_bound_is_judged_on_slower_tiers_and_says_so(tmp_path: Path) -> None:
    busy = dict.fromkeys(SMALL, "cpu")
    slow = {name: tps / 8 for name, tps in SMALL.items()}
    found = judged(
        tmp_path, pgbench_rows(LARGE), pgbench_rows(SMALL, size="small", flags=busy), pgbench_rows(slow, size="small", slowdown=8.0)
    )
    assert found["V4"].verdict is Verdict.CONFIRMED
    assert "tiers slowed 8-fold" in found["V4"].conditions
    assert found["V8"].verdict is Verdict.CONTRADICTED, "3.9 times is more than the two gains of the text give"
    assert found["V6"].verdict_text == "undecided (5 of 5 repeats rejected for CPU in all on HDD; needs RETRY=1 or a quieter machine)"


def test_a_flag_on_the_base_withholds_the_ratios(tmp_path: Path) -> None:
    found = judged(tmp_path, pgbench_rows(LARGE, flags={"all_hdd": "overshoot"}))
    assert found["V1"].verdict_text == "undecided (5 of 5 repeats rejected for overshoot in large; needs RETRY=1 or a quieter machine)"
    assert found["V1"].flagged == 5


def test_a_clock_that_went_on_for_longer_than_its_requests_took_withholds_what_it_counted(tmp_path: Path) -> None:
    busy = pgbench_rows(LARGE).with_columns(device_s=pl.lit(1.0))  # the devices were requested a second
    assert judged(tmp_path / "busy", busy)["V1"].flagged == 0
    jumped = busy.with_columns(
        device_s=pl.when(pl.col("trial").str.contains("all_hdd")).then(1.0 + 0.11 * pl.col("elapsed_s")).otherwise(1.0)
    )
    found = judged(tmp_path / "jumped", jumped)["V1"]
    assert found.flagged == 5
    assert found.cause is Cause.JUMPED


def test_io_is_reported_by_relation_and_phase(tmp_path: Path) -> None:
    save_run(tmp_path, pgbench_rows(LARGE, replicates=1))
    with open_views(tmp_path) as connection:
        rows = connection.execute(
            "select relation, hits, reads, pages_read, requests_read, sequential_reads, requests_written from pgbench_placement_relations "
            "where trial like '%index_ssd%' and step = 1 order by relation"
        ).fetchall()
    assert rows == [
        ("pgbench_accounts", 120, 80, 80, 80, 2, 9),
        ("pgbench_accounts_pkey", 390, 10, 10, 10, 0, None),
        ("wal", None, None, None, None, None, 7),
    ]


def without_log(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(pl.col("tier_io").list.eval(pl.element().struct.with_fields(reads=pl.lit(None, pl.Int64))))


def without_files(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(proof=pl.lit(json.dumps({"window_cpu_share": 0.4, "files": {}, "server": {}})))


@pytest.mark.parametrize(
    ("made", "table", "index"),
    [
        (lambda: pgbench_rows(LARGE, replicates=1, reported=False), 80, 10),  # the server's counts came late
        (lambda: pgbench_rows(LARGE, replicates=1, reported=False, io_mode=IoMode.BUFFERED), 0, 0),
        (lambda: pgbench_rows(LARGE, replicates=1, io_mode=IoMode.BUFFERED), 80, 10),
        (lambda: without_log(pgbench_rows(LARGE, replicates=1, reported=False)), 0, 0),
        (lambda: without_log(pgbench_rows(LARGE, replicates=1)), 80, 10),
        (lambda: without_files(pgbench_rows(LARGE, replicates=1)), 0, 0),  # reported late, of what was before
    ],
)
def test_pages_read_are_the_log_s_past_the_page_cache(made: Callable[[], pl.DataFrame], table: int, index: int, tmp_path: Path) -> None:
    save_run(tmp_path, made())
    with open_views(tmp_path) as connection:
        windows = connection.execute("select distinct table_reads, index_reads from pgbench_placement").fetchall()
        relations = connection.execute(
            "select distinct relation_class, pages_read from pgbench_placement_relations where relation_class is not null order by all"
        ).fetchall()
    assert windows == [(3 * table, 3 * index)]  # in three phases
    assert relations == [("index", index), ("table", table)]


def test_where_the_log_binds_a_verdict_needs_the_same_one_of_commits_that_do_not_wait(tmp_path: Path) -> None:
    load, log = {"protocol": "prepared", "synchronous_commit": "on"}, {"WAL": 0.3}
    twins = {**load, "synchronous_commit": "off"}
    alone = judged(tmp_path / "alone", pgbench_rows(LARGE, mix=load, shares=log))
    assert (alone["V2"].verdict, alone["V2"].cause) == (Verdict.UNDECIDED, Cause.LOG)
    agreed = judged(tmp_path / "agreed", pgbench_rows(LARGE, mix=load, shares=log), pgbench_rows(LARGE, mix=twins, shares={"WAL": 0.02}))
    assert agreed["V2"].verdict is Verdict.CONTRADICTED
    slower = {**LARGE, "table_ssd": 3.5 * LARGE["all_hdd"]}
    differ = judged(tmp_path / "differ", pgbench_rows(LARGE, mix=load, shares=log), pgbench_rows(slower, mix=twins))
    assert (differ["V2"].verdict, differ["V2"].cause) == (Verdict.UNDECIDED, Cause.LOG)


@pytest.mark.parametrize(("processors_s", "verdict"), [(1e-7, Verdict.CONTRADICTED), (2e-5, Verdict.UNDECIDED), (2e-4, Verdict.UNDECIDED)])
def test_a_verdict_on_slowed_drives_needs_the_same_one_with_the_processors_time(
    tmp_path: Path, processors_s: float, verdict: Verdict
) -> None:
    """`processors_s` of each transaction: without it, tables on SSD are 4.3 times as fast; with it, inside the bounds, or below."""
    slowed = pgbench_rows(LARGE, slowdown=48.0).with_columns(
        device_s=pl.col("elapsed_s") - processors_s * pl.col("result_rows"),
        tier_io=pl.col("tier_io").list.eval(pl.element().struct.with_fields(intended_s=pl.lit(10.0))),
    )
    found = judged(tmp_path, slowed)["V2"]
    assert found.verdict is verdict
    assert found.cause is (Cause.SLOWED if verdict is Verdict.UNDECIDED else None)
