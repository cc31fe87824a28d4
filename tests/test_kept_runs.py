"""Runs that were measured by older versions, kept as they are: each version of the row format is opened, read, judged and reported."""

import json
import shutil
from pathlib import Path
from typing import Final

import polars as pl
import pytest

from checkout import Home, new_home
from tierwise.core.errors import InputError
from tierwise.report.rooms import judge_all
from tierwise.report.run import open_run
from tierwise.timings.manifest import load_manifest
from tierwise.timings.parts import TIMINGS, read_rows
from tierwise.timings.schema import SCHEMA
from tierwise.timings.traces import FOLDER, TraceKey, read_trace
from tierwise.timings.validation import READABLE

KEPT: Final = Path(__file__).parent / "kept_runs"
RUNS: Final = {2: KEPT / "20261120-222007-smoke-a9dcaf", 3: KEPT / "20261122-122530-smoke-e184a8"}
"""The shipped runs by version of the row format: the last of version 2, and the first of version 3."""


@pytest.fixture
def raw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The kept runs in a folder that may be written to."""
    shutil.copytree(KEPT, tmp_path / "raw")
    monkeypatch.setenv("TIERWISE_RAW", str(tmp_path / "raw"))
    return tmp_path / "raw"


def test_every_readable_version_has_its_run() -> None:
    assert set(RUNS) == set(READABLE)
    for version, folder in RUNS.items():
        assert pl.read_parquet(folder / TIMINGS)["schema_version"].unique().to_list() == [version]


@pytest.mark.parametrize("version", RUNS)
def test_it_is_opened_and_read_in_the_columns_of_today(raw: Path, version: int) -> None:
    folder = raw / RUNS[version].name
    manifest, rows = load_manifest(folder), read_rows(folder)
    assert manifest.status == "complete"
    assert dict(rows.schema) == SCHEMA
    assert set(rows["study"].unique()) == {record.name for record in manifest.studies}
    assert len(rows) == len(pl.read_parquet(folder / TIMINGS))
    for path in (folder / FOLDER).glob("*/*/**/*.parquet"):
        study, pair, *trial = path.relative_to(folder / FOLDER).with_suffix("").parts
        assert read_trace(folder, TraceKey(study, pair, "/".join(trial))) is not None


@pytest.mark.parametrize("version", RUNS)
def test_it_is_judged(raw: Path, version: int) -> None:
    """Claims are decided on studies of five repeats, which not all had then."""
    run = open_run(RUNS[version].name)
    judged = judge_all(raw, run.run_id)
    decided = {claim.source for claim in judged if str(claim.verdict) in {"confirmed", "contradicted"}}
    assert {"M", "L", "R"} <= decided, decided


def test_a_version_that_nobody_reads_any_more_is_refused_in_one_line(raw: Path) -> None:
    """No run of version 1 was ever shipped."""
    path = raw / RUNS[2].name / TIMINGS
    pl.read_parquet(path).with_columns(schema_version=pl.lit(1, dtype=pl.Int16)).write_parquet(path)
    with pytest.raises(InputError, match=r"schema_version.*must be one of 2, 3"):
        read_rows(path.parent)


@pytest.mark.soak
@pytest.mark.parametrize("version", RUNS)
def test_it_is_reported(version: int) -> None:
    """Every chapter, the site and both PDFs."""
    with new_home() as home:
        run = RUNS[version].name
        shutil.copytree(KEPT, home.folder / "raw")
        assert_reported(home, run)


def assert_reported(home: Home, run: str) -> None:
    report = home.command("report", "--run", run, ENGINE="plain")
    assert report.returncode == 0, report.stderr
    latest = home.folder / "site" / "latest"
    assert json.loads((latest / "facts.json").read_text(encoding="utf-8"))["run_id"] == run
    assert {path.name for path in latest.glob("*.pdf")} == {"tierwise.pdf", "tierwise-annex.pdf"}
