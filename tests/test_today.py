"""Then and now: what is measured on a pair of today, what models, prices and moves add, what is said of it, and what it saves."""

import datetime as dt
import math
import statistics
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from pgbench_rows import pgbench_rows
from rows import make_rows, save_run
from survey_rows import MOVE_S, ON_SSD, PLACEMENT_S, SIZES, array_rows, move_rows, placement_rows
from tierwise.analysis.claims import load_claims
from tierwise.analysis.statistics import Estimate, t_of
from tierwise.analysis.today import CaseToday, Still, still
from tierwise.bench.inputs import pair_file
from tierwise.bench.loop import gather_inputs
from tierwise.bench.study_registry import fingerprint, load_study, pairs_of
from tierwise.core import studies
from tierwise.core.pairs import TODAY, load_pair
from tierwise.core.profiles import load_profile
from tierwise.core.units import GIB
from tierwise.core.vocabulary import Evidence
from tierwise.costs.book import load_book
from tierwise.costs.hardware import share_bill
from tierwise.postgres.pgbench import ROWS_PER_SCALE
from tierwise.report.display import Table
from tierwise.report.page import open_shared
from tierwise.report.run import Run, open_run
from tierwise.report.values.workloads import NAMES
from tierwise.studies.pgbench_placement.measuring import grid, simulated_maps, trials
from tierwise.studies.pgbench_placement.reading import today as pgbench_today
from tierwise.timings.manifest import StudyRecord, load_manifest
from tierwise.timings.replicates import RUN_REPLICATES

PLACED = {"index_placement", "pgbench_placement", "survey_placement", "wal_placement"}
BOOK = load_book(dt.date(2026, 11, 23))
AWS = {"hdd": "gp3", "ssd": "io2"}


@pytest.mark.parametrize(
    ("profile", "todays"), [("smoke", ()), ("quick", ("today-server", "today-aws")), ("full", ("today-server", "today-aws"))]
)
def test_each_study_of_a_placement_has_a_few_cells_on_the_profiles_pairs_of_today(profile: str, todays: tuple[str, ...]) -> None:
    inputs = gather_inputs(profile=profile, tiers="", seed=1)
    for name in studies.names():
        study = load_study(name)
        pairs = [one for one in pairs_of(study, inputs.pairs, inputs.reader_pair) if one.source == TODAY]
        assert {one.name for one in pairs} == (set(todays) if name in PLACED else set())
        for one in pairs:
            (own,) = (other for other in inputs.pairs if other.source == study.source)
            few = study.trials(inputs.profile, one)
            assert 0 < len(few) <= len(study.trials(inputs.profile, own))
            assert not any(trial.real_time for trial in few)
            assert {tier for trial in few for tier in trial.tiers} <= set(one.tiers)


def test_the_reader_who_names_the_pair_of_today_has_every_cell_there() -> None:
    named = gather_inputs(profile="quick", tiers="today-server", seed=1)
    assert named.profile.today == ("today-aws",)
    study = load_study("index_placement")
    pair = load_pair("today-server")
    assert len(study.trials(named.profile, pair)) > len(study.trials(load_profile("quick"), pair))
    assert [one.name for one in named.pairs].count("today-server") == 1


def test_rows_of_a_few_cells_are_not_taken_for_those_of_all() -> None:
    few, every = (fingerprint("index_placement", gather_inputs(profile="quick", tiers=pair, seed=1)) for pair in ("", "today-server"))
    assert few.differing(every) == ["pairs of few cells"]
    few, every = (fingerprint("read_latency", gather_inputs(profile=name, tiers="", seed=1)) for name in ("quick", "full"))
    assert "pairs of few cells" not in few.inputs.keys() | every.inputs.keys()


CLAIMS = {claim.id: claim for claim in load_claims().claims}


@pytest.mark.parametrize(
    ("claim", "interval", "expected"),
    [
        ("M1", (0.3, 0.9), Still.MATTERS),  # the index alone leaves less of the time
        ("M1", (0.3, 0.95), Still.OPEN),
        ("M1", (0.95, 1.05), Still.HARDLY),
        ("M1", (1.2, 1.4), Still.REVERSED),
        ("V1", (1.2, 1.4), Still.MATTERS),  # transactions: more of them
        ("V1", (0.3, 0.9), Still.REVERSED),
        ("V8", (1.11, 9.0), Still.MATTERS),  # an order, whose ratios lie above 1
        ("V8", (None, None), Still.OPEN),
        ("M1", (0.5, 0.5), Still.OPEN),  # all replicates agree: no interval, which decides nothing
    ],
)
def test_a_rule_matters_where_its_whole_interval_is_beyond_a_tenth(
    claim: str, interval: tuple[float | None, float | None], expected: Still
) -> None:
    low, high = interval
    assert still(CLAIMS[claim], Estimate(low, low, high, 5)) is expected


def test_every_placement_that_a_statement_speaks_for_is_one_that_its_study_knows() -> None:
    spoken = {claim.placement for claim in CLAIMS.values() if claim.placement}
    assert spoken <= {*NAMES, "all hdd", "all ssd"}
    assert {"M1", "V1", "V2", "V7", "H9", "H10", "H13"} <= {name for name, claim in CLAIMS.items() if claim.placement}
    assert not any(claim.placement for name, claim in CLAIMS.items() if name[0] in "LR"), "no placement is in question"


def test_a_small_fast_volume_is_sold_no_more_iops_than_its_size_carries() -> None:
    """16,000 IOPS need 16 GiB: on a hundredth of a TiB, 10.24 GiB, there are 10,240."""
    bill = share_bill("io2", 1024 * GIB / 100, BOOK)
    assert bill.cost(BOOK) / 12 == pytest.approx(10.24 * 0.125 + 10_240 * 0.065)


RUN = "20260102-030405-quick-today0"


@pytest.fixture
def folder(raw: Path) -> Path:
    own = make_rows(run_id=RUN, ratios={("cold", state): 0.05 for state in ("FL", "PR", "NV")})
    now = make_rows(run_id=RUN, pair="today-server", seed=1, ratios={("cold", state): 0.5 for state in ("FL", "PR", "NV")})
    rows = pl.concat([own, now.filter(pl.col("cell").str.json_path_match("$.table") == "hdd")])
    folder = save_run(raw, rows)
    written = load_manifest(folder)
    pairs = {name: pair_file(load_pair(name)) for name in written.pairs}
    written.model_copy(update={"profile": {**written.profile, "today": "today-server"}, "pairs": pairs}).save(folder)
    return folder


def test_the_column_says_whether_the_rule_still_matters_and_what_it_saves(folder: Path) -> None:
    run = open_run(folder.name)
    claim = next(claim for claim in run.verdicts if claim.id == "M1")
    (today,) = claim.today
    assert [case.still for case in today.cases] == [Still.MATTERS] * 3
    assert today.nearest.estimate == pytest.approx(0.5, rel=0.05)
    assert str(claim.verdict) == "confirmed", "what is found today judges nothing"
    table = open_shared(run, "summary").exhibit("tbl-claims")
    assert isinstance(table, Table)
    assert table.header[-1] == "Today"
    (row,) = (row for row in table.rows if row[0] == "M1")
    assert row[-1].startswith("Server today: still matters, 0.5")


def test_the_interval_of_today_takes_merged_runs_as_a_sample(folder: Path) -> None:
    """Three runs whose ratios are 0.4, 0.5 and 0.6: three means tell less than fifteen replicates of one run."""
    runs = [
        make_rows(run_id=RUN, pair=pair, seed=10 * number, ratios={("cold", state): ratio for state in ("FL", "PR", "NV")}).with_columns(
            pl.col("replicate") + number * RUN_REPLICATES, trial=pl.concat_str("trial", pl.lit(f"/{number}"))
        )
        for number in range(3)
        for pair, ratio in (("source-m", 0.05), ("today-server", 0.4 + 0.1 * number))
    ]
    pl.concat(runs).with_columns(sequence=pl.int_range(pl.len(), dtype=pl.Int64)).write_parquet(folder / "timings.parquet")
    (today,) = next(claim for claim in open_run(RUN).verdicts if claim.id == "M1").today
    for case in today.cases:
        assert case.pairs == 15
        assert case.low is not None
        assert case.high is not None
        error = statistics.stdev(map(math.log, (0.4, 0.5, 0.6))) / math.sqrt(3)
        assert math.log(case.high / case.low) / 2 == pytest.approx(t_of(2) * error, rel=0.1)


def test_the_speed_up_of_today_stands_beside_the_times_on_the_source_s_drives(folder: Path) -> None:
    rows = open_shared(open_run(folder.name), "advice").rows("tbl-strategies")
    today = dict(rows.filter(pl.col("today").is_not_null()).select("placement", "today").rows())
    assert today == {"indexes on SSD": pytest.approx(2, rel=0.05)}


def test_without_a_pair_of_today_there_is_no_column(raw: Path) -> None:
    save_run(raw, make_rows(run_id=RUN))
    run = open_run(RUN)
    table = open_shared(run, "summary").exhibit("tbl-claims")
    assert isinstance(table, Table)
    assert "Today" not in table.header
    assert run.manifest.todays_pairs == ()


ON_SERVER, ON_AWS = "today-server", "today-aws"
PGBENCH = {
    "scales": {"large": 1},
    "memory_share": 16 / 45,
    "size_bytes": {
        "large": {"pgbench_accounts": 13_400_000, "pgbench_accounts_pkey": 2_260_000},
        "small": {"pgbench_accounts": 1_340_000, "pgbench_accounts_pkey": 226_000},
    },
}


def todays(rows: pl.DataFrame, pair: str) -> pl.DataFrame:
    """Rows of a source's pair as if they were of `pair`, whose fast tier is the SSD."""
    cell = pl.col("cell").str.replace_all("ssd_raid5", "ssd", literal=True)
    return rows.with_columns(pair=pl.lit(pair), cell=cell, trial=pl.col("trial").str.replace_all("ssd_raid5", "ssd", literal=True))


def saved(raw: Path, pair: str, *rows: pl.DataFrame) -> Run:
    folder = save_run(raw, pl.concat(rows).with_columns(sequence=pl.int_range(pl.len(), dtype=pl.Int64).cast(rows[0]["sequence"].dtype)))
    manifest = load_manifest(folder)
    facts = {
        **{("pgbench_placement", on): PGBENCH for on in dict.fromkeys((pair, *pl.concat(rows)["pair"].unique(maintain_order=True)))},
        ("survey_placement", pair): {"size_bytes": SIZES, "on_ssd": ON_SSD, "seek_stretch": 10.0},
    }
    records = tuple(
        StudyRecord(name=name, pair=on, trials=(), replicates=5, settings={"max_wal_size": "4GB"}, server_version="18.6", facts=found)
        for (name, on), found in facts.items()
    )
    manifest.model_copy(
        update={
            "studies": records,
            "started_at": dt.datetime(2026, 11, 23, 12, tzinfo=dt.UTC),
            "profile": {**manifest.profile, "today": pair},
            "pairs": {name: pair_file(load_pair(name)) for name in {*manifest.pairs, pair}},
        }
    ).save(folder)
    return open_run(manifest.run_id, raw)


@pytest.mark.parametrize(("slowdown", "name"), [(1.0, "small set"), (8.0, "small set, tiers slowed 8-fold")])
def test_today_s_speed_up_stands_at_the_workload_of_the_same_pace(slowdown: float, name: str, raw: Path) -> None:
    """The source's small set was measured at two paces, and tables gain much at the slowed one alone."""
    gained = {1.0: 110.0, 8.0: 400.0}
    rows = [
        pgbench_rows({"all_hdd": 100.0, "table_ssd": gained[pace]}, size="small", slowdown=pace, pair=pair, sigma=0.001)
        for pair, pace in (("source-v", 8.0), ("source-v", 1.0), (ON_AWS, slowdown))
    ]
    run = saved(raw, ON_AWS, *rows)
    (row,) = open_shared(run, "advice").rows("tbl-strategies").filter(pl.col("today").is_not_null()).rows(named=True)
    assert (row["workload"], row["placement"]) == (f"The pgbench study's {name}", "tables on SSD")
    assert row["today"] == pytest.approx(gained[slowdown] / 100, rel=0.01)
    run.store.close()


@pytest.fixture(params=[ON_SERVER, ON_AWS], scope="module")
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Three windows of pgbench and one query of the survey on a pair of today; no move was timed there."""
    raw = tmp_path_factory.mktemp("raw")
    windows = pgbench_rows({"all_hdd": 400.0, "index_ssd": 440.0, "table_ssd": 1700.0}, slowdown=24.0, pair=request.param)
    queries = placement_rows({"join_single": PLACEMENT_S["join_single"]})
    opened = saved(raw, request.param, windows, todays(queries, request.param), array_rows())
    yield opened
    opened.store.close()


def cases(run: Run, claim: str) -> dict[str, CaseToday]:
    (found,) = next(one for one in run.verdicts if one.id == claim).today
    return {case.case: case for case in found.cases}


def test_each_statement_of_a_placement_is_reported_of_today(run: Run) -> None:
    reported = {claim.id: bool(today.cases) for claim in run.verdicts for today in claim.today if claim.id[0] in "VH"}
    assert {"V1", "V2", "V3", "V4", "V7", "V8", "H9", "H11", "H13"} <= reported.keys()
    assert [claim for claim, there in reported.items() if not there] == ["H9"], "no light curve was run on this pair"


def test_what_was_not_run_there_is_simulated_and_what_was_is_not(run: Run) -> None:
    assert {case.evidence for case in cases(run, "V3").values()} == {Evidence.SIMULATED}, "nothing has all of it on flash"
    both = cases(run, "V7")
    assert len(both) == 2
    assert both["tables, large/indexes, large"].evidence is Evidence.EMULATED
    assert both["tables, small/indexes, small"].evidence is Evidence.SIMULATED
    assert {case.pairs for case in (*cases(run, "V3").values(), *both.values())} == {5}
    assert set(cases(run, "V4")) == {"tables, small/indexes, small", "tables, large/tables, small", "indexes, large/indexes, small"}


def test_on_a_server_flash_for_everything_gains_beyond_tables_or_indexes_alone(run: Run) -> None:
    found = cases(run, "V3")
    low = {name: case.low or 0.0 for name, case in found.items()}
    assert all(each > 0.9 for each in low.values()), "more on flash is never slower"
    if run.manifest.todays_pairs == (ON_SERVER,):
        assert found["both/indexes"].still is Still.MATTERS


def test_a_move_that_nobody_timed_is_copied_by_the_models_for_a_job_that_was_run(run: Run) -> None:
    (case,) = cases(run, "H11").values()
    assert "join single" in case.case
    assert "Detection" in case.case
    assert case.evidence is Evidence.MIXED
    assert case.estimate is not None
    assert 0 < case.estimate < 1, "60 MiB are copied in less than the 1,141 s that one job saves"
    assert case.still is Still.REVERSED


def test_a_move_that_was_timed_there_is_reported_by_its_rows(raw: Path) -> None:
    queries = placement_rows({"join_single": PLACEMENT_S["join_single"]})
    found = saved(raw, ON_SERVER, todays(queries, ON_SERVER), todays(move_rows(), ON_SERVER))
    (case,) = cases(found, "H11").values()
    assert case.evidence is Evidence.EMULATED
    saved_s = PLACEMENT_S["join_single"]["all_hdd"] - PLACEMENT_S["join_single"]["detection_ssd"]
    assert case.estimate == pytest.approx(sum(MOVE_S["detection_ssd"]) / saved_s, rel=0.03)
    found.store.close()


def test_holding_large_databases_on_flash_is_reported_in_money(run: Run) -> None:
    """A TiB of gp3 is, by hand, 81.92 USD a month, and 950 GB of an instance store add 132.276 to the price of the machine."""
    (case,) = cases(run, "H13").values()
    assert case.evidence is Evidence.PUBLISHED
    assert case.estimate is not None
    assert case.low is not None
    assert case.low <= case.estimate
    if run.manifest.todays_pairs == (ON_AWS,):
        assert case.estimate == pytest.approx(132.276 * 1.024 * 2**30 / 0.95e9 / 81.92)
    assert case.still is Still.OPEN, "the bands of the prices are wide"


def test_the_models_of_today_are_those_of_the_map() -> None:
    """What reads may not import what measures, so that a few constants stand twice."""
    assert pgbench_today.HOST_S == simulated_maps.HOST_S
    assert pgbench_today.WARMING.lookups_per_page == trials.FILL
    assert pgbench_today.WARMING.transactions == trials.WARM_TPS * 0.5
    assert grid.JUDGED["clients"] == pgbench_today.CLIENTS
    assert pgbench_today.ROWS_PER_SCALE == ROWS_PER_SCALE
    assert {size: grid.PUBLISHED_SCALES["large"] // scale for size, scale in grid.PUBLISHED_SCALES.items()} == pgbench_today.SMALLER
