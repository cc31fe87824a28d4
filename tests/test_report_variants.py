"""What the pages say of placements, variants, I/O modes and sizes follows from the rows, whichever of them were measured."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from cells import table_of
from rows import Ratios, make_rows, make_run, save_run
from survey_rows import RUN_ID, placement_rows, save_survey
from tierwise.core.vocabulary import IoMode
from tierwise.report.display import Figure, Table
from tierwise.report.exhibit_registry import find
from tierwise.report.formats import DASH
from tierwise.report.page import open_page, open_shared
from tierwise.report.run import Run, open_run
from tierwise.report.words import Truth, saves, variants
from tierwise.studies.index_placement.reading.names import PAIR, STUDY, speedup_bounds
from tierwise.studies.index_placement.reading.values import values
from tierwise.timings.manifest import load_manifest

Opened = Callable[..., Run]


def cold(ratio: float) -> Ratios:
    return {("cold", state): ratio for state in ("FL", "PR", "NV")}


@pytest.fixture
def opened(raw: Path) -> Opened:
    def save(*parts: pl.DataFrame, **manifest: Any) -> Run:
        save_run(raw, pl.concat(parts), **manifest)
        return open_run()

    return save


def table(run: Run, label: str) -> dict[str, list[str]]:
    return {row[0]: row for row in table_of(open_page(run, STUDY, PAIR), label)}


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
    assert {name: rows["M3"][name] for name in ("one_sided", "assumed", "newer")} == {"one_sided": True, "assumed": [], "newer": True}
    assert (rows["M2"]["one_sided"], rows["M2"]["assumed"]) == (False, ["bounds"])
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


PUBLISHED_ROWS = 2_458_285


def entries(sizes: tuple[int, ...], published: float, base: str, moved: str, ratio: Callable[[float], float]) -> list[dict[str, Any]]:
    """Return what a run keeps of sizes whose ratio is exact but for a thousandth from replicate to replicate."""
    return [
        {
            "share": size / sizes[-1],
            "published_rows": published,
            "evidence": "simulated",
            "replicates": list(range(5)),
            "rows": [size] * 5,
            "requests": [7] * 5,
            "seconds": {base: [2.0] * 5, moved: [2.0 * ratio(size) * 1.001**replicate for replicate in range(5)]},
        }
        for size in sizes
    ]


def with_facts(folder: Path, study: str, facts: list[dict[str, Any]]) -> None:
    manifest = load_manifest(folder)
    records = tuple(
        one.model_copy(update={"facts": {**one.facts, "by_scale": facts}}) if one.name == study else one for one in manifest.studies
    )
    manifest.model_copy(update={"studies": records}).save(folder)


def census_run(raw: Path, ratio: Callable[[float], float]) -> Run:
    folder = make_run(raw, ratios={("cold", "NV"): 0.97})
    sizes = (24_583, 245_829, PUBLISHED_ROWS)
    with_facts(folder, "index_placement", entries(sizes, PUBLISHED_ROWS, "hdd", "ssd", ratio))
    return open_run(folder.name, raw)


def test_where_the_published_size_was_reached_the_smaller_ones_predict_it(tmp_path: Path) -> None:
    run = census_run(tmp_path, lambda rows: 0.9 * rows**0.005)
    found = values(run, "source-m")
    assert (found["scale_small_rows"], found["scale_rows"], found["scale_holds"]) == (24_583, PUBLISHED_ROWS, True)
    assert found["scale_saved"] == pytest.approx(100 - 90 * PUBLISHED_ROWS**0.005 * 1.002, rel=1e-3)


def test_the_join_is_carried_on_to_the_assumed_size(tmp_path: Path) -> None:
    folder = save_survey(tmp_path, placement_rows())
    with_facts(
        folder, "survey_placement", entries((6_500, 65_000, 650_000), 1e8, "all_hdd", "detection_ssd", lambda size: 0.5 * size**0.01)
    )
    found = open_page(open_run(RUN_ID, tmp_path), "survey_placement", "source-h").values
    assert (found["smallest"], found["largest"], found["published"]) == (6_500, 650_000, 100_000_000)
    assert found["published_gain"] == pytest.approx(1 / 0.602, rel=0.01), "0.5 * 1e8 ** 0.01, and a thousandth a replicate"
    assert found["largest_gain"] == pytest.approx(1 / (0.5 * 650_000**0.01), rel=0.01)


@pytest.mark.parametrize("facts", [None, []])
def test_a_run_at_one_size_says_so(tmp_path: Path, facts: list[dict[str, Any]] | None) -> None:
    folder = make_run(tmp_path)
    if facts is not None:
        with_facts(folder, "index_placement", facts)
    run = open_run(folder.name, tmp_path)
    assert values(run, "source-m")["scale_rows"] is None
    assert open_page(run, "survey_placement", "source-h").own["smallest"] is None
