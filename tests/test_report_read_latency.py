"""The chapter on the latency study: what is in its figure and tables, and the numbers of its text."""

import shutil
from pathlib import Path

import polars as pl
import pytest

import cells
from cells import table_of
from latency_rows import AS_PUBLISHED, RUN, latency_run
from support import SMOKE_RUN
from tierwise.report.display import Figure, Missing
from tierwise.report.page import Page, open_page
from tierwise.report.run import open_run
from tierwise.studies.read_latency.reading.histograms import SPACES
from tierwise.timings.manifest import load_manifest

PAIR = "source-l"
LONE = [{"size_bytes": 8192, "latency_s": 1.08e-4}, {"size_bytes": 65536, "latency_s": 3.37e-4}]
ASSUMED = {
    "span_gib": 100.0,
    "shared_buffers_mib": 8.0,
    "table_mib": {"hdd": 256.0, "ssd": 64.0},
    "sessions": {"hdd": 4, "ssd": 2},
    "changing": {"hdd": 0.05, "ssd": 0.1},
}


def shown(raw: Path, monkeypatch: pytest.MonkeyPatch, pair: str = PAIR, **changed: dict[int, int]) -> Page:
    """Return the page of a run with histograms like the published ones but for `changed`, with the facts that a study reports."""
    variants = {"records": {space: AS_PUBLISHED[space] for space in ("ssd", "hdd", "aux")}}
    folder = latency_run(raw, {**AS_PUBLISHED, **changed}, variants=variants)
    manifest = load_manifest(folder)
    facts = {"lone_reads": LONE, "assumed": ASSUMED}
    (study,) = manifest.studies
    manifest.model_copy(update={"studies": (study.model_copy(update={"facts": facts}),)}).save(folder)
    monkeypatch.setenv("TIERWISE_RAW", str(raw))
    return open_page(open_run(RUN), "read_latency", pair)


def test_every_tablespace_has_a_panel_with_ours_and_the_published_bars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (figure,) = cells.drawn("read_latency", shown(tmp_path, monkeypatch).run).values()
    assert isinstance(figure, Figure)
    assert [panel["title"] for panel in figure.spec()["vconcat"]] == list(SPACES.values())
    assert figure.rows.filter(how="published")["reads"].sum() == 2 * 14_534  # all, and by tablespace


def test_the_variant_that_decides_gives_the_lead_of_the_ssd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = shown(tmp_path, monkeypatch, ssd={17: 300})
    published, records = table_of(page, "tbl-read-remains")
    assert (published[1], published[5]) == ("77.6 %", "9.27")
    assert records[5].startswith("18.5")
    assert page.values["lead_records"] == pytest.approx(18.5, abs=0.1)
    assert page.values["lead_estimate"] == pytest.approx(58.4, abs=0.1), "of the windows, not of the records"
    claims = {row[0]: row[3] for row in table_of(page, "tbl-read-claims")}
    assert list(claims) == [f"L{number}" for number in range(1, 16)]
    assert claims["L4"].startswith("**undecided**"), "a read of the SSD takes less than half of the published time"


def test_the_text_has_the_load_and_the_server_s_own_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = shown(tmp_path, monkeypatch).values
    assert (values["windows"], values["apart"]) == (5, 0)
    assert (values["sessions"], values["sessions_hdd"], values["changing_ssd"], values["size_ssd_mib"]) == (6, 4, 10, 64)
    assert (values["fitting_kib"], values["slow_reads"]) == (64, 69)


def test_slower_tiers_leave_the_number_of_reads_that_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slowed window lasts longer by its clock, and its reads are recorded at the tiers' own pace."""
    found = []
    for slowdown in (1, 8):
        raw = tmp_path / str(slowdown)
        shutil.copytree(SMOKE_RUN, raw / SMOKE_RUN.name)
        rows = pl.read_parquet(SMOKE_RUN / "timings.parquet")
        slowed = (pl.col("study") == "read_latency") & (pl.col("clock") != "real")
        assert rows.filter(slowed).height
        proof = pl.col("proof").str.replace(r"^\{", f'{{"slowdown": {slowdown}, ')
        changed = {"elapsed_s": pl.col("elapsed_s") * slowdown, "proof": proof}
        rows.with_columns(pl.when(slowed).then(new).otherwise(name).alias(name) for name, new in changed.items()).write_parquet(
            raw / SMOKE_RUN.name / "timings.parquet"
        )
        monkeypatch.setenv("TIERWISE_RAW", str(raw))
        found.append(open_page(open_run(SMOKE_RUN.name), "read_latency", PAIR).values["waiting_disks"])
    assert found[0]
    assert found[1] == pytest.approx(found[0])


def test_where_reads_by_memory_are_rejected_those_of_each_tablespace_are_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads by memory come of real-time windows, of which two of five are stalled, the others of virtual-time ones."""
    folder = tmp_path / SMOKE_RUN.name
    shutil.copytree(SMOKE_RUN, folder)
    rows = pl.read_parquet(folder / "timings.parquet")
    real_time = (pl.col("study") == "read_latency") & (pl.col("clock") == "real") & (pl.col("replicate") < 2)
    assert rows.filter(real_time).height == 2
    stalled = pl.lit(["stalled"], dtype=pl.List(pl.String))
    rows.with_columns(flags=pl.when(real_time).then(stalled).otherwise("flags")).write_parquet(folder / "timings.parquet")
    monkeypatch.setenv("TIERWISE_RAW", str(tmp_path))
    page = open_page(open_run(SMOKE_RUN.name), "read_latency", PAIR)
    (drawn,) = cells.drawn("read_latency", page.run).values()
    assert isinstance(drawn, Figure)
    assert set(drawn.rows.filter(how="here")["tablespace"]) == {"ssd", "hdd", "aux"}


def test_without_a_row_every_exhibit_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = shown(tmp_path, monkeypatch, "local")
    for label in ("fig-read-histograms", "tbl-read-remains"):
        assert isinstance(page.exhibit(label), Missing)
    assert page.own["answered"] is False
