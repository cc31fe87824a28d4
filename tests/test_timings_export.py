"""A run made small for git, and found again by the name that it ships under."""

import platform
from pathlib import Path

import polars as pl
import pytest

from kept_smoke import FOLDER
from report_run import RUN_ID, rich_run
from tierwise.advisor.advice_traces import behind_advice
from tierwise.advisor.workload import read_workload
from tierwise.analysis import heat
from tierwise.analysis.runs import find_run
from tierwise.core import paths
from tierwise.core.errors import InputError
from tierwise.pipeline import complete_run, runs_in
from tierwise.report.study_registry import judge_all
from tierwise.timings import export as exporting
from tierwise.timings.export import export
from tierwise.timings.manifest import Sample, load_manifest
from tierwise.timings.parts import read_rows
from tierwise.timings.trial_files import TRACES, TRANSACTIONS, TrialFiles, TrialKey, read_trace, read_transactions


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return rich_run(tmp_path / "raw")


def test_a_small_run_is_copied_whole_and_judged_alike(run: Path, tmp_path: Path) -> None:
    made = export(run, tmp_path / "reference")
    assert read_rows(made).equals(read_rows(run))
    assert load_manifest(made) == load_manifest(run)
    assert judge_all(made.parent, RUN_ID) == judge_all(run.parent, RUN_ID)


@pytest.mark.soak
def test_advice_on_an_export_is_that_on_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "MOST_ROWS", 100)
    needed = behind_advice(FOLDER)
    drawn, made = export(FOLDER, tmp_path / "drawn"), export(FOLDER, tmp_path / "needed", needed=needed)
    own, kept, missing = (
        [read_workload(run.parent, run_id=run.name, study=study).relations for study in heat.placeable()] for run in (FOLDER, made, drawn)
    )
    assert own == kept != missing
    samples = load_manifest(made).samples
    assert samples["traces/index_placement"].rows < samples["traces/index_placement"].of, "and no more than was needed"


def table(run: Path, files: TrialFiles, *lengths: int) -> None:
    for number, length in enumerate(lengths):
        rows = pl.DataFrame({name: range(length) for name, kind in files.columns.items() if kind.is_numeric()}).cast(pl.Int64)
        whole = rows.with_columns(pl.lit("x").alias(name) for name, kind in files.columns.items() if not kind.is_numeric())
        files.write(run, key(number), whole.select(*files.columns).cast(pl.Schema(files.columns)), number if files.by_replicate else None)


def key(number: int) -> TrialKey:
    return TrialKey("load", "source-v", f"clients=8/script={number}")


def test_of_needed_sequences_those_fit_that_are_named_first(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "MOST_ROWS", 100)
    monkeypatch.setattr(exporting, "MOST_NEEDED", 900)
    table(run, TRACES, 400, 400, 400, 50)
    made = export(run, tmp_path / "reference", needed=[key(2), key(0), key(1)])
    assert [read_trace(made, key(number)) is not None for number in range(4)] == [True, False, True, False]


def test_a_sample_of_a_sample_says_of_how_many_rows_it_is(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table(run, TRANSACTIONS, 900)
    for most, kept in ((300, 300), (100, 100), (200, 100)):
        monkeypatch.setattr(exporting, "MOST_ROWS", most)
        run = export(run, tmp_path / f"at most {most}")
        assert load_manifest(run).samples == {"transactions/load": Sample(rows=kept, of=900, seed=1)}


def test_of_single_transactions_the_same_share_of_each_trial_is_drawn(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "MOST_ROWS", 6_000)
    table(run, TRANSACTIONS, 3_000, 9_000)
    made = export(run, tmp_path / "reference")
    drawn = [read_transactions(made, key(number), number)["latency_s"] for number in (0, 1)]
    assert [len(rows) for rows in drawn] == [1_500, 4_500]
    assert all(rows.is_sorted() and rows.is_unique().all() for rows in drawn)
    assert load_manifest(made).samples == {"transactions/load": Sample(rows=6_000, of=12_000, seed=1)}
    assert load_manifest(run).samples == {}


def test_a_recorded_sequence_is_kept_whole_or_not_at_all(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "MOST_ROWS", 1_000)
    table(run, TRACES, 400, 400, 400)
    made = export(run, tmp_path / "reference")
    kept = [rows.height for number in range(3) if (rows := read_trace(made, key(number))) is not None]
    assert kept == [400, 400]
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
    with pytest.raises(InputError, match=r"'latest': data/raw has no complete run.*reference is the run that ships"):
        find_run("latest")


def test_a_run_that_is_not_complete_is_not_reported(run: Path) -> None:
    load_manifest(run).model_copy(update={"status": "running"}).save(run)
    with pytest.raises(InputError, match=r"is not complete\. Remedy: make report"):
        complete_run(run)
