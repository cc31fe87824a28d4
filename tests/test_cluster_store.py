"""The store is the truth: what counts as an attempt, in a folder and on a real S3 server, and the run that is collected from attempts."""

import shutil
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest

from rows import STARTED, make_run
from s3_server import S3Server, s3_server
from tierwise.bench.loop import gather_inputs
from tierwise.bench.runs import complete, reopen
from tierwise.cluster import collecting, work
from tierwise.cluster.attempts import ROWS, Attempt, Surveyor, encoded, put_attempt
from tierwise.cluster.client import Deadline, measure_within
from tierwise.cluster.collecting import begin_campaign, fetch_run
from tierwise.cluster.replicate import Job
from tierwise.cluster.store import Store, is_stored, open_store, patiently
from tierwise.core import paths
from tierwise.core.errors import InputError, TierwiseError
from tierwise.core.files import digest
from tierwise.timings.manifest import Fingerprint, Manifest, load_manifest
from tierwise.timings.merging import merge_runs
from tierwise.timings.parts import read_rows
from tierwise.timings.trial_files import TRACES, TrialKey

STUDY = "index_placement"
RUN = "20260102-030405-abcd"
LOWER, HIGHER = (f"{digit}0000000-0000-4000-8000-000000000000" for digit in "19")
FINGERPRINT = Fingerprint(inputs={"profile": "a"}, code={"m": "c"})
REPLICATES = 3


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with s3_server(tmp_path_factory.mktemp("s3")) as server:
        yield server


@pytest.fixture(params=["folder", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return open_store(str(tmp_path / "store")) if request.param == "folder" else request.getfixturevalue("s3").store(tmp_path.name)


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a complete run as one machine measures it; below ``data/raw`` there is nothing yet."""
    monkeypatch.setenv("TIERWISE_RAW", str(tmp_path / "raw"))
    folder = make_run(tmp_path / "elsewhere", run_id=RUN, replicates=REPLICATES)
    load_manifest(folder).model_copy(update={"fingerprints": {STUDY: FINGERPRINT}}).save(folder)
    return folder


def attempt_of(folder: Path, replicate: int, name: str, *, outcome: str = "whole", fingerprint: str = FINGERPRINT.sha256) -> Attempt:
    run = load_manifest(folder)
    facts = {"predictions": [{"trial": "t", "replicates": [replicate], "predicted_s": [float(replicate)]}]}
    records = [record.model_copy(update={"replicates": 1, "facts": {**record.facts, **facts}}) for record in run.studies]
    named = {"run_id": run.run_id, "study": STUDY, "replicate": replicate, "attempt": name, "outcome": outcome}
    place = {"machine": f"machine{replicate % 2}", "host": run.host, "code_version": run.code_version, "fingerprint": fingerprint}
    kept = {"prices": "0" * 64, "records": records, "datasets": run.datasets}
    span = {"started_at": STARTED, "finished_at": STARTED + timedelta(minutes=1)}
    return Attempt.model_validate({**named, **place, **kept, **span})


def rows_of(folder: Path, replicate: int) -> pl.DataFrame:
    return read_rows(folder).filter(replicate=replicate)


def put_all(store: Store, folder: Path, replicates: int = REPLICATES) -> None:
    begun = load_manifest(folder).model_copy(update={"studies": (), "datasets": (), "status": "running", "finished_at": None})
    begin_campaign(store, begun, {STUDY: REPLICATES})
    for replicate in range(replicates):
        put_attempt(store, attempt_of(folder, replicate, HIGHER), {ROWS: encoded(rows_of(folder, replicate))})


def fetched(store: Store, run_id: str = RUN) -> Path:
    return fetch_run(f"{store.url}/{run_id}", lambda _study, _rows: {}, complete)


def test_a_collected_run_has_the_rows_facts_and_traces_of_every_replicate(store: Store, measured: Path) -> None:
    put_all(store, measured)
    trial = str(read_rows(measured)["trial"][0])
    key = TrialKey(STUDY, "source-m", trial)
    trace = pl.DataFrame(schema=TRACES.columns).clear(1)
    TRACES.write(measured, key, trace)
    tables = {ROWS: encoded(rows_of(measured, 0)), TRACES.folder: encoded(next(TRACES.pieces(measured, STUDY))[1])}
    put_attempt(store, attempt_of(measured, 0, LOWER), tables)
    folder = fetched(store)
    assert read_rows(folder).equals(read_rows(measured))
    run, before = load_manifest(folder), load_manifest(measured)
    assert (run.status, run.datasets) == ("complete", before.datasets)
    assert [record.model_copy(update={"facts": {}}) for record in run.studies] == [
        record.model_copy(update={"facts": {}}) for record in before.studies
    ]
    assert run.studies[0].facts["predictions"][0]["predicted_s"] == [0.0, 1.0, 2.0]
    assert TRACES.read(folder, key) is not None
    assert [(one.replicate, one.attempt, one.machine) for one in run.attempts] == [
        (0, LOWER, "machine0"),
        (1, HIGHER, "machine1"),
        (2, HIGHER, "machine0"),
    ]
    assert fetched(store) == folder, "a run that is there is not fetched again"


def test_of_two_whole_attempts_the_lower_name_counts_and_the_other_is_listed(store: Store, measured: Path) -> None:
    put_all(store, measured)
    slower = rows_of(measured, 1).with_columns(pl.col("elapsed_s") * 2)
    put_attempt(store, attempt_of(measured, 1, LOWER), {ROWS: encoded(slower)})
    put_attempt(store, attempt_of(measured, 2, LOWER, outcome="failed").model_copy(update={"error": "the disk is full"}), {})
    found = Surveyor(store, RUN).survey()
    assert {replicate: one.attempt for (_, replicate), one in found.counting.items()} == {0: HIGHER, 1: LOWER, 2: HIGHER}
    assert [(one.replicate, one.attempt) for one in found.late] == [(1, HIGHER)]
    assert [(one.replicate, one.error) for one in found.failed] == [(2, "the disk is full")]
    assert rows_of(fetched(store), 1).equals(slower)


@pytest.mark.parametrize("torn", ["no manifest", "short", "other bytes", "half a manifest", "of another run", "no rows"])
def test_an_object_without_a_matching_manifest_is_ignored_and_listed(store: Store, measured: Path, torn: str) -> None:
    put_all(store, measured)
    attempt, content = attempt_of(measured, 1, LOWER), encoded(rows_of(measured, 1))
    rows, manifest = attempt.name_of(ROWS), attempt.name
    if torn == "no rows":
        put_attempt(store, attempt, {})
    else:
        put_attempt(store, attempt, {ROWS: content})
    if torn == "no manifest":
        unnamed = attempt.model_copy(update={"attempt": f"0{LOWER[1:]}"})
        store.write(unnamed.name_of(ROWS), content[:100])
        assert Surveyor(store, RUN).survey().ignored == {unnamed.name_of(ROWS): "no matching manifest"}
        return
    if torn in {"short", "other bytes"}:
        store.write(rows, content[:-1] if torn == "short" else content[:-1] + b"x")
    if torn in {"half a manifest", "of another run"}:
        text = store.read(manifest)
        store.write(manifest, text[: len(text) // 2] if torn == "half a manifest" else text.replace(RUN.encode(), b"20260102-030405-dcba"))
    found = Surveyor(store, RUN).survey()
    assert found.counting[STUDY, 1].attempt == HIGHER
    assert manifest in found.ignored


def test_a_run_that_lacks_a_replicate_or_has_one_of_other_code_is_refused(store: Store, measured: Path) -> None:
    put_all(store, measured)
    put_attempt(store, attempt_of(measured, 1, LOWER, fingerprint="f" * 64), {ROWS: encoded(rows_of(measured, 1))})
    with pytest.raises(InputError, match="other code or inputs"):
        fetched(store)
    begin_campaign(store, load_manifest(measured).model_copy(update={"run_id": "another"}), {STUDY: 2})
    with pytest.raises(InputError, match="2 of 2 replicates"):
        fetched(store, "another")
    with pytest.raises(InputError, match="no such run"):
        fetched(store, "absent")


def test_a_collection_that_was_interrupted_goes_on(store: Store, measured: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_all(store, measured)
    whole, copied = collecting._copy, []

    def fails_at_the_second(*given: object) -> None:
        copied.append(given)
        if len(copied) == 2:
            raise OSError("no connection")
        whole(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(collecting, "_copy", fails_at_the_second)
    with pytest.raises(OSError, match="no connection"):
        fetched(store)
    monkeypatch.undo()
    monkeypatch.setenv("TIERWISE_RAW", str(measured.parents[1] / "raw"))
    assert read_rows(fetched(store)).equals(read_rows(measured))


def test_a_run_that_a_budget_cut_short_has_what_the_store_has_and_goes_on(tmp_path: Path, measured: Path) -> None:
    store, inputs = open_store(str(tmp_path / "store")), gather_inputs(profile="smoke", tiers="", seed=1)
    put_all(store, measured, replicates=REPLICATES - 1)
    folder = tmp_path / "raw" / RUN
    load_manifest(measured).model_copy(update={"studies": (), "status": "running", "finished_at": None}).save(folder)
    units = [(STUDY, number) for number in range(REPLICATES)]
    ended = Deadline(time.monotonic(), [units], dict.fromkeys(units, 1.0))
    cut = measure_within(ended, inputs, folder, scheduler="", address=store.url)
    assert (cut.lacking, cut.studies[0].replicates) == ({STUDY: 1}, REPLICATES - 1)
    with pytest.MonkeyPatch.context() as elsewhere:
        elsewhere.setenv("TIERWISE_RAW", str(tmp_path / "fetched"))
        assert load_manifest(fetched(store)).lacking == cut.lacking
    again = reopen(complete(RUN))
    assert (again.status, again.studies, again.lacking, again.begun[0].name) == ("running", (), {}, STUDY)
    put_all(store, measured)
    whole = measure_within(ended, inputs, folder, scheduler="", address=store.url)
    assert (whole.lacking, whole.begun, whole.studies[0].replicates) == ({}, (), REPLICATES)
    complete(RUN)
    assert read_rows(folder).equals(read_rows(measured))
    with pytest.raises(InputError, match=r"which .* lacks"):
        measure_within(ended, inputs, folder, scheduler="", address=str(tmp_path / "other"))


def test_runs_of_stores_are_merged_with_their_attempts(tmp_path: Path, measured: Path) -> None:
    store = open_store(str(tmp_path / "store"))
    folders = []
    for seed in (1, 2):
        folder = make_run(tmp_path / f"seed{seed}", run_id=f"{RUN}{seed}", replicates=REPLICATES, seed=seed)
        load_manifest(folder).model_copy(update={"seed": seed, "fingerprints": {STUDY: FINGERPRINT}}).save(folder)
        put_all(store, folder)
        assert is_stored(f"{store.url}/{RUN}{seed}")
        folders.append(fetched(store, f"{RUN}{seed}"))
    assert not is_stored(str(folders[0]))
    merged: Manifest = merge_runs(folders, tmp_path / "raw")
    assert [one.replicate for one in merged.attempts] == [0, 1, 2, 1000, 1001, 1002]


def test_a_refused_write_is_tried_until_the_store_is_back(s3: S3Server, tmp_path: Path) -> None:
    store = s3.store(tmp_path.name)
    s3.stop()
    again = threading.Timer(1.0, s3.start)
    again.start()
    patiently(lambda: store.write("run/x", b"content"), "x", first_pause_s=0.2)
    again.join()
    assert store.read("run/x") == b"content"
    assert store.sizes("run") == {"run/x": 7}


def test_a_machine_with_other_code_or_inputs_than_the_run_does_not_measure_it(
    measured: Path, tmp_path: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIERWISE_WORK", str(workspace))
    job = Job(run=load_manifest(measured), study=STUDY, replicate=0, attempt=LOWER, store=str(tmp_path / "store"))
    with pytest.raises(InputError, match="other code or inputs"):
        work.measure(job.model_dump_json())
    assert not (tmp_path / "store").exists()


def test_the_digest_of_the_prices_is_that_of_their_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = digest(paths.data() / "prices")
    shutil.copytree(paths.data() / "prices", tmp_path / "prices")
    monkeypatch.setattr(paths, "data", lambda: tmp_path)
    assert digest(paths.data() / "prices") == before
    with (tmp_path / "prices" / "disks.csv").open("a", encoding="utf-8") as file:
        file.write("\n")
    assert digest(paths.data() / "prices") != before


def test_patience_ends(tmp_path: Path) -> None:
    def refused() -> None:
        raise OSError("refused")

    begun_s = time.monotonic()
    with pytest.raises(TierwiseError, match=r"refuses x: refused.*Remedy"):
        patiently(refused, "x", patience_s=0.3, first_pause_s=0.1)
    assert time.monotonic() - begun_s < 1.0


@pytest.mark.parametrize("url", ["", "ftp://bucket/x", "s3://", "s3://key:secret@bucket/x", "s3://bucket/x?access_key=a"])
def test_addresses_that_are_no_store_or_hold_keys_are_refused(url: str) -> None:
    with pytest.raises(InputError) as refused:
        open_store(url)
    assert "secret" not in str(refused.value)
