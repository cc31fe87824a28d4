"""Notebooks import no other study, read their run's inputs, and say what to do where there is nothing to show."""

import ast
import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import nbformat
import polars as pl
import pytest
from papermill.inspection import inspect_notebook

import cells
from pgbench_rows import LARGE, SMALL, pgbench_rows
from report_run import RUN_ID, execute, rich_run
from rows import save_run
from support import SMOKE_RAW
from tierwise.advisor.ranking import gains_of
from tierwise.bench.inputs import Inputs
from tierwise.bench.loop import gather_inputs, inputs_of, requested_inputs, run_study
from tierwise.bench.runs import begin_run
from tierwise.bench.study_registry import fingerprints
from tierwise.core import paths, studies
from tierwise.core.errors import InputError
from tierwise.core.pairs import load_pair
from tierwise.core.vocabulary import IoMode
from tierwise.report.display import Figure
from tierwise.report.run import Run, open_run
from tierwise.report.values.workloads import gather
from tierwise.studies.wal_placement.reading.log_moves import PAIR as WAL_PAIR
from tierwise.timings.manifest import Manifest, load_manifest
from wal_rows import wal_rows

NOTEBOOKS = sorted((paths.home() / "notebooks").glob("*.ipynb"))
WITH_TOYS = [*NOTEBOOKS, *sorted((Path(__file__).parent / "toy_study" / "notebooks").glob("*.ipynb"))]
"""Also those of the smallest whole study, which others begin from."""
SHOWN = [path for path in NOTEBOOKS if path.name.startswith("show-")]


def code_cells(path: Path) -> list[nbformat.NotebookNode]:
    return [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]


def imported(path: Path) -> Iterator[str]:
    for cell in code_cells(path):
        for node in ast.walk(ast.parse(cell.source)):
            if isinstance(node, ast.Import):
                yield from (name.name for name in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield from (f"{node.module}.{name.name}" for name in node.names)


@pytest.mark.parametrize("path", WITH_TOYS, ids=lambda path: path.stem)
def test_a_notebook_imports_no_other_study_and_a_chapter_nothing_that_measures(path: Path) -> None:
    kind, _, name = path.stem.partition("-")
    modules = [module.split(".") for module in imported(path)]
    used = {module[2] for module in modules if module[:2] == ["tierwise", "studies"]}
    if name in studies.names() or name == "toy_x":
        assert used <= {name}
    assert len(used) <= 1, "a chapter of several studies finds them by `report.study_registry`"
    measuring = {"bench", "datasets", "measuring", "plan", "postgres", "recorders", "tiers"}
    if kind in {"show", "explore"}:
        assert not [module for module in modules if module[0] == "tierwise" and measuring & set(module)]


def test_a_chapter_without_rows_says_which_command_makes_them(raw: Path, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="make report"):
        execute(tmp_path, SHOWN[0])
    outputs = [output for cell in code_cells(tmp_path / SHOWN[0].name) for output in cell.outputs if output.output_type == "error"]
    (failed,) = outputs
    assert len(failed.traceback) == 1
    assert "make report" in failed.traceback[0]


def test_exploring_starts_from_the_newest_run_and_compares_it_with_the_one_before(raw: Path, tmp_path: Path) -> None:
    rich_run(raw)
    rich_run(raw, run_id="20260102-030405-quick-fedcba")
    execute(tmp_path, paths.home() / "notebooks" / "explore.ipynb")
    outputs = [output for cell in code_cells(tmp_path / "explore.ipynb") for output in cell.outputs if "data" in output]
    texts = ["".join(output.data.get("text/plain", "")) for output in outputs]
    assert finding(tmp_path / "explore.ipynb").count("\n| ") > 1, "the table of the first page"
    assert [text for text in texts if "everything on disks" in text]
    assert "ratio" in texts[-1]
    (beside,) = [
        output.text
        for cell in code_cells(tmp_path / "explore.ipynb")
        for output in cell.outputs
        if "compared with" in output.get("text", "")
    ]
    assert beside.startswith(f"run `20260102-030405-quick-fedcba` compared with run `{RUN_ID}`")


def finding(executed: Path) -> str:
    first = next(output for cell in code_cells(executed) for output in cell.outputs if "text/markdown" in output.get("data", {}))
    return str(first.data["text/markdown"])


@pytest.mark.soak
def test_the_frames_of_exploring_come_to_the_finding_and_mix_no_cached_rows_with_cold_ones(kept: Run) -> None:
    names: dict[str, Any] = {}
    for cell in cells.code_of("explore"):
        exec(cell.source, names)
    gains = [gain.estimate.value for one in gather(kept) for gain in gains_of(one)]
    assert gains
    assert sorted(names["means"]["left"]) == pytest.approx(sorted(value for value in gains if value))
    assert set(names["compared"]["cache"]) == {"cold"}
    joined = "timings semi join index_placement_heat using (pair, trial, replicate, step)"
    caches = f"select distinct cache from {joined} where study = 'index_placement'"
    assert kept.query(caches)["cache"].to_list() == ["cold"]


def drawn_points(spec: Mapping[str, Any]) -> list[str]:
    sliders = [param for param in spec.get("params", ()) if isinstance(param.get("bind"), dict)]
    return sorted(json.dumps(row, sort_keys=True) for rows in (*spec["datasets"].values(), sliders) for row in rows)


CHANGES: Final[tuple[tuple[str, dict[str, Any], set[str]], ...]] = (
    ("paper", {"PRICES": {"hdd-enterprise": 100}}, {"fig-cost-break-evens"}),
    ("summary", {"SOURCE": "M"}, {"fig-verdicts"}),
    ("validation", {"LOAD": "pgbench"}, {"fig-memory-map"}),
    ("index_placement", {"DEVICES": {"hdd": "exos-x24-24tb"}}, {"fig-placements", "fig-times", "fig-ratios"}),
    ("index_placement", {"CACHE": "hot"}, {"fig-placements"}),
    ("pgbench_placement", {"CLIENTS": 1}, {"fig-pgbench-gains"}),
    ("pgbench_placement", {"SCRIPT": "simple-update"}, {"fig-pgbench-gains"}),
    ("pgbench_placement", {"MEMORY": 0.5}, {"fig-pgbench-gains"}),
    ("read_latency", {"MEMORY": False}, {"fig-read-histograms"}),
    ("ram_or_ssd", {"SSD": "kingston-dc600m"}, {"fig-zipf-throughput"}),
    ("survey_arrays", {"DEVICES": {"ssd": "kingston-dc600m"}}, {"fig-survey-arrays-times"}),
    ("survey_placement", {"DEVICES": {"hdd": "exos-x24-24tb"}}, {"fig-survey-placement-times"}),
    ("cost", {"PRICES": {"hdd-enterprise": 100}}, {"fig-cost-delivered", "fig-cost-break-evens"}),
    ("wal_placement", {"PLACES": ["cached", "ssd"]}, {"fig-wal-rates"}),
    ("answer", {"DEVICES": {"ssd": "kingston-dc600m"}}, {"fig-answer"}),
    ("answer", {"PAIR": "source-h", "DEVICES": {"hdd": "exos-x24-24tb"}}, {"fig-answer"}),
)
"""A chapter, parameters with other values, and the figures that then draw something else."""
FIRST_AND_OTHERS: Final = [  # `make test` changes the first parameter of each chapter
    pytest.param(*change, marks=pytest.mark.soak) if change[0] in {name for name, *_ in CHANGES[:number]} else change
    for number, change in enumerate(CHANGES)
]
Drawn = dict[str, list[str]]  # label -> what a chart draws
OTHER_LOADS: Final = frozenset({"CLIENTS", "MEMORY", "SCRIPT"})  # parameters that choose another load of pgbench than the judged one


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Provide the smoke run of the tests, where a notebook finds it as the newest one; its verdicts are known to every kernel."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIERWISE_RAW", str(SMOKE_RAW))
        patch.setenv("TIERWISE_SITE", str(tmp_path_factory.mktemp("site") / "_site"))
        yield open_run()


@pytest.mark.parametrize("chapter", [name for path in SHOWN if cells.labels(name := path.stem.removeprefix("show-"))])
def test_every_parameter_of_a_chapter_that_draws_a_chart_changes_one(chapter: str) -> None:
    parameters = inspect_notebook(str(paths.home() / "notebooks" / f"show-{chapter}.ipynb")).keys() - {"RUN_ID"}
    assert parameters
    assert parameters == set().union(*(changed for name, changed, _ in CHANGES if name == chapter)), "add a row to CHANGES"


@pytest.fixture
def charted(chapter: str, parameters: dict[str, Any], kept: Run, tmp_path: Path) -> Run:
    """Return the smoke run of the tests; fabricated rows of a study that it was made before, or whose other loads it has not."""
    if chapter == "wal_placement" and not kept.record(chapter, WAL_PAIR):
        rows, pair = wal_rows(), WAL_PAIR
    elif parameters.keys() & OTHER_LOADS and chapter == "pgbench_placement":
        other = {name.lower(): value for name, value in parameters.items()}
        rows, pair = (
            pl.concat(pgbench_rows(tps, mix=mix, io_mode=IoMode.BUFFERED) for tps, mix in ((LARGE, {}), (SMALL, other))),
            "source-v",
        )
    else:
        return kept
    folder = save_run(tmp_path, rows)
    load_manifest(folder).model_copy(update={"pairs": {pair: load_pair(pair).model_dump(mode="json")}}).save(folder)
    return open_run(folder.name, tmp_path)


@pytest.mark.parametrize(("chapter", "parameters", "changing"), FIRST_AND_OTHERS)
def test_a_changed_parameter_changes_the_chart(
    chapter: str, parameters: dict[str, Any], changing: set[str], charted: Run, before: Drawn
) -> None:
    after = drawn(chapter, charted, **parameters)
    assert {label for label, points in before.items() if points != after.get(label)} == changing


@pytest.fixture
def before(chapter: str, charted: Run, kept: Run, kept_drawn: Callable[[str], Drawn]) -> Drawn:
    return kept_drawn(chapter) if charted is kept else drawn(chapter, charted)


@pytest.fixture(scope="module")
def kept_drawn(kept: Run) -> Callable[[str], Drawn]:
    return cache(lambda chapter: drawn(chapter, kept))


def drawn(chapter: str, run: Run, **parameters: Any) -> Drawn:
    shown = cells.drawn(chapter, run, **parameters)
    return {label: drawn_points(figure.spec()) for label, figure in shown.items() if isinstance(figure, Figure)}


@pytest.fixture
def begun(raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Inputs, Manifest]:
    monkeypatch.delenv("CENSUS", raising=False)
    (tmp_path / "mine.csv").write_text("rows")
    inputs = gather_inputs(profile="quick", tiers="today-server", seed=3, census=f"file:{tmp_path / 'mine.csv'}", sky="download")
    return inputs, begin_run(inputs, fresh=False)


def test_the_inputs_of_a_run_are_read_from_its_manifest_which_names_no_folder(
    begun: tuple[Inputs, Manifest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs, run = begun
    assert str(tmp_path) not in (tmp_path / "raw" / run.run_id / "manifest.json").read_text(encoding="utf-8")
    with pytest.raises(InputError, match=r"CENSUS.*has file:mine\.csv. Remedy: CENSUS=file:PATH"):
        inputs_of(run)
    monkeypatch.setenv("CENSUS", f"file:{tmp_path / 'mine.csv'}")
    assert inputs_of(run) == requested_inputs(run.run_id, profile="smoke") == inputs
    assert fingerprints(inputs_of(run)) == run.fingerprints


def test_a_run_whose_inputs_changed_since_it_began_takes_no_more_rows(
    begun: tuple[Inputs, Manifest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, run = begun
    monkeypatch.setenv("CENSUS", f"file:{tmp_path / 'mine.csv'}")
    (tmp_path / "mine.csv").write_text("other rows")
    with pytest.raises(InputError, match=f"RUN_ID is '{run.run_id}': source of census changed"):
        run_study("index_placement", run_id=run.run_id, profile="smoke")


def test_without_a_run_the_environment_names_the_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKY", "download")
    monkeypatch.setenv("CENSUS", "")
    assert requested_inputs(profile="smoke").sources == {"sky": "download"}
