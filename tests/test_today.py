"""Then and now: what is measured on a pair of today, what is said of it, and what it saves."""

import datetime as dt
from pathlib import Path

import polars as pl
import pytest

from rows import make_rows, save_run
from tierwise.analysis.claims import load_claims
from tierwise.analysis.statistics import Estimate
from tierwise.analysis.today import Still, still
from tierwise.bench.fingerprints import fingerprint
from tierwise.bench.inputs import pair_file
from tierwise.bench.loop import gather_inputs
from tierwise.bench.study_registry import load_study, pairs_of
from tierwise.core import studies
from tierwise.core.pairs import TODAY, load_pair
from tierwise.core.profiles import load_profile
from tierwise.core.units import GIB
from tierwise.costs.book import load_book
from tierwise.costs.hardware import share_bill
from tierwise.report.display import Table
from tierwise.report.page import open_shared
from tierwise.report.run import open_run
from tierwise.report.values.workloads import NAMES
from tierwise.timings.manifest import load_manifest

PLACED = {"index_placement", "pgbench_placement", "survey_placement", "wal_placement"}
BOOK = load_book(dt.date(2026, 11, 23))
SERVER = {"hdd": "exos-x24-raid10-x4", "ssd": "local-nvme"}
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
def raw(tmp_path: Path) -> Path:
    own = make_rows(run_id=RUN, ratios={("cold", state): 0.05 for state in ("FL", "PR", "NV")})
    now = make_rows(run_id=RUN, pair="today-server", seed=1, ratios={("cold", state): 0.5 for state in ("FL", "PR", "NV")})
    rows = pl.concat([own, now.filter(pl.col("cell").str.json_path_match("$.table") == "hdd")])
    folder = save_run(tmp_path, rows)
    written = load_manifest(folder)
    pairs = {name: pair_file(load_pair(name)) for name in written.pairs}
    written.model_copy(update={"profile": {**written.profile, "today": "today-server"}, "pairs": pairs}).save(folder)
    return tmp_path


def test_the_column_says_whether_the_rule_still_matters_and_what_it_saves(raw: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIERWISE_RAW", str(raw))
    run = open_run(RUN)
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


def test_the_speed_up_of_today_stands_beside_the_times_on_the_source_s_drives(raw: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIERWISE_RAW", str(raw))
    rows = open_shared(open_run(RUN), "advice").rows("tbl-strategies")
    today = dict(rows.filter(pl.col("today").is_not_null()).select("placement", "today").rows())
    assert today == {"indexes on SSD": pytest.approx(2, rel=0.05)}


def test_without_a_pair_of_today_there_is_no_column(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIERWISE_RAW", str(save_run(tmp_path, make_rows(run_id=RUN)).parent))
    run = open_run(RUN)
    table = open_shared(run, "summary").exhibit("tbl-claims")
    assert isinstance(table, Table)
    assert "Today" not in table.header
    assert run.manifest.todays_pairs == ()
