"""A run made small for git, and found again by the name that it ships under."""

import json
from pathlib import Path

import polars as pl
import pytest

from report_run import RUN_ID, rich_run
from tierwise.analysis.verdicts import judge
from tierwise.core.errors import InputError
from tierwise.pipeline import named_run, rows_of
from tierwise.timings import export as exporting
from tierwise.timings.export import SAMPLE, export
from tierwise.timings.manifest import load_manifest
from tierwise.timings.store import read_rows


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return rich_run(tmp_path / "raw")


def test_a_small_run_is_copied_whole_and_judged_alike(run: Path, tmp_path: Path) -> None:
    made = export(run, tmp_path / "reference")
    assert read_rows(made).equals(read_rows(run))
    assert load_manifest(made) == load_manifest(run)
    assert judge(made.parent, RUN_ID) == judge(run.parent, RUN_ID)


def test_many_rows_become_a_seeded_sample_that_gives_no_verdict(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "MOST_ROWS", 50)
    rows = read_rows(export(run, tmp_path / "one"))
    assert len(rows) == 50
    assert all(SAMPLE in flags for flags in rows["flags"])
    assert rows["sequence"].is_sorted()
    keys = ["trial", "block", "step"]
    assert len(rows.join(read_rows(run).drop("flags"), on=keys, how="inner")) == 50  # real rows, none changed
    assert read_rows(export(run, tmp_path / "two")).equals(rows)
    assert not read_rows(export(run, tmp_path / "three", seed=2)).equals(rows)
    assert all(verdict.verdict not in ("confirmed", "contradicted") for verdict in judge(tmp_path / "one", RUN_ID))


def test_what_is_too_large_for_git_or_not_complete_is_refused_without_a_trace(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "FILE_BYTES", 1_000)
    with pytest.raises(InputError, match="size_bytes"):
        export(run, tmp_path / "reference")
    load_manifest(run).model_copy(update={"status": "running"}).save(run)
    with pytest.raises(InputError, match="is not complete"):
        export(run, tmp_path / "reference")
    assert not (tmp_path / "reference" / RUN_ID).exists()


def test_the_run_that_ships_is_found_by_its_name(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    export(run, tmp_path / "data" / "reference")
    monkeypatch.setenv("TIERWISE_HOME", str(tmp_path))
    monkeypatch.delenv("TIERWISE_RAW", raising=False)
    with rows_of("reference"):
        assert named_run("reference").run_id == RUN_ID
    with pytest.raises(InputError, match="no such run"):
        named_run(RUN_ID)  # it lies in data/reference, not in data/raw


def test_without_a_run_that_ships_the_folder_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIERWISE_HOME", str(tmp_path))
    with pytest.raises(InputError, match="data/reference must hold one run; there are: none"), rows_of("reference"):
        named_run("reference")


def test_every_row_of_the_schema_survives(run: Path, tmp_path: Path) -> None:
    assert isinstance(json.loads(read_rows(export(run, tmp_path / "reference"))["proof"][0]), dict)
    assert pl.read_parquet(tmp_path / "reference" / RUN_ID / "timings.parquet").schema == read_rows(run).schema
