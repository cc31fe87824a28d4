"""The Zipfian reads, more RAM or flash: simulated alone, judged, shown; and live, cold, under a limit of memory that holds."""

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import cells
from emulation import need_fuse, new_folder
from support import SMOKE_RUN, measured, smoke_with
from tierwise.analysis.causes import Cause
from tierwise.analysis.rules import Verdict
from tierwise.analysis.views import open_views
from tierwise.bench.inputs import Inputs
from tierwise.bench.run_record import RunRecord
from tierwise.bench.runs import begin_run, complete
from tierwise.bench.simulation import simulate_on_pair
from tierwise.core import memory_group, paths
from tierwise.core.errors import EvidenceError, InputError, MissingError, TierwiseError
from tierwise.core.pairs import DirectoryTier, Pair, load_pair
from tierwise.core.profiles import load_profile, names
from tierwise.core.units import MIB
from tierwise.report.display import Figure, Missing
from tierwise.report.page import open_page
from tierwise.report.run import open_run
from tierwise.report.study_registry import judge_all
from tierwise.simulate.zipf import WINDOW_PAGES
from tierwise.studies.ram_or_ssd.measuring.live_reads import open_live
from tierwise.studies.ram_or_ssd.measuring.mapped_reads import PAGE_BYTES, Reading, read_mapped, started_reader, write_items
from tierwise.studies.ram_or_ssd.measuring.trials import (
    ADVICE,
    HOW_LIVE,
    HOW_MODEL,
    LIVE_INTERVALS,
    NAME,
    STUDY,
    LiveCell,
    simulate,
    trials,
)
from tierwise.tiers.reclaim import discard
from tierwise.timings.manifest import load_manifest
from tierwise.timings.parts import done_parts, read_rows, rows_so_far

SIZES_GIB = (2, 8, 16, 24, 32, 64)
SCALE = 4096


def inputs(*, replicates: int = 5, sizes_gib: tuple[int, ...] = SIZES_GIB) -> Inputs:
    """Return those of a run of the study alone, at a four-thousandth of the size."""
    grid = {"dataset_gib": sizes_gib, "scale": SCALE, "disk_scale": SCALE}
    profile = load_profile("smoke").model_copy(update={"replicates": replicates, "studies": {NAME: grid}})
    return Inputs(profile, (load_pair("source-r"),), None, 1, "18.0")


@pytest.mark.parametrize("name", names())
def test_every_profile_asks_for_the_sizes_of_r1_to_r4_on_both_drives(name: str) -> None:
    profile = load_profile(name)
    cells = [trial.cell for trial in trials(profile, load_pair("source-r"))]
    assert {(tier, size) for tier in ("hdd", "ssd") for size in (32, 64)} <= {(cell.tier, cell.dataset_gib) for cell in cells}
    scales = {"smoke": (64, 64), "quick": (64, 32), "full": (4, 4)}[name]
    assert {(cell.tier, cell.scale) for cell in cells} == set(zip(("ssd", "hdd"), scales, strict=True))


def test_equal_seeds_give_equal_series_of_120_points() -> None:
    pair = load_pair("source-r")
    trial = trials(inputs().profile, pair)[0]
    series = [[timing.result_rows for timing in simulate(trial, pair, seed)] for seed in (1, 1, 2)]
    assert series[0] == series[1] != series[2]
    assert len(series[0]) == 120


def test_a_directory_cannot_be_simulated() -> None:
    pair = load_pair("source-r")
    real = pair.model_copy(update={"tiers": {**pair.tiers, "ssd": DirectoryTier(kind="directory", directory="x")}})
    trial = next(trial for trial in trials(inputs().profile, pair) if trial.cell.tier == "ssd")
    with pytest.raises(InputError, match="needs a device"):
        next(simulate(trial, real, 1))


def test_a_killed_run_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIERWISE_RAW", str(tmp_path))
    gathered = inputs(replicates=1, sizes_gib=(2, 8))
    folder = paths.raw() / begin_run(gathered, fresh=True).run_id
    simulated: list[str] = []

    def killed(trial, pair, seed):  # type: ignore[no-untyped-def]
        if len(simulated) == 3:
            raise KeyboardInterrupt
        simulated.append(trial.key)
        return simulate(trial, pair, seed)

    with pytest.raises(KeyboardInterrupt):
        simulate_on_pair(replace(STUDY, simulate=killed), gathered.pairs[0], gathered, RunRecord(folder), tmp_path / "work")
    assert len(done_parts(folder)) == 3
    assert load_manifest(folder).studies == ()
    simulate_on_pair(STUDY, gathered.pairs[0], gathered, RunRecord(folder), tmp_path / "work")
    assert len(done_parts(folder)) == 2 * 2
    assert [record.name for record in load_manifest(folder).studies] == [NAME]
    assert len(rows_so_far(folder, NAME)) == 120 * 2 * 2


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("raw")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIERWISE_RAW", str(folder))
        measured(NAME, inputs())
    return folder


def test_the_view_has_a_row_for_each_size_drive_and_seed(raw: Path) -> None:
    with open_views(raw) as connection:
        found = connection.sql("select count(*), min(reads_per_s / times_24_gib), count(distinct replicate) from ram_or_ssd").fetchall()
        at_24 = connection.sql("select min(reads_per_s) from ram_or_ssd where dataset_gib = '24'").fetchall()
        multiples = connection.sql("select distinct round(reads_per_s / multiple) from ram_or_ssd order by 1").fetchall()
        units = connection.sql(
            "select bool_and(misses <= reads and device_reads >= 0 and scale = ?) from ram_or_ssd_series", params=[SCALE]
        ).fetchall()
    assert found[0][0] == 5 * 2 * len(SIZES_GIB)
    assert found[0][1] == pytest.approx(at_24[0][0])
    assert found[0][2] == 5
    assert multiples == [(250,), (33_000,)]
    assert units == [(True,)]


def test_what_was_fitted_is_an_input_and_the_rest_is_judged(raw: Path) -> None:
    verdicts = {verdict.id: verdict for verdict in judge_all(raw) if verdict.source == "R" and verdict.kind != "cost"}
    assert {name: verdict.verdict for name, verdict in verdicts.items() if name in {"R1", "R3", "R5"}} == dict.fromkeys(
        ("R1", "R3", "R5"), Verdict.INPUT
    )
    assert {str(verdict.evidence) for verdict in verdicts.values() if verdict.estimate or verdict.facts} == {"simulated"}
    assert verdicts["R12"].verdict is Verdict.CONFIRMED
    assert verdicts["R7"].cause is Cause.STATED_RATE, "these few pages are not read as slowly as the source's disk reads"
    assert {verdicts["R8"].verdict, verdicts["R9"].verdict} == {Verdict.REPORTED}
    assert all(verdicts[name].estimate for name in ("R2", "R4", "R6"))


def test_the_chapter_shows_it(raw: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIERWISE_RAW", str(raw))
    run = open_run()
    for figure in cells.drawn("ram_or_ssd", run).values():
        assert isinstance(figure, Figure)
        assert "simulated" in figure.caption
        assert figure.chart.to_dict()
    page = open_page(run, "ram_or_ssd", "source-r")
    sizes = page.rows("fig-zipf-throughput").filter(how="simulated").select("drive", "dataset_gib").unique()
    assert sizes.height == 2 * len(SIZES_GIB)
    assert page.values["lead"] == pytest.approx(float(str(page.values["ssd_least"])) / float(str(page.values["hdd_least"])))
    assert isinstance(open_page(run, "ram_or_ssd", "source-m").exhibit("fig-zipf-throughput"), Missing)


ITEMS = 8 * 1024 + 1
PAIR = "source-r-live"
needs_group = pytest.mark.skipif(memory_group.obstacle() is not None, reason=str(memory_group.obstacle()))


def reading(path: Path, **changes: object) -> Reading:
    gathered = Reading(path, ITEMS, scale=64, threads=8, random=True, intervals=2, interval_s=0.1, seed=1)
    return replace(gathered, **changes)  # type: ignore[arg-type]


@pytest.fixture
def folder() -> Iterator[Path]:
    made = new_folder(Path("/var/tmp"))
    yield made
    discard(made)


def test_eight_threads_read_what_was_written_and_stop(folder: Path) -> None:
    write_items(folder / "items", ITEMS)
    samples = read_mapped(reading(folder / "items"))
    assert len(samples) == 3
    reads = [sample.reads for sample in samples]
    assert reads == sorted(reads)  # a sample that came late is followed at once by the next
    assert reads[-1] > 0
    assert samples[-1].wrong == 0
    assert (folder / "items").stat().st_size % PAGE_BYTES == 0


def test_threads_hold_no_lock_of_the_interpreter(folder: Path) -> None:
    """The lock would let one thread at a time read, and the sampling thread would not come round until they stop."""
    write_items(folder / "items", ITEMS)
    before = os.times()
    first, *_, last = read_mapped(reading(folder / "items", intervals=5))
    busy_s = os.times().user + os.times().system - before.user - before.system
    assert last.time_s - first.time_s < 5
    assert busy_s > 0.3 * (last.time_s - first.time_s)


def test_where_no_group_can_be_made_nothing_is_read_live_and_the_chapter_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_group, "obstacle", lambda: "not permitted here")
    with pytest.raises(MissingError, match="not permitted here"), memory_group.memory_group("x"):
        pass
    assert trials(load_profile("quick"), load_pair(PAIR)) == ()
    assert STUDY.describe(load_profile("quick"), load_pair(PAIR))["obstacle"] == "not permitted here"


def test_every_live_trial_has_the_sources_advice_and_its_model() -> None:
    if memory_group.obstacle():
        pytest.skip(str(memory_group.obstacle()))
    cells = [cell for trial in trials(load_profile("quick"), load_pair(PAIR)) if isinstance(cell := trial.cell, LiveCell)]
    assert {(cell.tier, cell.advice) for cell in cells if cell.how == HOW_LIVE} == set(ADVICE.items())
    windows = {tier: {cell.window_pages for cell in cells if cell.tier == tier and cell.how == HOW_MODEL} for tier in ADVICE}
    assert windows == {"hdd": {WINDOW_PAGES, 1}, "ssd": {1}, "disk": {1}}
    simulated = load_pair(PAIR).simulated()
    assert {trial.cell.tier for trial in trials(load_profile("quick"), simulated)} == {"disk"}


def disk_alone() -> Pair:
    pair = load_pair(PAIR)
    return pair.model_copy(update={"tiers": {"disk": pair.tiers["disk"]}})


def test_a_reading_process_that_was_killed_is_reported_with_a_remedy(folder: Path) -> None:
    with started_reader() as reader:
        os.kill(reader.pid, signal.SIGKILL)
        with pytest.raises(TierwiseError, match=r"the process that reads mapped files has ended.*Remedy: "):
            reader.read(reading(folder / "items", items=1024, intervals=1))


@needs_group
def test_a_live_reading_is_cold_and_keeps_to_its_limit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calibrations = {f"{PAIR}/disk": {"random_read_latency_s": 1e-4, "fault_s": 1e-6}}
    with open_live(disk_alone(), calibrations, work=folder, stretch=1.0, seed=1) as testbed:
        assert testbed.calibrations[f"{PAIR}/disk"] == calibrations[f"{PAIR}/disk"]  # taken once
        assert 1e-8 < testbed.calibrations[f"{PAIR}/processor"]["hit_s"] < 1e-4
        found = testbed.observe("disk", reading(Path(), items=16 * 1024, intervals=6), 4 * MIB)
        assert found.proof["resident_pages_at_first"] == 0
        assert 0 < int(found.proof["resident_pages_at_last"]) <= 5 * MIB // PAGE_BYTES
        assert found.samples[-1].major_faults > found.samples[0].major_faults
        reported = found.requests_between(found.samples[0], found.samples[-1])
        assert reported.reads is None
        assert (reported.read_bytes or 0) > 0
        roomy = testbed.observe("disk", reading(Path(), items=16 * 1024, intervals=6), 64 * MIB)
        assert int(roomy.proof["resident_pages_at_last"]) > 5 * MIB // PAGE_BYTES  # so it was the limit
        monkeypatch.setattr(memory_group.MemoryGroup, "limit", lambda *_: None)
        with pytest.raises(EvidenceError, match="not limited"):
            testbed.observe("disk", reading(Path(), items=16 * 1024, intervals=6), MIB)


@needs_group
def test_a_run_keeps_live_rows_and_their_models_and_the_chapter_shows_them(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_fuse()
    monkeypatch.setenv("TIERWISE_RAW", str(tmp_path))
    profile = load_profile("smoke").model_copy(update={"replicates": 1, "studies": {NAME: {"live": {"scale": SCALE}}}})
    gathered = Inputs(profile, (load_pair(PAIR),), None, 1, "18.0")
    run_folder = paths.raw() / begin_run(gathered, fresh=True).run_id
    simulate_on_pair(STUDY, gathered.pairs[0], gathered, RunRecord(run_folder), folder / "work")
    assert not (folder / "work").exists()
    run_id = complete(run_folder.name).run_id
    with open_views(tmp_path, run_id) as connection:
        found = connection.sql(
            "select tier, how, evidence, count(*), bool_and(reads_per_s > 0) from ram_or_ssd_live group by all"
        ).fetchall()
        rows = connection.sql("select count(*) from ram_or_ssd_series where how = 'live'").fetchall()
        assert connection.sql("select count(*) from ram_or_ssd").fetchall() == [(0,)]  # no verdict rests on them
    assert sorted(found) == [
        ("disk", "live", "measured", 1, True),
        ("disk", "model", "simulated", 1, True),
        ("hdd", "live", "emulated", 1, True),
        ("hdd", "model", "simulated", 2, True),
        ("ssd", "live", "emulated", 1, True),
        ("ssd", "model", "simulated", 1, True),
    ]
    assert rows == [(3 * 2 * LIVE_INTERVALS,)]
    page = open_page(open_run(), NAME, "source-r")
    assert page.own["live_before"] == 0


def test_a_flagged_live_run_is_left_out_of_the_means_and_counted(tmp_path: Path) -> None:
    reported = pl.col("cell").str.json_path_match("$.how").eq("live") & pl.col("cell").str.json_path_match("$.tier").eq("hdd")
    late = reported & (pl.col("replicate") == pl.col("replicate").filter(reported).min())
    calm = read_rows(SMOKE_RUN).with_columns(flags=pl.lit([], dtype=pl.List(pl.String)))
    noisy = calm.with_columns(
        flags=pl.when(late).then(pl.lit(["overshoot"])).otherwise("flags"),
        result_rows=pl.when(late).then(pl.col("result_rows") * 1000).otherwise("result_rows"),
    )
    for name, rows in (("calm", calm), ("noisy", noisy)):
        smoke_with(rows, tmp_path / name)
    pages = [open_page(open_run(SMOKE_RUN.name, tmp_path / name), NAME, "source-r") for name in ("calm", "noisy")]
    assert [(page.values["live_runs"], page.values["live_rejected"]) for page in pages] == [(15, 0), (15, 1)]
    whole, part = (page.values["live_late"] for page in pages)
    assert whole
    assert part, "the other tier still has five runs"
