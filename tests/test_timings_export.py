"""A run made small for git, and found again by the name that it ships under."""

import json
import platform
from pathlib import Path

import polars as pl
import pytest

from report_run import RUN_ID, rich_run
from tierwise.analysis.claims import Kind
from tierwise.analysis.rules import Verdict
from tierwise.analysis.runs import find_run
from tierwise.core import paths
from tierwise.core.errors import InputError
from tierwise.pipeline import complete_run, runs_in
from tierwise.report.rooms import judge_all
from tierwise.timings import export as exporting
from tierwise.timings.export import SAMPLE, export
from tierwise.timings.manifest import Sample, load_manifest
from tierwise.timings.parts import read_rows


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return rich_run(tmp_path / "raw")


def test_a_small_run_is_copied_whole_and_judged_alike(run: Path, tmp_path: Path) -> None:
    made = export(run, tmp_path / "reference")
    assert read_rows(made).equals(read_rows(run))
    assert load_manifest(made) == load_manifest(run)
    assert judge_all(made.parent, RUN_ID) == judge_all(run.parent, RUN_ID)


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
    of_rows = [claim.verdict for claim in judge_all(tmp_path / "one", RUN_ID) if claim.kind is not Kind.COST]
    assert not {Verdict.CONFIRMED, Verdict.CONTRADICTED} & {*of_rows}


def table(run: Path, name: str, *lengths: int) -> Path:
    """A table beside the raw rows: a file of each length."""
    folder = run / name / "load" / "source-v" / "clients=8" / "script=mix"
    folder.mkdir(parents=True)
    for number, length in enumerate(lengths):
        pl.DataFrame({"latency_s": [float(row) for row in range(length)]}).write_parquet(folder / f"{number}.parquet")
    return folder


def test_of_single_transactions_or_reads_the_same_share_of_each_file_is_drawn(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "MOST_ROWS", 6_000)
    folder = table(run, "transactions", 3_000, 9_000)
    made = export(run, tmp_path / "reference")
    drawn = [pl.read_parquet(path, hive_partitioning=False)["latency_s"] for path in sorted((made / folder.relative_to(run)).iterdir())]
    assert [len(rows) for rows in drawn] == [1_500, 4_500]
    assert all(rows.is_sorted() and rows.is_unique().all() for rows in drawn)
    assert load_manifest(made).samples == {"transactions/load": Sample(rows=6_000, of=12_000, seed=1)}
    assert load_manifest(run).samples == {}


def test_a_recorded_sequence_is_kept_whole_or_not_at_all(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "MOST_ROWS", 1_000)
    folder = table(run, "traces", 400, 400, 400)
    made = export(run, tmp_path / "reference")
    kept = list((made / folder.relative_to(run)).iterdir())
    assert [len(pl.read_parquet(path, hive_partitioning=False)) for path in kept] == [400, 400]
    assert load_manifest(made).samples == {"traces/load": Sample(rows=800, of=1_200, seed=1)}


def test_a_new_reference_takes_the_place_of_the_one_before(run: Path, tmp_path: Path) -> None:
    older = rich_run(tmp_path / "older", run_id="20250101-000000-smoke-000000")
    export(older, tmp_path / "reference")
    for _ in range(2):
        assert export(run, tmp_path / "reference", replace=True).name == RUN_ID
        assert [path.name for path in (tmp_path / "reference").iterdir()] == [RUN_ID]


def test_what_names_this_machine_is_refused_and_the_reference_stays(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = export(run, tmp_path / "reference")
    monkeypatch.setattr(platform, "node", lambda: load_manifest(run).host.cpu)
    with pytest.raises(InputError, match="names no host"):
        export(run, tmp_path / "reference", replace=True)
    assert load_manifest(made).run_id == RUN_ID
    assert [path.name for path in (tmp_path / "reference").iterdir()] == [RUN_ID]


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
    folder = find_run("reference")
    assert folder == find_run(RUN_ID) == tmp_path / "data" / "reference" / RUN_ID, "by its id too"
    with runs_in(folder.parent):
        assert paths.raw() == paths.reference()
        assert complete_run(find_run("latest")).run_id == RUN_ID
    assert paths.raw() != paths.reference()
    with pytest.raises(InputError, match="'nonesuch': no such run; there are: reference"):
        find_run("nonesuch")
    with pytest.raises(InputError, match=r"'latest': no complete run lies in data/raw.*reference is the run that ships"):
        find_run("latest")


def test_without_a_run_that_ships_the_folder_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIERWISE_HOME", str(tmp_path))
    with pytest.raises(InputError, match="data/reference must hold one run; there are: none"):
        find_run("reference")


def test_a_run_that_is_not_complete_is_not_reported(run: Path) -> None:
    load_manifest(run).model_copy(update={"status": "running"}).save(run)
    with pytest.raises(InputError, match=r"is not complete\. Remedy: make report"):
        complete_run(run)


def test_every_row_of_the_schema_survives(run: Path, tmp_path: Path) -> None:
    assert isinstance(json.loads(read_rows(export(run, tmp_path / "reference"))["proof"][0]), dict)
    assert pl.read_parquet(tmp_path / "reference" / RUN_ID / "timings.parquet").schema == read_rows(run).schema
