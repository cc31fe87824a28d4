"""``tierwise advise`` and the page of advice: from the rows of a run to a placement, held against every other."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from advice_run import SIZES, WAL_BYTES, change_manifest, counts_run, record_counts, survey_run, transactions_run
from support import said, said_as_json
from tierwise.advisor.advice import times
from tierwise.advisor.service import Counted
from tierwise.advisor.workload import Workload, read_workload
from tierwise.core import paths
from tierwise.core.errors import InputError, MissingError, TierwiseError
from tierwise.core.units import GIB
from tierwise.core.vocabulary import Evidence
from tierwise.devices.model import build
from tierwise.devices.spec import load_device
from tierwise.report.display import Missing
from tierwise.report.page import Page, open_shared
from tierwise.report.run import open_run
from tierwise.report.values.advice import errors, example

DAY = ("--on", "2026-07-01")
TABLE_BYTES, INDEX_BYTES = 106_000_000, 5_400_000  # sizes in the census study's counts, as the manifest of the fabricated run has them

run = partial(said, "advise")
requested = partial(said_as_json, "advise", *DAY)


def searched(*options: str) -> dict[str, Any]:
    """Return the answer of the search over simulated times, which is for devices that are named."""
    return requested(*options, "--ssd", "mtron-3025")


def placement(found: dict[str, Any]) -> dict[str, str]:
    return {placed["relation"]: placed["tier"] for placed in found["relations"]}


def regrets(found: dict[str, Any]) -> dict[str, float]:
    return {one["name"]: one["regret"] for one in found["alternatives"]}


@pytest.fixture
def counts(raw: Path) -> Path:
    return counts_run(raw)


@pytest.fixture
def transactions(raw: Path) -> Path:
    return transactions_run(raw)


def workload_of(folder: Path) -> Workload:
    return read_workload(folder.parent, run_id=folder.name)


def test_sizes_requests_and_the_host_s_time_come_from_the_run(counts: Path) -> None:
    workload = workload_of(counts)
    assert {relation.name: relation.size_bytes for relation in workload.relations} == {
        "census": TABLE_BYTES,
        "census_pkey": INDEX_BYTES,
        "pob": INDEX_BYTES,
    }
    assert set(workload.queries) == {"count for FL", "count for PR", "count for NV"}
    (table,) = (relation for relation in workload.relations if relation.name == "census")
    assert sum(requested.number for requested in table.requests) == 18_000 + 6_200 + 1_800
    measured = workload.measured["all ssd"].estimate.value
    assert measured is not None
    assert workload.host_s == pytest.approx(measured - (18_016 + 6_209 + 1_807 + 3) * 1e-4, rel=0.05), "what no request takes"


@pytest.mark.parametrize("ssd_gib", [0.0, 0.004, 0.0051, 0.0102, 0.09, 0.1, 0.2])
def test_what_is_advised_fits_and_nothing_that_is_allowed_beats_it(counts: Path, ssd_gib: float) -> None:
    found = searched("--ssd-gib", str(ssd_gib))
    sizes = {placed["relation"]: placed["size_bytes"] for placed in found["relations"]}
    assert found["ssd_bytes"] == sum(sizes[name] for name, tier in placement(found).items() if tier == "ssd")
    assert found["ssd_bytes"] <= ssd_gib * GIB
    assert found["exhaustive"]["regret"] == pytest.approx(0.0, abs=1e-9)
    assert found["placements"] == 2**3
    assert all(one["regret"] <= 1e-9 for one in found["alternatives"] if one["fits"] and one["affordable"])


def test_regret_is_above_zero_only_for_what_does_not_fit(counts: Path) -> None:
    found = searched("--ssd-gib", "0.0102")  # both indexes, not the table
    assert placement(found) == {"census": "hdd", "census_pkey": "ssd", "pob": "ssd"}
    assert regrets(found)["all ssd"] > 0
    assert not next(one for one in found["alternatives"] if one["name"] == "all ssd")["fits"]


def test_recorded_requests_are_replayed_in_their_order(counts: Path) -> None:
    random_s = service(workload_of(counts), "census", "hdd")
    record_counts(counts, {"pob": [3, 900], "census": list(range(2000)), "census_vm": [0]})
    workload = workload_of(counts)
    (table,) = (relation for relation in workload.relations if relation.name == "census")
    assert {requested.basis for requested in table.requests} == {"recorded"}
    assert sum(requested.number for requested in table.requests) == 3 * 2001, "the visibility map is the table's"
    in_order_s = table.service_s(workload.device("hdd"))
    assert in_order_s / 6003 < random_s / 26_200 / 5, "a page in order takes far less than one at random"


def service(workload: Workload, relation: str, tier: str) -> float:
    (found,) = (one for one in workload.relations if one.name == relation)
    return found.service_s(workload.device(tier))


def test_the_cheapest_placement_depends_on_how_often_a_job_comes(counts: Path) -> None:
    rare, often = (requested("--ssd-gib", "1", "--goal", "cheapest", "--jobs-per-hour", rate) for rate in ("0.0001", "3600"))
    assert set(placement(rare).values()) == {"hdd"}
    assert placement(often)["census"] == "ssd"
    for found in (rare, often):
        assert found["exhaustive"]["regret"] == pytest.approx(0.0, abs=1e-9)
        assert all(one["regret"] <= 1e-9 for one in found["alternatives"])


def test_the_log_is_a_relation_where_a_study_records_it(transactions: Path) -> None:
    found = requested("--ssd-gib", "0.5")
    log = next(placed for placed in found["relations"] if placed["relation"] == "wal")
    assert (log["relation_class"], log["size_bytes"]) == ("wal", WAL_BYTES)
    assert log["requests"] == pytest.approx(2.0)
    assert "each flushed" in log["basis"]
    assert found["placements"] == 2**4
    assert next(one for one in found["alternatives"] if one["name"] == "tables ssd")["placement"]["wal"] == "hdd"
    assert next(one for one in found["alternatives"] if one["name"] == "all ssd")["placement"]["wal"] == "ssd"


def test_requests_counted_by_the_emulator_are_random_and_sequential_apart(transactions: Path) -> None:
    workload = workload_of(transactions)
    relations = {relation.name: relation for relation in workload.relations}
    (accounts,) = relations["pgbench_accounts"].requests
    assert isinstance(accounts, Counted)
    assert (accounts.reads, accounts.sequential_reads, accounts.writes) == pytest.approx((1.0, 0.01, 0.5))
    assert relations["pgbench_tellers"].service_s(workload.device("hdd")) == 0.0, "nothing reached the tier"
    assert {name: relation.size_bytes for name, relation in relations.items()} == {**SIZES, "wal": WAL_BYTES}
    assert (workload.depth, workload.stretch) == (8, 80.0)


def test_tiers_that_were_slowed_alter_what_was_seen_and_not_the_advice(raw: Path) -> None:
    plain = workload_of(transactions_run(raw, run_id="plain"))
    slowed = workload_of(transactions_run(raw, run_id="slowed", slowdown=8.0))
    assert (slowed.name, slowed.slowdown) == ("large set, tiers slowed 8-fold", 8.0)
    assert times(slowed) == times(plain)
    found = requested("--ssd-gib", "0.4", "--run", "slowed")
    assert any("8-fold" in assumption for assumption in found["assumptions"])
    with pytest.raises(InputError, match="Remedy: one of: large set, tiers slowed 8-fold"):
        requested("--ssd-gib", "0.4", "--run", "slowed", "--workload", "large")


def counted(*, reads: float = 0, sequential: float | None = 0, writes: float = 0, depth: int = 1, log: bool = False) -> Counted:
    return Counted(reads, sequential, 8192 * reads, writes, 8192 * writes, depth, log)


def on(device: str, requests: Counted, size_bytes: int = 1 * GIB) -> float:
    return requests.service_s(lambda: build(load_device(device), seed=1), size_bytes)


@pytest.fixture
def survey(raw: Path) -> Path:
    return survey_run(raw)


def test_a_survey_s_tables_are_placed_each_by_itself(survey: Path) -> None:
    device = ("--ssd", "crucial-h-raid5-x6")
    found = requested("--ssd-gib", "0.1", "--workload", "joins", *device)
    assert found["devices"] == {"hdd": "hdd-1tb-raid5-x7", "ssd": "crucial-h-raid5-x6"}, "the array stands for ssd"
    assert placement(found) == {"source": "ssd", "source_ra": "ssd", "detection": "hdd"}
    assert requested("--ssd-gib", "1", "--workload", "joins", *device)["ssd_bytes"] == 465_000_000
    assert any("mergelog, mergelog_pkey" in assumption for assumption in found["assumptions"])
    assert set(regrets(found)) == {"all hdd", "indexes ssd", "tables ssd", "all ssd", "Source ssd", "Detection ssd"}
    allowed = {one["name"]: one["regret"] for one in found["alternatives"] if one["fits"]}
    assert set(allowed) == {"all hdd", "indexes ssd", "Source ssd"}
    assert max(allowed.values()) < 0
    assert found["exhaustive"]["regret"] == pytest.approx(0.0, abs=1e-9)


def test_a_survey_s_placements_are_those_that_were_measured(survey: Path) -> None:
    workload = read_workload(survey.parent, run_id=survey.name, name="light curves")
    assert workload.queries == ("light curves", "variable light curves")
    estimates = {name: measured.estimate.value for name, measured in workload.measured.items()}
    expected = {"all hdd": 21 + 11, "indexes ssd": 22 + 12, "Source ssd": 6 + 2, "Detection ssd": 4 + 1}
    assert estimates == {name: pytest.approx(job_s, rel=0.05) for name, job_s in expected.items()}
    assert workload.measured["Detection ssd"].placement == {"source": "hdd", "source_ra": "hdd", "detection": "ssd"}
    assert workload.reference == "indexes ssd"


def test_on_a_disk_order_matters_and_on_flash_hardly() -> None:
    scattered, ordered = counted(reads=100), counted(reads=100, sequential=100)
    assert on("sata-7k2", scattered) > 20 * on("sata-7k2", ordered)
    assert on("intel-s3700", scattered) < 5 * on("intel-s3700", ordered)
    assert on("sata-7k2", scattered) == on("sata-7k2", counted(reads=100, sequential=None)), "what nobody counted is taken as random"


def test_without_any_run_the_remedy_is_reported(raw: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "reference", lambda: raw)
    with pytest.raises(MissingError, match=r"Remedy: make report"):
        run("--ssd-gib", "1")


def test_a_replicate_counts_where_each_query_of_the_job_was_timed(raw: Path) -> None:
    folder = counts_run(raw)
    flag(folder, pl.col("trial").str.contains("index=hdd/io_mode=[a-z]+/start=NV/table=hdd/") & (pl.col("replicate") == 0))
    assert sorted(workload_of(folder).measured["all hdd"].job_s) == [1, 2, 3, 4]
    flag(folder, pl.col("trial").str.contains("index=hdd/io_mode=[a-z]+/start=NV/table=hdd/"))
    assert "all hdd" not in workload_of(folder).measured


def flag(folder: Path, which: pl.Expr) -> None:
    """Flag the rows of `which`."""
    path = folder / "timings.parquet"
    rows = pl.read_parquet(path)
    rows.with_columns(flags=pl.when(which).then(pl.lit(["overshoot"])).otherwise(pl.col("flags"))).write_parquet(path)


def test_a_real_directory_needs_a_model_in_its_place(counts: Path) -> None:
    def directory(manifest: dict[str, Any]) -> None:
        manifest["pairs"]["source-m"]["tiers"]["ssd"] = {"kind": "directory", "directory": "disk"}

    change_manifest(counts, directory)
    with pytest.raises(
        MissingError, match=r"tier ssd of pair source-m is a real directory\. Remedy: name a device of data/devices: --ssd NAME"
    ):
        run("--ssd-gib", "1")
    assert requested("--ssd-gib", "1", "--ssd", "micron-7450")["devices"]["ssd"] == "micron-7450"


@pytest.mark.parametrize(
    ("options", "reported"),
    [
        (("--ssd-gib", "-1"), "--ssd-gib is -1.0: must be zero or more"),
        (("--ssd-gib", "nan"), "--ssd-gib is nan: must be zero or more"),
        (("--ssd-gib", "1", "--budget", "0"), "--budget is 0.0: must be above zero"),
        (("--ssd-gib", "1", "--budget", "1e-9"), "--budget is 1e-09: no placement is that cheap"),
        (("--ssd-gib", "1", "--goal", "cost"), "--jobs-per-hour is 0.0"),
        (("--ssd-gib", "1", "--jobs-per-hour", "-2"), "--jobs-per-hour is -2.0: must be zero or more"),
        (("--ssd-gib", "1", "--run", "nope"), "run is 'nope': no such run"),
        (
            ("--ssd-gib", "1", "--study", "sky"),
            "--study is 'sky': run 20260102-030405-quick-abcdef has no rows of it. Remedy: one of",
        ),
        (("--ssd-gib", "1", "--pair", "source-x"), "did you mean source-m? one of: source-m"),
        (("--ssd-gib", "1", "--workload", "warm"), "Remedy: one of: cold counts"),
        (("--ssd-gib", "1", "--ssd", "floppy"), "data/devices/floppy.toml: no such file"),
        (("--ssd-gib", "1", "--budget", "5", "--currency", "XYZ"), "cannot be converted to XYZ"),
    ],
)
def test_what_cannot_be_is_refused(counts: Path, options: tuple[str, ...], reported: str) -> None:
    with pytest.raises(TierwiseError) as caught:
        run(*DAY, *options)
    assert isinstance(caught.value, InputError)
    assert reported in str(caught.value)


def test_a_device_without_a_price_counts_no_money_unless_money_is_requested(counts: Path) -> None:
    found = requested("--ssd-gib", "1", "--ssd", "aws-io2")
    assert found["cost_a_month"] is None
    assert "price of aws-io2-size on 2026-07-01 is missing" in found["warnings"][0]
    with pytest.raises(MissingError, match="price of aws-io2-size"):
        run(*DAY, "--ssd-gib", "1", "--ssd", "aws-io2", "--budget", "5")


LABELS = ("tbl-strategies", "tbl-advice-regret")


@pytest.fixture
def page(raw: Path) -> Iterator[Page]:
    record_counts(counts_run(raw), {"pob": [3, 900], "census": list(range(0, 9000, 3))})
    yield (shown := open_shared(open_run(), "advice"))
    shown.run.store.close()


def test_each_other_placement_is_predicted(page: Page) -> None:
    found = example(page.run)
    off = errors(found)
    assert off.keys() == {"all hdd", "indexes ssd", "tables ssd"}
    assert found.workload is not None
    for name, error in off.items():
        measured = found.workload.replayed[name]
        predicted_s = found.predicted_s(measured.placement)
        assert predicted_s is not None
        assert predicted_s / (measured.estimate.value or 0.0) - 1 == pytest.approx(error)


def test_the_advice_is_the_measured_placement_where_it_fits_and_the_best_of_all_where_not(page: Page) -> None:
    rows = page.rows("tbl-advice-regret")
    assert rows["ssd_bytes"].is_sorted()
    searched = rows.filter(chosen_by=str(Evidence.SIMULATED))
    assert searched.height
    assert searched["regret"].to_list() == pytest.approx([0.0] * searched.height, abs=1e-9)
    assert rows["chosen_by"][-1] == Evidence.EMULATED
    assert "census" in rows["on_ssd"][-1]


def test_placements_are_ranked_by_time(page: Page) -> None:
    rows = page.rows("tbl-strategies")
    assert rows["job_rank"].to_list() == [1, 2, 3, 4]
    assert rows["job_s"].is_sorted()
    assert rows["placement"][0] == "all on SSD"
    assert rows["evidence"].unique().to_list() == [Evidence.EMULATED]


def test_a_run_without_placements_shows_none(raw: Path) -> None:
    path = counts_run(raw) / "timings.parquet"
    pl.read_parquet(path).with_columns(study=pl.lit("another")).write_parquet(path)
    page = open_shared(open_run(), "advice")
    assert all(isinstance(page.exhibit(label), Missing) for label in LABELS)
    assert page.own["answered"] is False
