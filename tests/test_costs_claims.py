"""Claims on costs: judged over the price band, from simulated reads where a run has them and from published ones elsewhere."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest

from rows import make_manifest, make_rows, others, save_run
from survey_rows import ARRAYS_S, RUN_ID, array_rows
from tierwise.analysis.claim_rows import Rows
from tierwise.analysis.claims import Claim, Kind, load_claims
from tierwise.analysis.judging import ClaimVerdict, Grounds
from tierwise.analysis.rules import Verdict
from tierwise.analysis.statistics import MACRO
from tierwise.analysis.views import open_views
from tierwise.core import paths
from tierwise.core.pairs import load_pair
from tierwise.core.vocabulary import Evidence, IoMode
from tierwise.costs.bill import turning_price
from tierwise.costs.book import load_book
from tierwise.costs.delivered import newest_server
from tierwise.costs.hardware import TB, device_bill, members
from tierwise.costs.price_band import Compared, Counted, judge_band
from tierwise.report.study_registry import judge_all, judges, named
from tierwise.studies.ram_or_ssd.reading.money import DISK_ITEM, PUBLISHED, THEN, cases, ways
from tierwise.studies.survey_arrays.reading.money import MEMBERS, SUBSYSTEMS, holding, time_ratios, turning_gbp
from tierwise.studies.survey_arrays.reading.money import THEN as TALK

if TYPE_CHECKING:  # pytest keeps annotations until the end, and DuckDB complains then of types that are still there
    from duckdb import DuckDBPyConnection as Connection

Row = tuple[float, str, float, float]


@pytest.fixture(autouse=True)
def no_runs(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIERWISE_RAW", str(tmp_path_factory.mktemp("raw")))


@pytest.fixture
def connection() -> Iterator["Connection"]:
    with duckdb.connect() as opened:
        opened.execute(MACRO)
        yield opened


def simulated(connection: "Connection", *rows: Row, seeds: int = 5, flagged: bool = False) -> "Connection":
    """Return a view as the study's SQL makes it: (data in GiB, tier, reads a second, device reads a second), alike for each seed."""
    values = ", ".join(
        f"('source-r', {seed}, '{data_gib}', '{tier}', {reads}, {iops}, 'simulated', {flagged})"
        for data_gib, tier, reads, iops in rows
        for seed in range(seeds)
    )
    columns = "pair, replicate, dataset_gib, tier, reads_per_s, device_iops, evidence, flagged"
    connection.execute(f"create view ram_or_ssd as select * from (values {values}) as rows({columns})")
    return connection


def claim_of(name: str) -> Claim:
    return next(claim for claim in load_claims().claims if claim.id == name)


def verdict_of(name: str, connection: "Connection | None" = None) -> ClaimVerdict:
    rows = None if connection is None else Rows(connection, make_manifest(make_rows(replicates=1)))
    return judges()[Kind.COST](claim_of(name), Grounds("source-r", rows))


def test_without_a_run_the_published_reads_are_taken() -> None:
    assert cases() == PUBLISHED
    flash = PUBLISHED[0].flash
    assert (flash.reads_per_s, flash.load.misses_per_read) == pytest.approx((4.45 * 33_000, 1 / 4.45))


def test_a_runs_simulated_reads_take_their_place(connection: "Connection") -> None:
    (case,) = cases(simulated(connection, (32, "ssd", 150_000, 34_000), (32, "hdd", 530, 190), (48, "ssd", 120_000, 34_000)))
    assert (case.data_to_ram, case.evidence) == (2, Evidence.SIMULATED)
    assert (case.flash.reads_per_s, case.disk.device_iops) == pytest.approx((150_000, 190))


def test_flagged_rows_and_data_that_fit_the_memory_are_left_out(connection: "Connection") -> None:
    flagged = simulated(connection, (32, "ssd", 1, 1), (32, "hdd", 1, 1), flagged=True)
    assert cases(flagged) == PUBLISHED


def test_a_verdict_says_which_prices_of_its_band_were_read_once() -> None:
    book = load_book(THEN)
    reported = verdict_of("R10")
    (condition,) = (condition for condition in reported.conditions if "read once" in condition)
    assert "ssd-m4-128gb" in condition
    for item in condition.split(": ")[1].split(", "):
        low, high = book.band(item)
        assert high / low == pytest.approx(4), "half to twice"
    assert not any("read once" in condition for condition in verdict_of("R11").conditions), "no price is in it"


def test_three_ways_deliver_the_same_reads() -> None:
    book = load_book(THEN)
    three = ways(PUBLISHED[0], book)
    assert (three.flash.device, three.disks.device, three.memory.device) == ("crucial-m4", "st3000dm001", "st3000dm001")
    assert three.disks.devices == pytest.approx(4.45 * 33_000 / 2.12 / 250, abs=1)
    assert three.memory.ram_bytes > three.flash.ram_bytes


def test_r10_is_judged_on_machines_that_hold_as_much_memory_as_the_source_s() -> None:
    """Three machines of 16 GiB are dearer, at twice the memory, than one with an SSD, whatever a disk costs."""
    verdict = verdict_of("R10")
    assert (verdict.verdict, verdict.evidence) == (Verdict.CONFIRMED, Evidence.PUBLISHED)
    assert len(verdict.cases) == 4  # two amounts of data, two ratios each
    three = ways(PUBLISHED[0], load_book(THEN))
    assert (three.flash.machines, three.memory.machines) == (1, 3)
    assert all(f"every price of {DISK_ITEM}" in case.conditions[0] for case in verdict.cases if "RAM over" in case.case)
    (larger,) = verdict.others
    assert larger.variant == "servers of 64 GiB"
    assert larger.estimate == pytest.approx(1.0, abs=0.1)
    assert any(condition.endswith(f"with {larger.variant}") for condition in verdict.conditions)


def test_the_price_of_a_disk_at_which_an_order_turns_is_where_both_cost_the_same() -> None:
    book = load_book(THEN)
    roomy = ways(PUBLISHED[0], book, server=newest_server(book).able_to_hold(ram_gib=64))
    flash, memory = roomy.flash.bill, roomy.memory.bill
    price = turning_price(memory, flash, DISK_ITEM, book)
    assert price is not None
    at = book.with_price(DISK_ITEM, price)
    assert memory.cost(at) == pytest.approx(flash.cost(at))


def test_what_follows_from_inputs_alone_is_certain_before_any_run() -> None:
    assert [claim.id for claim in load_claims().claims if claim.kind is Kind.COST and claim.certain] == ["R11", "H13"]


def test_r11_random_reads_gain_much_more_from_flash_than_reads_in_order() -> None:
    verdict = verdict_of("R11")
    assert (verdict.verdict, verdict.evidence) == (Verdict.CONFIRMED, Evidence.SIMULATED)
    assert verdict.estimate is not None
    assert 50 < verdict.estimate < 500


@pytest.mark.parametrize(
    ("bands", "reported"),
    [
        ({"a": (1.1, 2.0), "b": (3.0, 4.0)}, "confirmed"),
        ({"a": (0.9, 2.0), "b": (3.0, 4.0)}, "undecided (the bound lies within the price band; needs prices that are known more closely)"),
        ({"a": (0.9, 2.0), "b": (0.1, 0.9)}, "contradicted"),
    ],
)
def test_a_band_must_lie_inside_the_bounds_with_every_ratio(bands: Mapping[str, tuple[float, float]], reported: str) -> None:
    counted = Counted({name: Compared(Evidence.SIMULATED, band) for name, band in bands.items()})
    verdict = judge_band(claim_of("R10"), "source-r", counted, io_mode=IoMode.BUFFERED)
    assert verdict.verdict_text == reported
    assert verdict.deciding_case == min(bands, key=lambda name: bands[name][0])


def test_without_a_run_costs_alone_are_judged_from_what_was_published() -> None:
    measured = {claim.id: claim.verdict for claim in judge_all(paths.raw()) if claim.verdict is not Verdict.NOT_MEASURED}
    assert measured == dict.fromkeys(("R10", "R11", "H13"), Verdict.CONFIRMED)


def test_every_cost_has_a_judge_in_the_space_of_its_study() -> None:
    """One without would be reported as not measured."""
    of_cost = {claim.id for claim in load_claims().claims if claim.kind is Kind.COST}
    assert {claim for _, module in named("money") for claim in module.MONEY} == of_cost


def test_what_is_priced_is_what_the_studies_measure_on() -> None:
    tiers = {name: tier.device for name, tier in load_pair("source-h").tiers.items() if tier.kind == "emulated"}
    assert {tier: tiers[tier] for tier in SUBSYSTEMS} == SUBSYSTEMS
    assert dict(map(members, SUBSYSTEMS.values())) == MEMBERS


def test_a_years_money_is_that_of_the_drives() -> None:
    book = load_book(TALK)
    seven = device_bill(SUBSYSTEMS["hdd"], book)
    assert seven.cost(book) == pytest.approx(7 * device_bill("hdd-1tb", book).cost(book))
    assert holding("hdd-1tb", 6 * TB, book).cost(book) == pytest.approx(seven.cost(book))


def test_h13_holds_at_the_prices_that_the_source_states_for_every_size(tmp_path: Path) -> None:
    (claim,) = (claim for claim in load_claims().claims if claim.id == "H13")
    assert claim.bounds_how == "assumed"
    found = next(verdict for verdict in judge_all(tmp_path) if verdict.id == "H13")
    assert (found.verdict, found.deciding_case) == (Verdict.CONFIRMED, "SSDs over disks, 1 TB")
    assert [case.verdict for case in found.cases] == [Verdict.CONFIRMED] * 3
    assert found.evidence is Evidence.PUBLISHED
    assert not others(found)
    conditions = " ".join(found.cases[0].conditions)
    assert "electricity" in conditions
    assert "ssd-source-h" not in conditions, "a price that the source states has no band"
    assert f"{turning_gbp(load_book(TALK)):.3g} instead of 87 GBP" in conditions


def test_h13_by_what_is_delivered_stands_beside(tmp_path: Path) -> None:
    save_run(tmp_path, array_rows())
    found = next(verdict for verdict in judge_all(tmp_path, RUN_ID) if verdict.id == "H13")
    delivered = {f"{what}{when}" for what in ("an IOPS", "a query an hour") for when in ("", ", today's prices")}
    assert set(others(found)) == delivered | {"a terabyte, today's prices"}
    assert others(found)["an IOPS"].verdict is Verdict.CONTRADICTED
    assert others(found)["an IOPS"].evidence is Evidence.SIMULATED
    by_query = {case.case: case for case in others(found)["a query an hour"].cases}
    assert len(by_query) == 3
    assert others(found)["a query an hour"].evidence is Evidence.EMULATED
    scan = by_query["SSDs over disks, non_indexed"]
    assert scan.low is not None
    assert scan.high is not None
    assert scan.low < scan.high


def test_the_time_ratio_is_of_unflagged_pairs(tmp_path: Path) -> None:
    save_run(tmp_path, array_rows())
    with open_views(tmp_path, RUN_ID) as connection:
        found = time_ratios(connection, "source-h")
    for query, (evidence, ratio) in found.items():
        assert evidence is Evidence.EMULATED
        assert ratio.value == pytest.approx(ARRAYS_S[query]["ssd_raid5"] / ARRAYS_S[query]["hdd"], rel=0.05)
        assert ratio.repeats == 5
