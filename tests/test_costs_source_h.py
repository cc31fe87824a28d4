"""What the survey's subsystems cost by the terabyte, by the read and by the query; and H13 over the price band."""

import datetime as dt
from pathlib import Path

import pytest

from rows import others, save_run
from survey_rows import ARRAYS_S, RUN_ID, array_rows
from tierwise.analysis.claims import load_claims
from tierwise.analysis.rules import Verdict
from tierwise.analysis.views import open_views
from tierwise.core.pairs import load_pair
from tierwise.core.vocabulary import Evidence
from tierwise.costs.book import load_book
from tierwise.costs.hardware import TB, device_bill, members
from tierwise.report.study_registry import judge_all
from tierwise.studies.survey_arrays.reading.money import MEMBERS, SUBSYSTEMS, THEN, holding, time_ratios, turning_gbp

TODAY = load_book(dt.date(2026, 11, 20))


def test_what_is_priced_is_what_the_studies_measure_on() -> None:
    tiers = {name: tier.device for name, tier in load_pair("source-h").tiers.items() if tier.kind == "emulated"}
    assert {tier: tiers[tier] for tier in SUBSYSTEMS} == SUBSYSTEMS
    assert dict(map(members, SUBSYSTEMS.values())) == MEMBERS


def test_a_years_money_is_that_of_the_drives() -> None:
    book = load_book(THEN)
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
    assert f"{turning_gbp(load_book(THEN)):.3g} instead of 87 GBP" in conditions


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
