"""The Zipfian reads: simulated alone, kept as raw rows, judged, shown."""

from dataclasses import replace
from pathlib import Path

import pytest

import cells
from tierwise.analysis.causes import Cause
from tierwise.analysis.rules import Verdict
from tierwise.analysis.views import open_views
from tierwise.bench.run_record import RunRecord
from tierwise.bench.runs import begin_run
from tierwise.bench.simulation import simulate_on_pair
from tierwise.core import paths
from tierwise.core.errors import InputError
from tierwise.core.pairs import DirectoryTier, load_pair
from tierwise.core.profiles import load_profile, names
from tierwise.report.display import Figure, Missing
from tierwise.report.page import open_page
from tierwise.report.run import open_run
from tierwise.report.study_registry import judge_all
from tierwise.studies.ram_or_ssd.measuring.trials import NAME, STUDY, simulate, trials
from tierwise.timings.manifest import load_manifest
from tierwise.timings.parts import done_parts, rows_so_far
from zipf_run import SCALE, SIZES_GIB, inputs, zipf_run


@pytest.mark.parametrize("name", names())
def test_every_profile_asks_for_the_sizes_of_r1_to_r4_on_both_drives(name: str) -> None:
    profile = load_profile(name)
    cells = [trial.cell for trial in trials(profile, load_pair("source-r"))]
    assert {(tier, size) for tier in ("hdd", "ssd") for size in (32, 64)} <= {(cell.tier, cell.dataset_gib) for cell in cells}
    scales = {"smoke": (64, 64), "quick": (64, 16), "full": (4, 4)}[name]
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
    gathered = inputs(replicates=1)
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
    assert len(done_parts(folder)) == 2 * len(SIZES_GIB)
    assert [record.name for record in load_manifest(folder).studies] == [NAME]
    assert len(rows_so_far(folder, NAME)) == 120 * 2 * len(SIZES_GIB)


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("raw")
    with pytest.MonkeyPatch.context() as patch:
        zipf_run(folder, patch)
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
