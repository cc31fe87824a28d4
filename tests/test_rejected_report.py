"""A run in which nearly all is rejected, through every chapter: nothing of it is presented as found, ranked or advised on."""

import ast
import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rejected_run import RUN_ID, rejected_run
from tierwise.advisor import advice, other_devices, service
from tierwise.analysis.quality import never_accepted, rejections
from tierwise.analysis.views import open_views
from tierwise.core import paths
from tierwise.core.vocabulary import Evidence
from tierwise.report.display import Figure, Missing, Sentence, Table
from tierwise.report.run import open_run
from tierwise.report.values import front

CHAPTERS = sorted((paths.home() / "notebooks").glob("show-*.ipynb"))
Shown = dict[tuple[str, str], Sentence | Table | Figure | Missing]  # (chapter, source of the cell) -> what it shows


def shown(notebook: Path) -> Shown:
    names: dict[str, Any] = {}
    found: Shown = {}
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] != "code":
            continue
        *before, last = ast.parse(source).body
        exec(compile(ast.Module([*before, *([] if isinstance(last, ast.Expr) else [last])], []), notebook.stem, "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), notebook.stem, "eval"), names)
            assert isinstance(value, Sentence | Table | Figure | Missing), source
            found[notebook.stem, source] = value
    return found


def everything(raw: Path, seed: int | None = None) -> Shown:
    rejected_run(raw, seed=seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIERWISE_RAW", str(raw))
        for module, name, fewer in ((other_devices, "REPLAYS", 1), (service, "REPLAYS", 1), (advice, "MINIMUM_REPEATS", 2)):
            patch.setattr(module, name, fewer)  # for no number is read
        return {key: value for notebook in CHAPTERS for key, value in shown(notebook).items()}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    return everything(tmp_path_factory.mktemp("rejected"))


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    return everything(tmp_path_factory.mktemp("other"), seed=3)


def text_of(value: Sentence | Table | Figure | Missing) -> str:
    if isinstance(value, Sentence):
        return value.text
    return f"{value.markdown()}\n{value.caption}" if isinstance(value, Table) else value.caption


@pytest.mark.soak  # for the second report
def test_no_number_that_is_reported_hangs_on_the_few_clean_times(report: Shown, other: Shown) -> None:
    """Sentences and tables are the same whatever the clean times are: so none of them is an estimate of these."""
    assert report.keys() == other.keys()
    for key, value in report.items():
        if not isinstance(value, Figure):
            assert text_of(value) == text_of(other[key]), key


@pytest.mark.soak
def test_no_figure_draws_an_estimate_of_them(report: Shown, other: Shown) -> None:
    """A chart of live rows shows every observation, ringed where it is rejected, and neither a median nor a mean with its interval."""
    drawn = {key: value for key, value in report.items() if isinstance(value, Figure) and value.rows.height}
    others = {key: found for key in drawn if isinstance(found := other[key], Figure)}
    by_design = {"fig-zipf-fill"}  # of one trace, and said so
    differing = [key for key, found in others.items() if not drawn[key].rows.equals(found.rows) and _label(key) not in by_design]
    shown = {"fig-times", "fig-wal-rates", "fig-survey-arrays-times", "fig-survey-placement-times"}
    assert {_label(key) for key in differing} == shown
    for key in differing:
        chart = drawn[key].spec()
        marks = re.findall(r'"mark": ({[^}]*})', json.dumps(chart))
        assert marks
        assert not [mark for mark in marks if json.loads(mark)["type"] in {"tick", "rule", "text"}], key
        assert '"aggregate"' not in json.dumps(chart)


def _label(key: tuple[str, str]) -> str:
    return str(re.findall(r"label: (\S+)", key[1])[0])


def test_rejected_rows_are_counted_by_evidence(tmp_path: Path) -> None:
    rejected_run(tmp_path)
    with open_views(tmp_path, RUN_ID) as connection:
        found = {one.evidence: one for one in rejections(connection)}
    assert found[Evidence.SIMULATED].rejected == 0
    assert found[Evidence.EMULATED].share == pytest.approx(0.8, abs=0.01)


def test_the_first_page_counts_measurements_that_were_rejected_in_all_replicates(tmp_path: Path) -> None:
    folder = rejected_run(tmp_path)
    with open_views(tmp_path, RUN_ID) as connection:
        assert never_accepted(connection) == {}, "one replicate is clean"
    rows = pl.read_parquet(folder / "timings.parquet")
    trial = rows.filter(study="wal_placement", clock="virtual-several")["trial"][0]
    log = (pl.col("study") == "wal_placement") & (pl.col("trial") == trial)
    rows.with_columns(flags=pl.when(log).then(pl.lit(["cpu"])).otherwise("flags")).write_parquet(folder / "timings.parquet")
    with open_views(tmp_path, RUN_ID) as connection:
        assert never_accepted(connection) == {"wal_placement": 1}
    values = front.values(open_run(RUN_ID, tmp_path))
    assert values["all_rejected"] == 1
