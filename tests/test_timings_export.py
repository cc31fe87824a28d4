"""Runs beside their rows: one made small for git, and one that takes a study's rows from an older run and reads as if it were whole."""

import platform
from datetime import timedelta
from pathlib import Path
from typing import Final

import polars as pl
import pytest

from report_run import RUN_ID, rich_run
from rows import STARTED, make_manifest, make_rows, save_run
from support import SMOKE_RUN, read_transactions
from tierwise.advisor.workload import behind_advice, read_workload
from tierwise.analysis import heat
from tierwise.analysis.runs import find_run, newest_run
from tierwise.analysis.views import connect
from tierwise.core import paths
from tierwise.core.errors import InputError
from tierwise.pipeline import complete_run, runs_in
from tierwise.report.study_registry import judge_all
from tierwise.timings import export as exporting
from tierwise.timings.export import export
from tierwise.timings.manifest import Sample, load_manifest, manifests
from tierwise.timings.parts import done_parts, merge_parts, read_rows, rows_so_far, write_part
from tierwise.timings.reads import READS, write_reads
from tierwise.timings.references import Taken, places
from tierwise.timings.trial_files import (
    TRACE,
    TRACES,
    TRANSACTION,
    TRANSACTIONS,
    TrialFiles,
    TrialKey,
    read_trace,
    write_trace,
)


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
    needed = behind_advice(SMOKE_RUN)
    drawn, made = export(SMOKE_RUN, tmp_path / "drawn"), export(SMOKE_RUN, tmp_path / "needed", needed=needed)
    own, kept, missing = (
        [read_workload(run.parent, run_id=run.name, study=study).relations for study in heat.placeable()]
        for run in (SMOKE_RUN, made, drawn)
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


OLD: Final = "20260101-000000-old"
NEW: Final = "20260202-000000-new"
STUDY: Final = "index_placement"
OWN: Final = "read_latency"
PAIR: Final = "source-m"
TRIAL: Final = "index=hdd/io_mode=direct/start=FL/table=hdd/variant=published"
KEY: Final = TrialKey(STUDY, PAIR, TRIAL)
REPLICATES: Final = 3


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """Return an older run of `STUDY` and `OWN`, and a newer one that measured `OWN` anew and takes `REPLICATES` replicates of `STUDY`."""
    folder = tmp_path / "raw"
    old = save_run(folder, pl.concat([make_rows(run_id=OLD), studied(OLD, seed=1)]))
    for replicate in range(5):
        write_reads(old, KEY, replicate, reads(replicate))
        TRANSACTIONS.write(old, KEY, transactions(replicate), replicate)
        write_reads(old, TrialKey(OWN, PAIR, TRIAL), replicate, reads(replicate))
    write_trace(old, KEY, trace(7))
    new = save_run(folder, studied(NEW, seed=2))
    write_reads(new, TrialKey(OWN, PAIR, TRIAL), 0, reads(9))
    take(new)
    return folder


def studied(run_id: str, *, seed: int) -> pl.DataFrame:
    return make_rows(run_id=run_id, seed=seed).with_columns(study=pl.lit(OWN))


def take(new: Path, *, replicates: int = REPLICATES) -> None:
    record = load_manifest(new.parent / OLD).of(STUDY)
    mine = [one.model_copy(update={"name": OWN}) for one in load_manifest(new).studies if one.name != STUDY or new.name == NEW]
    manifest = load_manifest(new).model_copy(
        update={
            "taken": {STUDY: Taken(run_id=OLD, replicates={PAIR: replicates})},
            "studies": (*record, *mine),
            "finished_at": STARTED + timedelta(days=1),
            "why": {OWN: f"tierwise.recorders.strace changed since run {OLD}"},
        }
    )
    manifest.save(new)


def reads(latency_ms: int) -> pl.DataFrame:
    read = {"time_s": 1.0, "pid": 1, "tablespace": "ssd", "relation": "census", "page": 0, "size_bytes": 8192, "recorder": "strace"}
    return pl.DataFrame([{**read, "latency_s": (latency_ms + 1) / 1000}], schema=READS)


def transactions(client: int) -> pl.DataFrame:
    return pl.DataFrame({"client": [client], "ended_s": [1.0], "latency_s": [0.1]}, schema=TRANSACTION)


def trace(page: int) -> pl.DataFrame:
    row = dict.fromkeys(TRACE) | {"step": 0, "cache": "cold", "operation": "read", "relation": "census", "tier": "hdd", "page": page}
    return pl.DataFrame([row], schema=TRACE)


def traced_page(run: Path) -> int:
    kept = read_trace(run, KEY)
    assert kept is not None
    (page,) = kept["page"]
    return int(page)


def test_the_newer_run_has_all_rows_and_its_folder_only_its_own(raw: Path) -> None:
    old = read_rows(raw / OLD)
    expected = {OWN: 180, STUDY: REPLICATES * 36}
    assert dict(read_rows(raw / NEW).group_by("study").len().rows()) == expected
    assert dict(rows_so_far(raw / NEW).group_by("study").len().rows()) == expected
    taken = rows_so_far(raw / NEW, STUDY)
    assert taken.equals(old.filter(pl.col("study") == STUDY, pl.col("replicate") < REPLICATES).sort("study", "pair", "sequence", "step"))
    assert set(taken["run_id"]) == {OLD}, "raw rows say who measured them"
    assert set(pl.read_parquet(raw / NEW / "timings.parquet")["study"]) == {OWN}
    assert not rows_so_far(raw / NEW, OWN).equals(rows_so_far(raw / OLD, OWN)), "the study that was measured anew is not taken"


def test_views_have_it_as_one_run(raw: Path) -> None:
    with connect(raw, NEW) as connection:
        assert connection.execute("select distinct run_id from timings").fetchall() == [(NEW,)]
        assert dict(connection.execute("select study, count(*) from raw_timings group by all").fetchall()) == {
            OWN: 180,
            STUDY: REPLICATES * 36,
        }
        found = connection.execute("select study, count(*), max(latency_s) from reads where run_id = ? group by all", [NEW]).fetchall()
        assert {study: (number, latency_s) for study, number, latency_s in found} == {STUDY: (REPLICATES, 0.003), OWN: (1, 0.01)}
    with connect(raw) as connection:
        counts = connection.execute("select run_id, study, count(*) from timings group by all order by all").fetchall()
        assert counts == [(OLD, STUDY, 180), (OLD, OWN, 180), (NEW, STUDY, REPLICATES * 36), (NEW, OWN, 180)]
        assert connection.execute("select run_id, count(*) from reads group by all order by all").fetchall() == [
            (OLD, 10),
            (NEW, REPLICATES + 1),
        ]
    assert newest_run(raw) == NEW


def test_traces_transactions_and_reads_are_found_where_they_lie(raw: Path) -> None:
    assert traced_page(raw / NEW) == 7
    assert read_transactions(raw / NEW, KEY, 2)["client"].to_list() == [2]
    assert TRANSACTIONS.read(raw / NEW, KEY, REPLICATES) is None, "of a replicate that is not taken"
    assert read_trace(raw / NEW, TrialKey(OWN, PAIR, TRIAL)) is None
    assert list(places(raw / NEW, OWN, PAIR)) == [raw / NEW]


def test_what_is_measured_on_top_comes_before_what_is_taken(raw: Path) -> None:
    """Replicates that are added to a run lie in its own folder, and a trace that it recorded itself is the one that is read."""
    done = done_parts(raw / NEW)
    assert (STUDY, PAIR, TRIAL, REPLICATES - 1) in done
    assert (STUDY, PAIR, TRIAL, REPLICATES) not in done
    rows = make_rows(run_id=NEW, seed=5).filter(pl.col("trial") == TRIAL, pl.col("replicate") == REPLICATES)
    write_part(raw / NEW, rows)
    write_trace(raw / NEW, KEY, trace(8))
    merge_parts(raw / NEW)
    found = read_rows(raw / NEW).filter(study=STUDY, replicate=REPLICATES)
    assert found.drop("sequence").equals(rows.drop("sequence"))
    assert traced_page(raw / NEW) == 8
    assert set(pl.read_parquet(raw / NEW / "timings.parquet")["run_id"]) == {NEW}


def test_a_run_that_measured_nothing_itself_is_merged_without_a_file(raw: Path) -> None:
    all_taken = raw / "20260303-000000-none"
    make_manifest(make_rows(run_id=all_taken.name)).save(all_taken)
    take(all_taken)
    assert not merge_parts(all_taken).exists()
    assert read_rows(all_taken).height == REPLICATES * 36


def test_a_run_that_is_gone_is_named_with_study_and_remedy(raw: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (raw / OLD).rename(raw.parent / "away")
    with pytest.raises(InputError, match=rf"{NEW}.*taken.{STUDY} is '{OLD}': the rows of {STUDY} are in that run.*put its folder back"):
        connect(raw, NEW)
    with pytest.raises(InputError, match=STUDY):
        read_rows(raw / NEW)
    with connect(raw) as connection:
        assert connection.execute("select count(*) from timings").fetchall() == [(0,)]
    assert f"left alone: {NEW}" in capsys.readouterr().err
    assert list(manifests(raw)) == [NEW], "it is listed all the same"


def test_a_copy_is_whole_and_says_whose_rows_were_copied_in(raw: Path, tmp_path: Path) -> None:
    made = export(raw / NEW, tmp_path / "given")
    assert (load_manifest(made).taken, load_manifest(made).copied) == ({}, {STUDY: OLD})
    assert read_rows(made).equals(read_rows(raw / NEW))
    assert traced_page(made) == 7
    assert read_transactions(made, KEY, 2)["client"].to_list() == [2]
    files = sorted(str(path.relative_to(made)) for path in made.rglob("*.parquet"))
    packed = [f"reads/{STUDY}/{PAIR}", f"reads/{OWN}/{PAIR}", "timings", f"traces/{STUDY}/{PAIR}", f"transactions/{STUDY}/{PAIR}"]
    assert files == [f"{name}.parquet" for name in packed]
    with connect(made.parent, NEW) as alone, connect(raw, NEW) as referring:
        for query in ("select * from timings order by all", "select * from reads order by all"):
            assert alone.sql(query).to_arrow_table().equals(referring.sql(query).to_arrow_table())


def test_rows_of_a_third_run_are_foreign_in_a_copy(raw: Path, tmp_path: Path) -> None:
    made = export(raw / NEW, tmp_path / "given")
    rows = read_rows(made).with_columns(run_id=pl.when(study=STUDY).then(pl.lit("alien")).otherwise("run_id"))
    rows.write_parquet(made / "timings.parquet")
    with pytest.raises(InputError, match="is 'alien': must be the run that it lies in"):
        read_rows(made)


def test_a_partial_run_is_read_where_no_run_is_whole(raw: Path) -> None:
    partial = load_manifest(raw / NEW).model_copy(update={"status": "partial", "finished_at": STARTED + timedelta(days=9)})
    partial.save(raw / NEW)
    assert newest_run(raw) == OLD
    with connect(raw) as connection:
        assert connection.execute("select count(*) from timings where run_id = ?", [NEW]).fetchall() == [(180 + REPLICATES * 36,)]
    load_manifest(raw / OLD).model_copy(update={"status": "running", "finished_at": None}).save(raw / OLD)
    assert newest_run(raw) == NEW
