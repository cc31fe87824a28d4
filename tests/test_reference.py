"""The run that ships, of whatever profile: whole, of every study, small enough for git, and of the code that it ships with."""

import platform
import re
from pathlib import Path

import polars as pl
import pytest

from support import SHIPPED_RUN as FOLDER
from tierwise.analysis.heat import every, placeable
from tierwise.analysis.views import ROWS as QUERY
from tierwise.analysis.views import open_views
from tierwise.bench.loop import gather_inputs
from tierwise.bench.study_registry import fingerprints
from tierwise.core import paths, studies
from tierwise.core.errors import InputError
from tierwise.report.reference import medians
from tierwise.timings.export import FILE_BYTES, MOST_NEEDED, MOST_ROWS, TABLES, WHOLE_BYTES, check_nothing_private
from tierwise.timings.manifest import load_manifest

RUN = load_manifest(FOLDER)
OF_THE_MACHINE = {"server version", "counting of several sessions"}
"""Inputs that are the machine's on which a run is measured, and are in no commit."""


def test_it_is_a_whole_run_small_enough_for_git() -> None:
    assert (RUN.run_id, RUN.status, RUN.chosen, RUN.reader_pair) == (FOLDER.name, "complete", {}, None)
    shipped = [path for path in FOLDER.rglob("*") if path.is_file() and path.relative_to(FOLDER).parts[0] != "notebooks"]
    assert max(path.stat().st_size for path in shipped) <= FILE_BYTES
    assert sum(path.stat().st_size for path in shipped) <= WHOLE_BYTES
    assert len(shipped) <= 60


def test_what_is_a_sample_is_reported_and_no_raw_row_is_of_one() -> None:
    assert not [name for name in RUN.samples if name.startswith("timings/")]
    for table in TABLES:
        for study in table.studies(FOLDER):
            name, rows = f"{table.folder}/{study}", sum(len(piece) for _, piece in table.pieces(FOLDER, study))
            assert rows <= (MOST_ROWS if table.by_replicate else MOST_NEEDED)
            assert name not in RUN.samples or RUN.samples[name].rows == rows < RUN.samples[name].of


def test_no_job_adds_up_two_trials_of_one_query_and_placement() -> None:
    job = ["study", "pair", "io_mode", "workload", "query", "placement", "ssd", "replicate"]
    with open_views(FOLDER.parent, FOLDER.name) as connection:
        rows = connection.sql(every()).pl()
    assert set(rows["study"]) == set(placeable())
    assert rows.group_by(job).agg(pl.col("trial").n_unique())["trial"].max() == 1


def test_its_numbers_come_from_the_code_and_the_inputs_of_this_version() -> None:
    """A release differs from the commit that measured its reference run in that run and in prose alone."""
    now = fingerprints(gather_inputs(profile=str(RUN.profile["name"]), tiers="", seed=RUN.seed))
    differing = {study: set(one.differing(now[study])) - OF_THE_MACHINE for study, one in RUN.fingerprints.items() if study in now}
    other = {study: sorted(names) for study, names in differing.items() if names}
    changes = (paths.home() / "CHANGELOG.md").read_text(encoding="utf-8")
    if other and re.findall(r"(?m)^## \[(.+?)\]", changes)[0] == "Unreleased":
        pytest.skip(f"this version is not released, and the reference run was measured before changes in {len(other)} studies")
    assert not other, "make reference"


def test_every_study_says_by_what_two_runs_are_compared() -> None:
    with open_views(paths.reference(), RUN.run_id) as connection:
        for study in studies.having(QUERY):
            columns = {name for name, *_ in connection.sql(f"describe {study}_cells").fetchall()}
            assert {"run_id", "pair", "io_mode", "cell", "unit", "replicate", "evidence", "value", "flagged"} == columns
            assert connection.sql(f"from {study}_cells").fetchall(), f"{study}: no row to compare"
        assert set(medians(connection)["study"]) <= set(studies.names())  # of a study whose rows are all flagged, none


def test_it_says_of_its_machine_what_decides_numbers_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(RUN.host.model_dump()) == {
        *("system", "kernel", "distribution", "architecture", "cpu", "cores", "memory_bytes", "virtualized", "python")
    }
    monkeypatch.setattr(platform, "node", lambda: RUN.run_id)  # as if that were the machine's name
    with pytest.raises(InputError, match="names no host"):
        check_nothing_private(FOLDER)
