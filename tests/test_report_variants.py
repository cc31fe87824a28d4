"""What the chapter on the census study says of the I/O modes follows from the rows, whichever of them were measured."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import cells
from rows import Ratios, make_rows, save_run
from tierwise.core import paths
from tierwise.core.vocabulary import Evidence, IoMode
from tierwise.report.display import Figure, Sentence, Table
from tierwise.report.formats import DASH
from tierwise.report.page import open_shared
from tierwise.report.run import Run, open_run
from tierwise.report.variants import Truth, saves, variants
from tierwise.studies.index_placement.reading import chapter_variants as hunt
from tierwise.studies.index_placement.reading import figures_reads as reads
from tierwise.studies.index_placement.reading.figures_reads import mean_distances
from tierwise.timings.traces import END, TRACE, TrialKey, write_trace

PAIR = "source-m"
QUICK = ("FL", "NV")
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


def said(run: Run) -> str:
    return hunt.conditions(run, PAIR).text.replace("\N{NO-BREAK SPACE}", " ")


def advised(run: Run) -> str:
    return hunt.advice(run, PAIR).text.replace("\N{NO-BREAK SPACE}", " ")


def points(figure: object) -> list[dict[str, Any]]:
    """Every row of data that a chart shows."""
    assert isinstance(figure, Figure)
    return [row for rows in figure.spec()["datasets"].values() for row in rows]


# ways of I/O


def test_the_ways_of_io_stand_side_by_side_with_their_requests_at_once(opened: Opened) -> None:
    proof = pl.lit(json.dumps({"outstanding": {"hdd": 1.3}}))
    run = opened(make_rows(), make_rows(io_mode=IoMode.BUFFERED), make_rows(io_mode=IoMode.ASYNCHRONOUS).with_columns(proof=proof))
    table = open_shared(run, "ledger").exhibit("tbl-ledger-ways")
    assert isinstance(table, Table)
    shown = {row[1]: row[3] for row in table.rows if row[0] == "M1"}
    assert shown == {
        "buffered I/O (decides)": DASH,
        "direct I/O": DASH,
        "asynchronous I/O": "1.30, not asynchronous",
    }


# when it is true


def test_a_pair_without_rows_has_no_answer(opened: Opened) -> None:
    run = opened(make_rows(pair="mine"))
    assert "no row of this run" in said(run)
    assert advised(run).startswith("**No answer yet** from this run on the pair")


@pytest.mark.parametrize(
    ("ratios", "truth"), [(cold(0.05), Truth.TRUE), (cold(0.5), Truth.FALSE), ({**cold(0.05), ("cold", "PR"): 0.5}, Truth.FALSE)]
)
def test_one_state_above_the_limit_is_enough_to_say_no(opened: Opened, ratios: Ratios, truth: Truth) -> None:
    (io_mode,) = variants(hunt.claim_of(opened(make_rows(ratios=ratios)), "M1"))
    assert saves(io_mode, 0.10) is truth


# what to do today


def test_the_table_is_moved_first_where_that_saves_more(opened: Opened) -> None:
    assert "**Move the table first.**" in advised(opened(make_rows()))


def test_the_index_is_moved_first_where_that_saves_more(opened: Opened) -> None:
    assert "**Move the index first.**" in advised(opened(make_rows(ratios=cold(0.05))))


# figures and tables


def test_every_io_mode_has_a_point_for_each_state_and_panel(opened: Opened) -> None:
    run = opened(make_rows(), make_rows(variant="heap-cached", states=("NV",), pace=0.05))
    drawn = cells.drawn("index_placement", run, "fig-variants")["fig-variants"]
    found = {(row["label"], row["queried"]) for row in points(drawn) if "queried" in row}
    cached = {("Nevada"), ("Florida after Nevada")}
    assert {queried for io_mode, queried in found if io_mode == "Table cached"} == cached
    assert {queried for io_mode, queried in found if io_mode == "Cached for SSD only"} == cached
    assert len([io_mode for io_mode, _ in found if io_mode == "As published"]) == 6


def reads_by_variant(run: Run) -> Figure | Sentence:
    return cells.drawn("index_placement", run, "fig-variant-reads")["fig-variant-reads"]


def test_the_reads_are_those_of_the_state_that_most_io_modes_have(opened: Opened) -> None:
    run = opened(make_rows(), make_rows(variant="heap-cached", states=("NV",), pace=0.05))
    assert reads.shown_state(run, PAIR) == "NV"
    bars = [row for row in points(reads_by_variant(run)) if row.get("part") == "table" and row["total"] > 1]
    assert {(row["label"], row["place"]): row["value"] for row in bars} == {
        ("As published", "index on HDD"): 1800,
        ("As published", "index on SSD"): 1800,
        ("Cached for SSD only", "index on HDD"): 1800,
        ("Cached for SSD only", "index on SSD"): 0,
        ("Table cached", "index on HDD"): 0,
        ("Table cached", "index on SSD"): 0,
    }


def test_a_table_tells_each_io_mode_s_verdicts_and_reads(opened: Opened) -> None:
    table = hunt.verdicts_by_variant(opened(make_rows(), make_rows(variant="heap-cached", pace=0.06)), PAIR)
    assert isinstance(table, Table)
    rows = {row[0]: [cell.replace("\N{NO-BREAK SPACE}", " ") for cell in row] for row in table.rows}
    assert (next(iter(rows)), sorted(rows)) == ("Cached for SSD only", ["As published", "Cached for SSD only", "Table cached"])
    assert rows["Cached for SSD only"][1].startswith("**confirmed** 0.0")
    assert rows["Cached for SSD only"][-2:] == ["18,000 + 16", "0 + 16"]
    assert rows["As published"][1].startswith("**contradicted** ")


def test_the_reader_s_pair_has_a_table_of_its_own(opened: Opened) -> None:
    mine = make_rows(pair="mine", evidence=Evidence.MIXED)
    run = opened(make_rows(), mine, reader_pair="mine")
    table = hunt.verdicts_here(run)
    assert isinstance(table, Table)
    assert "mixed" in table.rows[0][1]


# how far apart


def test_distances_are_mean_steps_within_a_relation(tmp_path: Path) -> None:
    def row(relation: str | None, page: int, step: int = 0) -> dict[str, Any]:
        told = {
            "step": step,
            "cache": "cold",
            "operation": "read" if relation else END,
            "relation": relation,
            "page": page,
            "size_bytes": 8192,
        }
        return {column: told.get(column) for column in TRACE}

    rows = [
        row("pob", 0),
        row("census", 10),
        row("pob", 4),
        row("census", 11),
        row("census", 15),
        row("key", 0),
        row(None, 0),
        row("pob", 9, 1),
    ]
    key = TrialKey("s", "p", "t")
    write_trace(tmp_path / "run", key, pl.DataFrame(rows, schema=TRACE))
    assert mean_distances(tmp_path / "run", key, 0) == {"pob": 4.0, "census": 2.5}
    assert mean_distances(tmp_path / "run", key, 1) == {}
    assert mean_distances(tmp_path / "run", TrialKey("s", "p", "other"), 0) == {}


def test_recorded_requests_add_a_panel_of_distances(opened: Opened) -> None:
    run = opened(make_rows())
    trial = "index=hdd/io_mode=direct/start=FL/table=hdd/variant=published"
    told = {"step": 0, "cache": "cold", "operation": "read", "relation": "census", "size_bytes": 8192}
    rows = [{column: {**told, "page": page}.get(column) for column in TRACE} for page in (0, 30)]
    write_trace(paths.raw() / run.run_id, TrialKey("index_placement", PAIR, trial), pl.DataFrame(rows, schema=TRACE))
    assert [row["pages"] for row in points(reads_by_variant(run)) if "pages" in row] == [30.0]
