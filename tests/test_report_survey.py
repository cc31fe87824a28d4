"""The chapters on the survey say what their rows say, hold no inferred number against anything, and say so where there are no rows."""

import re
from pathlib import Path

import polars as pl
import pytest

import cells
from rows import make_run, save_run
from survey_rows import ARRAYS_S, PLACEMENT_S, RUN_ID, array_rows, placement_rows
from tierwise.analysis.claims import load_claims
from tierwise.analysis.rules import Verdict
from tierwise.report.display import Figure, Sentence, Table
from tierwise.report.formats import DASH
from tierwise.report.run import Run, open_run
from tierwise.report.shown import Shown
from tierwise.studies.survey_arrays.reading import chapter as survey_arrays
from tierwise.studies.survey_arrays.reading.shown import ARRAYS
from tierwise.studies.survey_placement.reading import chapter as survey_placement
from tierwise.studies.survey_placement.reading.shown import PLACEMENT
from tierwise.timings.manifest import StudyRecord, load_manifest

PAIR = "source-h"
INFERRED = {"H1", "H2", "H3", "H4", "H5", "H6", "H7"}
METHODS = {
    "as PostgreSQL reads here": (182.0, 167.0, 436.0, 270.0),
    "ideal": (170.0, 114.0, 331.0, 69.0),
    "one request at a time": (148.0, 125.0, 357.0, 109.0),
    "fragmented, 100 % of the requests elsewhere": (2900.0, 1200.0, 331.0, 250.0),
}


def hunt(query: str) -> list[dict[str, object]]:
    return [
        {
            "query": query,
            "form": "printed",
            "method": method,
            "hunted": method not in {"as PostgreSQL reads here", "ideal"},
            "evidence": "simulated",
            "seconds": {tier: [value] * 5 for tier, value in zip(ARRAYS_S["indexed"], values, strict=True)},
            "bytes": 1e11,
        }
        for method, values in METHODS.items()
    ]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    folder = save_run(tmp_path, pl.concat([array_rows(forms=("printed", "meant")), placement_rows()]))
    manifest = load_manifest(folder)
    facts = {"published_bytes": 141e9, **{query: hunt(query) for query in ARRAYS_S}}
    placement = {
        **PLACEMENT_S,
        "io_share": {"join_single": {"detection": 0.8}},
        "on_ssd": {"index_ssd": ["source_ra", "source_dec"]},
        "touched": {"join_single": {"source": 100, "detection": 800, "source_ra": 99, "source_dec": 1}},
    }
    records = tuple(
        StudyRecord(name=name, pair=PAIR, trials=(), replicates=5, settings={}, server_version="18.6", facts=found)
        for name, found in (("survey_arrays", facts), ("survey_placement", placement))
    )
    manifest.model_copy(update={"studies": records}).save(folder)
    return open_run(RUN_ID, tmp_path)


def verdict(run: Run, claim: str) -> Verdict:
    return next(found.verdict for found in run.verdicts if found.id == claim)


def test_orders_are_judged_and_inferred_numbers_are_not(run: Run) -> None:
    assert {claim: verdict(run, claim) for claim in ("H8", "H9", "H10", "H12")} == dict.fromkeys(
        ("H8", "H9", "H10", "H12"), Verdict.CONFIRMED
    )
    assert {claim.id: claim.bounds_text for claim in run.verdicts}["H9"] == "each of the 8 ratios above 1"
    assert {verdict(run, claim) for claim in ("H1", "H2", "H3", "H4", "H5", "H6", "H7", "H14")} == {Verdict.REPORTED}
    assert not [claim.id for claim in load_claims().claims if claim.id in INFERRED and (claim.bounds or claim.orders)]


def test_the_opposite_order_contradicts(tmp_path: Path) -> None:
    same_everywhere = {query: {**by_tier, "ssd": 100.0, "ssd_raid5": 130.0} for query, by_tier in ARRAYS_S.items()}
    quick_indexes = {
        query: {**found, "index_ssd": found["all_hdd"] / 2, "source_ssd": found["all_hdd"]} for query, found in PLACEMENT_S.items()
    }
    save_run(tmp_path, pl.concat([array_rows(same_everywhere), placement_rows(quick_indexes)]))
    run = open_run(RUN_ID, tmp_path)
    assert verdict(run, "H10") is verdict(run, "H12") is Verdict.CONTRADICTED
    assert verdict(run, "H8") is Verdict.CONFIRMED
    assert verdict(run, "H9") is Verdict.UNDECIDED


def test_a_replicate_s_time_is_the_mean_of_its_executions_and_one_that_is_flagged_flags_it(tmp_path: Path) -> None:
    once = placement_rows({"join_several": {"all_hdd": 30.0, "index_ssd": 15.0}})
    again = once.with_columns(
        trial=pl.col("trial") + "/execution=1",
        cell=pl.col("cell").str.replace(r"\}$", ', "execution": 1}'),
        sequence=pl.col("sequence") + 1000,
        elapsed_s=2 * pl.col("elapsed_s"),
        flags=pl.when(pl.col("replicate") == 4).then(pl.lit(["overshoot"])).otherwise(pl.col("flags")),
    )
    save_run(tmp_path, pl.concat([once, again]))
    run = open_run(RUN_ID, tmp_path)
    found = run.query("select replicate, placement, elapsed_s, ratio, flagged from survey_placement order by replicate, placement")
    assert found.height == 2 * 5
    assert found["flagged"].to_list() == [False] * 8 + [True] * 2
    first = once.filter(pl.col("cell").str.contains("all_hdd")).sort("replicate")["elapsed_s"]
    assert found.filter(placement="all_hdd")["elapsed_s"].to_list() == pytest.approx((1.5 * first).to_list())
    heat = run.query("select count(distinct trial) as trials from survey_placement_heat where replicate = 0")
    assert heat["trials"].to_list() == [2], "a job asks once"


def test_the_chapter_on_arrays_tells_gains_and_the_hunt(run: Run) -> None:
    assert re.search(
        r"on non-indexed columns 10\.\d times as fast on one SSD and 11\.\d times as fast on 6 SSDs", survey_arrays.answer(run, PAIR).text
    )
    told = survey_arrays.hunt_found(run, PAIR).text
    assert "Within 25" in told
    assert "*fragmented, 100 % of the requests elsewhere*" in told
    assert "confirms nothing" in told
    alone, torn = "*one request at a time*", "*fragmented, 100 % of the requests elsewhere*"
    assert f"7 disks, RAID5: {torn}; 7 disks, RAID0: {torn}; one SSD: {alone} and {torn}; 6 SSDs, RAID5: {torn}." in told
    table = survey_arrays.hunt(run, PAIR)
    assert isinstance(table, Table)
    assert [row[0] for row in table.rows] == list(METHODS)
    assert table.rows[-1][-1] == "1.13-fold"
    mixed = survey_arrays.hunt(run, PAIR, "mixed")
    assert isinstance(mixed, Table)
    assert "7 disks, RAID0" not in mixed.header  # its bar is not to be read
    size = survey_arrays.published_size(run, PAIR)
    assert isinstance(size, Table)
    assert len(size.rows) == 12
    assert [row[0] for row in size.rows if row[0]] == [f"{words}, as printed" for words in ARRAYS.queries.values()]
    assert [*size.rows[9][1:2], *size.rows[9][4:]] == ["7 disks, RAID0", DASH, DASH], "its bar for mixed columns is not to be read"
    reads = survey_arrays.reads(run, PAIR)
    assert isinstance(reads, Table)
    assert len(reads.rows) == 24
    assert survey_arrays.verdicts(run).text.count("**H") == 5
    assert re.search(
        r"1\.0\d times as fast on indexed columns, 1\.1\d times as fast on non-.* and 2\.9\d times as fast on mixed columns: in no query",
        survey_arrays.one_or_six(run, PAIR).text,
    )


def test_the_chapter_on_placement_tells_whose_reads_they_are(run: Run) -> None:
    assert "with Detection on SSDs" in survey_placement.answer(run, PAIR).text
    table = survey_placement.whose_reads(run, PAIR)
    assert isinstance(table, Table)
    assert table.rows[2][1:] == ["1,000", "100", "100", "800", "10.0\u00a0%", "10.0\u00a0%", "80.0\u00a0%"]
    seconds = survey_placement.seconds(run, PAIR)
    assert isinstance(seconds, Table)
    assert len(seconds.rows) == 16
    assert survey_placement.verdicts(run).text.count("**H") == 7


def times(run: Run, shown: Shown) -> Figure | Sentence:
    label = f"fig-{shown.study.replace('_', '-')}-times"
    return cells.drawn(shown.study, run, label)[label]


@pytest.mark.parametrize("shown", [ARRAYS, PLACEMENT], ids=lambda shown: shown.study)
def test_every_query_is_drawn_with_its_rows(run: Run, shown: Shown) -> None:
    drawn = times(run, shown)
    assert isinstance(drawn, Figure)
    assert len(drawn.rows) == run.query(f"select count(*) as n from {shown.study}")["n"][0] > 0
    assert f"n = {len(drawn.rows)} queries" in drawn.caption
    assert "**emulated**" in drawn.caption
    assert '"filled": false' not in drawn.chart.to_json(), "no repeat is rejected, so that none is ringed"
    assert drawn.bundle()["image/svg+xml"].startswith("<svg")


def test_without_rows_the_chapters_say_so(tmp_path: Path) -> None:
    make_run(tmp_path)
    run = open_run(RUN_ID, tmp_path)
    shown = [
        survey_arrays.answer(run, PAIR),
        survey_arrays.reads(run, PAIR),
        survey_arrays.one_or_six(run, PAIR),
        survey_arrays.published_size(run, PAIR),
        survey_arrays.hunt(run, PAIR),
        survey_arrays.hunt_found(run, PAIR),
        *cells.drawn("survey_arrays", run).values(),
        *cells.drawn("survey_placement", run).values(),
        survey_placement.answer(run, PAIR),
        survey_placement.seconds(run, PAIR),
        survey_placement.whose_reads(run, PAIR),
        survey_placement.index_orders(run, PAIR),
        survey_placement.slower_indexes(run, PAIR),
    ]
    assert all(isinstance(one, Sentence) for one in shown)
    assert verdict(run, "H8") is verdict(run, "H2") is Verdict.NOT_MEASURED


def test_flagged_queries_are_ringed_and_no_time_is_reported_of_them(tmp_path: Path) -> None:
    rows = pl.concat([array_rows(), placement_rows()])
    save_run(tmp_path, rows.with_columns(flags=pl.lit(["overshoot"])))
    run = open_run(RUN_ID, tmp_path)
    for shown, answer in ((ARRAYS, survey_arrays.answer), (PLACEMENT, survey_placement.answer)):
        assert answer(run, PAIR).text.startswith("**No answer yet** from this run"), shown.study
        drawn = times(run, shown)
        assert isinstance(drawn, Figure)
        assert set(drawn.rows["flags"]) == {"overshoot"}
        assert '"filled": false' in drawn.chart.to_json()
        assert "a ring marks a rejected observation" in drawn.caption
    reads = survey_arrays.reads(run, PAIR)
    assert isinstance(reads, Table)
    assert {tuple(row[-2:]) for row in reads.rows} == {(DASH, DASH)}, "no rate and no time; pages are pages"
    assert {row[3] for row in reads.rows} == {"900"}
    assert isinstance(survey_placement.index_orders(run, PAIR), Sentence)
