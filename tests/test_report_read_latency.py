"""The chapter on the latency study: what stands in its figure and tables, and that its sentences follow the verdicts."""

import shutil
from pathlib import Path

import polars as pl
import pytest

import cells
from kept_smoke import FOLDER
from latency_rows import AS_PUBLISHED, RUN, latency_run
from tierwise.report.display import Figure, Sentence, Table
from tierwise.report.formats import NBSP
from tierwise.report.run import Run, open_run
from tierwise.studies.read_latency.reading import chapter, figures
from tierwise.studies.read_latency.reading import chapter_why as why
from tierwise.timings.manifest import load_manifest

PAIR = "source-l"
LONE = [{"size_bytes": 8192, "latency_s": 1.08e-4}, {"size_bytes": 65536, "latency_s": 3.37e-4}]
MOVED = [
    {
        "tablespace": "ssd",
        "tier": tier,
        "evidence": "simulated",
        "reads": 30,
        "recorded_mean_s": 3e-4,
        "mean_s": mean_s,
        "median_s": mean_s,
    }
    for tier, mean_s in (("hdd", 5e-3), ("ssd", 1.1e-4))
]
ASSUMED = {
    "span_gib": 100.0,
    "shared_buffers_mib": 8.0,
    "table_mib": {"hdd": 256.0, "ssd": 64.0},
    "sessions": {"hdd": 4, "ssd": 2},
    "changing": {"hdd": 0.05, "ssd": 0.1},
}


def shown(raw: Path, monkeypatch: pytest.MonkeyPatch, **changed: dict[int, int]) -> Run:
    """Return a run of histograms like the published ones but for `changed`, with the facts that a study tells."""
    folder = latency_run(raw, {**AS_PUBLISHED, **changed})
    manifest = load_manifest(folder)
    facts = {"lone_reads": LONE, "elsewhere": MOVED, "assumed": ASSUMED}
    (study,) = manifest.studies
    manifest.model_copy(update={"studies": (study.model_copy(update={"facts": facts}),)}).save(folder)
    monkeypatch.setenv("TIERWISE_RAW", str(raw))
    return open_run(RUN)


def table(what: Table | Sentence) -> list[list[str]]:
    assert isinstance(what, Table)
    assert all(len(row) == len(what.header) for row in what.rows)
    return [[cell.replace(NBSP, " ") for cell in row] for row in what.rows]


def test_every_tablespace_has_a_panel_with_ours_and_the_published_bars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (figure,) = cells.drawn("read_latency", shown(tmp_path, monkeypatch)).values()
    assert isinstance(figure, Figure)
    spec = figure.spec()
    assert [panel["title"] for panel in spec["vconcat"]] == list(figures.SPACES.values())
    assert figure.rows.filter(how="published")["reads"].sum() == 2 * 14_534  # all, and by tablespace
    assert set(figure.rows["how"]) == {"here", "published"}


def test_modes_and_quantiles_stand_beside_the_published_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = shown(tmp_path, monkeypatch)
    modes = {(row[0], row[1]): row[3] for row in table(chapter.modes(run, PAIR))}
    assert modes["SSD mirror", "published"] == "262 to 524 µs (77.6 %); 1.05 to 2.10 ms (15.2 %)"
    assert modes["All reads", "published"].startswith("memory: 16.4 to 32.8 µs")
    assert "SSD: 262 to 524 µs" in modes["All reads", "here"]
    quantiles = {row[0]: row for row in table(chapter.quantiles(run, PAIR))}
    assert quantiles["RAID10 of disks"][3].endswith("(8.39 to 16.8 ms)"), "the published median"


def test_the_tenfold_stands_in_every_measure_of_both_histograms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = shown(tmp_path, monkeypatch)
    times = {(row[0], row[1]): row[4] for row in table(why.tenfold(run, PAIR))}
    assert times["Mean", "published"] == "9.27", "the source's 10-fold"
    assert times["Middle of the fullest bucket", "published"] == "16.0"
    assert times["Middle of the median's bucket", "published"] == "32.0"
    assert times["Middle of the median's bucket", "here"] == "32.0"
    told = why.tenfold_explained(run, PAIR).text.replace(NBSP, " ")
    assert "69 of 3,931 reads (66.3 % of their time) took 2.1 ms or longer there, 15 of 1,920 reads" in told


def test_the_replay_says_what_the_reads_would_have_cost_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (row,) = table(chapter.elsewhere(shown(tmp_path, monkeypatch), PAIR))
    assert row[0] == "SSD mirror"
    assert row[-2].startswith("5.00")
    assert row[-1].endswith("(its own)")


def test_each_window_shows_what_the_server_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = shown(tmp_path, monkeypatch)
    rows = table(chapter.conserved(run, PAIR))
    assert len(rows) == 5
    assert {row[5] for row in rows} == {"0.0 %"}
    assert "4 on `hdd`" in chapter.load_told(run, PAIR).text
    assert all(f"**L{number}.**" in chapter.verdicts(run).text for number in range(1, 11))


def test_where_reads_by_memory_are_rejected_those_of_each_tablespace_are_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads by memory come of real-time windows, the others of virtual-time ones: the smoke run, with two of its five real-time ones
    stalled.
    """
    folder = tmp_path / FOLDER.name
    shutil.copytree(FOLDER, folder)
    rows = pl.read_parquet(folder / "timings.parquet")
    real_time = (pl.col("study") == "read_latency") & (pl.col("clock") == "real") & (pl.col("replicate") < 2)
    assert rows.filter(real_time).height == 2
    stalled = pl.lit(["stalled"], dtype=pl.List(pl.String))
    rows.with_columns(flags=pl.when(real_time).then(stalled).otherwise("flags")).write_parquet(folder / "timings.parquet")
    monkeypatch.setenv("TIERWISE_RAW", str(tmp_path))
    run = open_run(FOLDER.name)
    assert {row[0] for row in table(chapter.modes(run, PAIR))} == {"SSD mirror", "RAID10 of disks", "System's drives"}
    (drawn,) = cells.drawn("read_latency", run).values()
    assert isinstance(drawn, Figure)
    assert set(drawn.rows.filter(how="here")["tablespace"]) == {"ssd", "hdd", "aux"}


def test_without_a_row_every_part_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = shown(tmp_path, monkeypatch)
    assert isinstance(figures.histograms(run, "local", figures.counted(run, "local")), Sentence)
    parts = [chapter.modes, chapter.quantiles, chapter.conserved, chapter.load_told]
    for part in (*parts, why.ssd_explained, why.spike_explained, why.tenfold, why.tenfold_explained, why.memory_told):
        assert isinstance(part(run, "local"), Sentence)
