"""The chapters on the survey and on read latency say what their rows say, and say so where there are none."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import cells
from cells import table_of
from latency_rows import AS_PUBLISHED, RUN, latency_run
from rows import make_run, save_run, study_record
from support import SMOKE_RUN, smoke_with
from survey_rows import ARRAYS_S, PLACEMENT_S, RUN_ID, array_rows, placement_rows
from tierwise.analysis.causes import Cause
from tierwise.analysis.claims import load_claims
from tierwise.analysis.rules import Verdict
from tierwise.report.display import Figure, Missing, Sentence
from tierwise.report.formats import DASH
from tierwise.report.page import Page, open_page
from tierwise.report.run import Run, open_run
from tierwise.studies.read_latency.reading.histograms import SPACES
from tierwise.timings.manifest import load_manifest

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
    facts: dict[str, Any] = {"published_bytes": 141e9, **{query: hunt(query) for query in ARRAYS_S}}
    placement: dict[str, Any] = {
        **PLACEMENT_S,
        "io_share": {"join_single": {"detection": 0.8}},
        "on_ssd": {"index_ssd": ["source_ra", "source_dec"]},
        "touched": {"join_single": {"source": 100, "detection": 800, "source_ra": 99, "source_dec": 1}},
    }
    records = study_record("survey_arrays", PAIR, **facts), study_record("survey_placement", PAIR, **placement)
    manifest.model_copy(update={"studies": records}).save(folder)
    return open_run(RUN_ID, tmp_path)


def verdict(run: Run, claim: str) -> Verdict:
    return next(found.verdict for found in run.verdicts if found.id == claim)


@pytest.fixture
def rates_met(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the models meet every stated rate: these rows have the source's seconds, but few pages."""
    monkeypatch.setattr("tierwise.analysis.rates.WITHIN", float("inf"))


@pytest.mark.usefixtures("rates_met")
def test_orders_are_judged_and_inferred_numbers_are_not(run: Run) -> None:
    assert {claim: verdict(run, claim) for claim in ("H8", "H9", "H10", "H12")} == dict.fromkeys(
        ("H8", "H9", "H10", "H12"), Verdict.CONFIRMED
    )
    assert {claim.id: claim.bounds_text for claim in run.verdicts}["H9"].startswith("each of the 4 ratios")
    assert {verdict(run, claim) for claim in ("H1", "H2", "H3", "H4", "H5", "H6", "H7", "H14")} == {Verdict.REPORTED}
    assert not [claim.id for claim in load_claims().claims if claim.id in INFERRED and (claim.bounds or claim.orders)]


def test_a_model_that_misses_a_stated_rate_decides_nothing(run: Run) -> None:
    assert {found.cause for found in run.verdicts if found.id in {"H8", "H12"}} == {Cause.STATED_RATE}


@pytest.mark.usefixtures("rates_met")
def test_the_opposite_order_contradicts(tmp_path: Path) -> None:
    same_everywhere = {query: {**by_tier, "ssd": 100.0, "ssd_raid5": 130.0} for query, by_tier in ARRAYS_S.items()}
    quick_indexes = {
        query: {**found, "index_ssd": found["all_hdd"] / 2, "source_ssd": found["all_hdd"]} for query, found in PLACEMENT_S.items()
    }
    save_run(tmp_path, pl.concat([array_rows(same_everywhere), placement_rows(quick_indexes)]))
    run = open_run(RUN_ID, tmp_path)
    assert verdict(run, "H10") is verdict(run, "H12") is Verdict.CONTRADICTED
    assert verdict(run, "H8") is Verdict.CONFIRMED
    assert verdict(run, "H9") is Verdict.CONTRADICTED


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


def page(run: Run, study: str) -> Page:
    return open_page(run, study, PAIR)


def rows_of(run: Run, study: str, label: str) -> list[list[str]]:
    return cells.table_of(page(run, study), label)


def test_the_chapter_on_arrays_shows_gains_and_how_near_the_ways_of_reading_come(run: Run) -> None:
    found = page(run, "survey_arrays").values
    assert found["non_indexed_one"] == pytest.approx(3000 / 293, rel=0.02)
    assert found["six_most"] == pytest.approx(3000 / 255, rel=0.02)
    over_one = {query: found[f"{query}_six_over_one"] for query in ARRAYS_S}
    assert over_one == pytest.approx({"indexed": 150 / 140, "non_indexed": 293 / 255, "mixed": 305 / 104}, rel=0.02)
    torn = "fragmented, 100 % of the requests elsewhere"
    assert (found["ways"], found["nearest"], found["all_alike"]) == (2, torn, 1)
    assert found["nearest_off"] == pytest.approx(1.13, rel=0.01)
    assert len(rows_of(run, "survey_arrays", "tbl-survey-arrays-reads")) == 12
    claims = [f"H{number}" for number in (1, 2, 3, 8, 12, 13, 20, 21, 22, 23, 24)]
    assert [row[0] for row in rows_of(run, "survey_arrays", "tbl-survey-arrays-claims")] == claims


def test_the_chapter_on_placement_shows_gains_whose_reads_they_are_and_verdicts(run: Run) -> None:
    found = page(run, "survey_placement").values
    assert found["detection_most"] == pytest.approx(11.0, rel=0.05)
    assert found["indexes_gaining"] == 0
    assert (found["indexes_slower"], found["scan_pages"]) == (4, 1000)
    seconds = rows_of(run, "survey_placement", "tbl-survey-placement-seconds")
    assert len(seconds) == 16
    assert [row[5] for row in seconds[8:12]] == [DASH, "10.0 %", "10.0 %", "80.0 %"]
    assert seconds[8][3] == "1"
    assert seconds[11][-1] == "9.78", "1,271 s over 130 s"
    claims = [f"H{number}" for number in (4, 5, 6, 7, 9, 10, 11, 14, 19, 26)]
    assert [row[0] for row in rows_of(run, "survey_placement", "tbl-survey-placement-claims")] == claims


STUDIES = ("survey_arrays", "survey_placement")


def times(run: Run, study: str) -> Figure | Sentence:
    label = f"fig-{study.replace('_', '-')}-times"
    return cells.drawn(study, run, label)[label]


@pytest.mark.parametrize("study", STUDIES)
def test_every_query_is_drawn_with_its_rows(run: Run, study: str) -> None:
    drawn = times(run, study)
    assert isinstance(drawn, Figure)
    printed = " where form = 'printed'" if study == "survey_arrays" else ""
    assert len(drawn.rows) == run.query(f"select count(*) as n from {study}{printed}")["n"][0] > 0
    assert f"n = {len(drawn.rows)} queries" in drawn.caption
    assert "**emulated**" in drawn.caption
    assert '"filled": false' not in drawn.chart.to_json(), "no repeat is rejected, so that none is ringed"
    assert drawn.bundle()["image/svg+xml"].startswith("<svg")


def test_without_rows_the_chapters_say_so(tmp_path: Path) -> None:
    make_run(tmp_path)
    run = open_run(RUN_ID, tmp_path)
    for study in STUDIES:
        assert isinstance(times(run, study), Missing)
        assert page(run, study).own["answered"] is False
    assert isinstance(page(run, "survey_arrays").exhibit("tbl-survey-arrays-reads"), Missing)
    assert verdict(run, "H8") is verdict(run, "H2") is Verdict.NOT_MEASURED


def test_flagged_queries_are_ringed_and_no_time_is_reported_of_them(tmp_path: Path) -> None:
    rows = pl.concat([array_rows(), placement_rows()])
    save_run(tmp_path, rows.with_columns(flags=pl.lit(["overshoot"])))
    run = open_run(RUN_ID, tmp_path)
    for study in STUDIES:
        drawn = times(run, study)
        assert isinstance(drawn, Figure)
        assert set(drawn.rows["flags"]) == {"overshoot"}
        assert '"filled": false' in drawn.chart.to_json()
        assert page(run, study).own["answered"] is False
    reads = rows_of(run, "survey_arrays", "tbl-survey-arrays-reads")
    assert {tuple(row[-2:]) for row in reads} == {(DASH, DASH)}, "no rate and no time; pages are pages"
    assert {row[3] for row in reads} == {"900"}
    assert isinstance(page(run, "survey_placement").exhibit("tbl-survey-placement-seconds"), Missing)


SOURCE_L = "source-l"
LONE = [{"size_bytes": 8192, "latency_s": 1.08e-4}, {"size_bytes": 65536, "latency_s": 3.37e-4}]
ASSUMED = {
    "span_gib": 100.0,
    "shared_buffers_mib": 8.0,
    "table_mib": {"hdd": 256.0, "ssd": 64.0},
    "sessions": {"hdd": 4, "ssd": 2},
    "changing": {"hdd": 0.05, "ssd": 0.1},
}


def shown(raw: Path, pair: str = SOURCE_L, **changed: dict[int, int]) -> Page:
    """Return the page of a run with histograms like the published ones but for `changed`, with the facts that a study reports."""
    variants = {"records": {space: AS_PUBLISHED[space] for space in ("ssd", "hdd", "aux")}}
    folder = latency_run(raw, {**AS_PUBLISHED, **changed}, variants=variants)
    manifest = load_manifest(folder)
    facts = {"lone_reads": LONE, "assumed": ASSUMED}
    (study,) = manifest.studies
    manifest.model_copy(update={"studies": (study.model_copy(update={"facts": facts}),)}).save(folder)
    return open_page(open_run(RUN), "read_latency", pair)


def test_every_tablespace_has_a_panel_with_ours_and_the_published_bars(raw: Path) -> None:
    (figure,) = cells.drawn("read_latency", shown(raw).run).values()
    assert isinstance(figure, Figure)
    assert [panel["title"] for panel in figure.spec()["vconcat"]] == list(SPACES.values())
    assert figure.rows.filter(how="published")["reads"].sum() == 2 * 14_534  # all, and by tablespace


def test_the_variant_that_decides_gives_the_lead_of_the_ssd(raw: Path) -> None:
    page = shown(raw, ssd={17: 300})
    published, records = table_of(page, "tbl-read-remains")
    assert (published[1], published[5]) == ("77.6 %", "9.27")
    assert records[5].startswith("18.5")
    assert page.values["lead_records"] == pytest.approx(18.5, abs=0.1)
    assert page.values["lead_estimate"] == pytest.approx(58.4, abs=0.1), "of the windows, not of the records"
    claims = {row[0]: row[3] for row in table_of(page, "tbl-read-claims")}
    assert list(claims) == [f"L{number}" for number in range(1, 16)]
    assert claims["L4"].startswith("**undecided**"), "a read of the SSD takes less than half of the published time"


def test_the_text_has_the_load_and_the_server_s_own_count(raw: Path) -> None:
    values = shown(raw).values
    assert (values["windows"], values["apart"]) == (5, 0)
    assert (values["sessions"], values["sessions_hdd"], values["changing_ssd"], values["size_ssd_mib"]) == (6, 4, 10, 64)
    assert (values["fitting_kib"], values["slow_reads"]) == (64, 69)


def test_slower_tiers_leave_the_number_of_reads_that_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slowed window lasts longer by its clock, and its reads are recorded at the tiers' own pace."""
    found = []
    for slowdown in (1, 8):
        rows = pl.read_parquet(SMOKE_RUN / "timings.parquet")
        slowed = (pl.col("study") == "read_latency") & (pl.col("clock") != "real")
        assert rows.filter(slowed).height
        proof = pl.col("proof").str.replace(r"^\{", f'{{"slowdown": {slowdown}, ')
        changed = {"elapsed_s": pl.col("elapsed_s") * slowdown, "proof": proof}
        rows = rows.with_columns(pl.when(slowed).then(new).otherwise(name).alias(name) for name, new in changed.items())
        monkeypatch.setenv("TIERWISE_RAW", str(smoke_with(rows, tmp_path / str(slowdown)).parent))
        found.append(open_page(open_run(SMOKE_RUN.name), "read_latency", SOURCE_L).values["waiting_disks"])
    assert found[0]
    assert found[1] == pytest.approx(found[0])


def test_where_reads_by_memory_are_rejected_those_of_each_tablespace_are_shown(raw: Path) -> None:
    """Reads by memory come of real-time windows, of which two of five are stalled, the others of virtual-time ones."""
    rows = pl.read_parquet(SMOKE_RUN / "timings.parquet")
    real_time = (pl.col("study") == "read_latency") & (pl.col("clock") == "real") & (pl.col("replicate") < 2)
    assert rows.filter(real_time).height == 2
    stalled = pl.lit(["stalled"], dtype=pl.List(pl.String))
    smoke_with(rows.with_columns(flags=pl.when(real_time).then(stalled).otherwise("flags")), raw)
    page = open_page(open_run(SMOKE_RUN.name), "read_latency", SOURCE_L)
    (drawn,) = cells.drawn("read_latency", page.run).values()
    assert isinstance(drawn, Figure)
    assert set(drawn.rows.filter(how="here")["tablespace"]) == {"ssd", "hdd", "aux"}


def test_without_a_row_every_exhibit_says_so(raw: Path) -> None:
    page = shown(raw, "local")
    for label in ("fig-read-histograms", "tbl-read-remains"):
        assert isinstance(page.exhibit(label), Missing)
    assert page.own["answered"] is False
