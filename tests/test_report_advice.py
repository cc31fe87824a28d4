"""The page of advice: every number is drawn from rows, and a run without placements shows none."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from advice_run import counts_run, record_counts
from tierwise.core.vocabulary import Evidence
from tierwise.report.display import Missing
from tierwise.report.page import Page, open_shared
from tierwise.report.run import open_run
from tierwise.report.values.advice import errors, example

LABELS = ("tbl-strategies", "tbl-advice-regret")


@pytest.fixture
def raw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TIERWISE_RAW", str(tmp_path))
    return tmp_path


@pytest.fixture
def page(raw: Path) -> Iterator[Page]:
    record_counts(counts_run(raw), {"pob": [3, 900], "census": list(range(0, 9000, 3))})
    yield (shown := open_shared(open_run(), "advice"))
    shown.run.store.close()


def test_each_other_placement_is_predicted(page: Page) -> None:
    found = example(page.run)
    off = errors(found)
    assert off.keys() == {"all hdd", "indexes ssd", "tables ssd"}
    assert found.workload is not None
    for name, error in off.items():
        measured = found.workload.replayed[name]
        predicted_s = found.predicted_s(measured.placement)
        assert predicted_s is not None
        assert predicted_s / (measured.estimate.value or 0.0) - 1 == pytest.approx(error)


def test_the_advice_is_the_measured_placement_where_it_fits_and_the_best_of_all_where_not(page: Page) -> None:
    rows = page.rows("tbl-advice-regret")
    assert rows["ssd_bytes"].is_sorted()
    searched = rows.filter(chosen_by=str(Evidence.SIMULATED))
    assert searched.height
    assert searched["regret"].to_list() == pytest.approx([0.0] * searched.height, abs=1e-9)
    assert rows["chosen_by"][-1] == Evidence.EMULATED
    assert "census" in rows["on_ssd"][-1]


def test_placements_are_ranked_by_time(page: Page) -> None:
    rows = page.rows("tbl-strategies")
    assert rows["job_rank"].to_list() == [1, 2, 3, 4]
    assert rows["job_s"].is_sorted()
    assert rows["placement"][0] == "all on SSD"
    assert rows["evidence"].unique().to_list() == [Evidence.EMULATED]


def test_a_run_without_placements_shows_none(raw: Path) -> None:
    path = counts_run(raw) / "timings.parquet"
    pl.read_parquet(path).with_columns(study=pl.lit("another")).write_parquet(path)
    page = open_shared(open_run(), "advice")
    assert all(isinstance(page.exhibit(label), Missing) for label in LABELS)
    assert page.own["answered"] is False
