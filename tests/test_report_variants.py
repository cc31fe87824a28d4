"""What the page of the census study says of placements, variants and I/O modes follows from the rows, whichever of them were measured."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rows import Ratios, make_rows, save_run
from tierwise.core.vocabulary import IoMode
from tierwise.report.display import Figure, Table
from tierwise.report.exhibit_registry import find
from tierwise.report.formats import DASH, NBSP
from tierwise.report.page import open_page, open_shared
from tierwise.report.run import Run, open_run
from tierwise.report.words import Truth, saves, variants
from tierwise.studies.index_placement.reading.frames import speedup_bounds
from tierwise.studies.index_placement.reading.names import PAIR, STUDY
from tierwise.studies.index_placement.reading.values import values

Opened = Callable[..., Run]


def cold(ratio: float) -> Ratios:
    return {("cold", state): ratio for state in ("FL", "PR", "NV")}


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Opened:
    monkeypatch.setenv("TIERWISE_RAW", str(tmp_path))

    def save(*parts: pl.DataFrame, **manifest: Any) -> Run:
        save_run(tmp_path, pl.concat(parts), **manifest)
        return open_run()

    return save


def table(run: Run, label: str) -> dict[str, list[str]]:
    made = open_page(run, STUDY, PAIR).exhibit(label)
    assert isinstance(made, Table), made
    return {row[0]: [cell.replace(NBSP, " ") for cell in row] for row in made.rows}


def test_the_ways_of_io_stand_side_by_side_with_their_requests_at_once(opened: Opened) -> None:
    proof = pl.lit(json.dumps({"outstanding": {"hdd": 1.3}}))
    run = opened(make_rows(), make_rows(io_mode=IoMode.BUFFERED), make_rows(io_mode=IoMode.ASYNCHRONOUS).with_columns(proof=proof))
    table = open_shared(run, "ledger").exhibit("tbl-ledger-ways")
    assert isinstance(table, Table)
    shown = {row[1]: row[3] for row in table.rows if row[0] == "M1"}
    assert shown == {"buffered I/O (decides)": DASH, "direct I/O": DASH, "asynchronous I/O": "1.30, not asynchronous"}


def test_what_is_one_sided_assumed_or_late_stands_by_statement(opened: Opened) -> None:
    page = open_shared(opened(make_rows(ratios=cold(0.05), io_mode=IoMode.BUFFERED)), "ledger")
    rows = {row["claim"]: row for row in page.rows("tbl-ledger-choices").iter_rows(named=True)}
    assert {name: rows["M3"][name] for name in ("one_sided", "assumed", "newer")} == {"one_sided": "yes", "assumed": "", "newer": "yes"}
    assert (rows["M2"]["one_sided"], rows["M2"]["assumed"]) == ("", "bounds")
    assert "28 Nov" in rows["M2"]["after"]
    assert "M6" not in rows, "it is not judged"
    assert page.own["after_results"] == page.own["decided"]


@pytest.mark.parametrize(
    ("ratios", "truth"), [(cold(0.05), Truth.TRUE), (cold(0.5), Truth.FALSE), ({**cold(0.05), ("cold", "PR"): 0.5}, Truth.FALSE)]
)
def test_one_state_above_the_limit_is_enough_to_say_no(opened: Opened, ratios: Ratios, truth: Truth) -> None:
    claim = opened(make_rows(ratios=ratios)).verdict("M1")
    assert claim is not None
    (io_mode,) = variants(claim)
    assert saves(io_mode, 0.10) is truth


def test_a_pair_without_rows_has_no_answer(opened: Opened) -> None:
    found = values(opened(make_rows(pair="mine")), PAIR)
    assert (found["answered"], found["advised"], found["variants"], found["table_known"]) == (False, None, 0, False)


@pytest.mark.parametrize(("ratio", "advised"), [(0.99, "table"), (0.05, "both")])
def test_what_saves_more_is_advised(opened: Opened, ratio: float, advised: str) -> None:
    found = values(opened(make_rows(ratios=cold(ratio))), PAIR)
    assert found["advised"] == advised
    assert found["index_saved_least"] == pytest.approx(100 - 100 * ratio, abs=2.0)


def test_a_placement_has_its_ratio_and_its_speedup_beside_the_published_bounds(opened: Opened) -> None:
    rows = find("fig-placements", STUDY).rows(opened(make_rows(ratios=cold(0.5))), PAIR).frame
    assert rows["speedup"].to_list() == pytest.approx((1 / rows["ratio"]).to_list())
    assert rows.filter(placement="index on SSD")["speedup"].to_list() == pytest.approx([2.0] * 15, rel=0.05)
    florida = speedup_bounds("cold")["Florida"]
    assert (florida.lower, florida.upper) == pytest.approx((10.0, 100 / 3))


def test_charts_and_tables_show_the_mode_that_decides(opened: Opened) -> None:
    page = open_page(opened(make_rows(), make_rows(io_mode=IoMode.BUFFERED), make_rows(io_mode=IoMode.ASYNCHRONOUS)), STUDY, PAIR)
    for label in ("fig-placements", "fig-times", "fig-ratios", "tbl-reads", "tbl-variants"):
        assert page.rows(label)["io_mode"].unique().to_list() == ["buffered"], label


def test_too_few_clean_replicates_are_drawn_but_not_estimated(opened: Opened) -> None:
    page = open_page(opened(make_rows(replicates=4)), STUDY, PAIR)
    assert page.rows("fig-placements").is_empty()
    assert page.rows("fig-times").height == 4 * 4 * 9
    figure = page.exhibit("fig-times")
    assert isinstance(figure, Figure)
    assert '"tick"' not in json.dumps(figure.spec())


def test_a_table_has_the_speedups_of_each_variant_the_largest_first(opened: Opened) -> None:
    run = opened(make_rows(), make_rows(variant="heap-cached", states=("NV",), pace=0.05))
    rows = table(run, "tbl-variants")
    assert (next(iter(rows)), sorted(rows)) == ("Cached for SSD only", ["As published", "Cached for SSD only", "Table cached"])
    assert "in memory" in rows["Table cached"][1]
    assert rows["As published"][2].startswith("0.991 to 1.01 (")
    assert values(run, PAIR)["only_cached"] is True


def test_each_statement_is_a_line(opened: Opened) -> None:
    rows = table(opened(make_rows()), "tbl-index-claims")
    assert list(rows) == [f"M{number}" for number in range(1, 22)]
    assert rows["M1"][2].startswith("0.9")
    assert rows["M1"][3].startswith("**contradicted**")
    assert rows["M6"][2] == DASH
