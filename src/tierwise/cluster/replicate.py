"""The process that measures one replicate: ``python -m tierwise.cluster.replicate``, with the job on its standard input.

It ends with its worker, which holds the input open: at the input's end it stops servers, takes away mounts, and goes.
"""

import os
import shutil
import signal
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import polars as pl

from tierwise.bench.inputs import Inputs, code_version
from tierwise.bench.loop import inputs_of, measure_pair, measured_pairs, with_trials
from tierwise.bench.run_record import RunRecord
from tierwise.bench.study_registry import fingerprint, load_study
from tierwise.bench.workspace import discard_runs, exclusive_workspace, run_folder
from tierwise.cluster.attempts import ROWS, Attempt, Surveyor, encoded, hand_over, keep, put_attempt
from tierwise.cluster.store import open_store
from tierwise.core import host, paths
from tierwise.core.errors import TierwiseError, one_line, with_remedy
from tierwise.core.files import digest
from tierwise.core.host import host_lock, machine_id
from tierwise.core.progress import say
from tierwise.core.toml import Strict
from tierwise.timings.export import TABLES
from tierwise.timings.manifest import Manifest, StudyRecord, load_manifest
from tierwise.timings.parts import rows_so_far

FOLDER: Final = "campaign"  # the folder within the work folder that holds a worker's own files
SPOOL: Final = "spool"
UNFIT: Final = 3  # exit status: this machine has other code or inputs, and no replicate of the run can be measured here
ENDED: Final = "the worker ended it"  # error of an attempt that failed because its worker, its campaign or its budget ended
GRACE_S: Final = 30.0  # how long servers and mounts may take to go before the whole process group is killed


class Job(Strict):
    """A replicate to measure: `attempt` is the name of this attempt, `store` the address of the store."""

    run: Manifest
    study: str
    replicate: int
    attempt: str
    store: str


@dataclass(frozen=True)
class ReplicateRecord(RunRecord):
    """The record of a run that has one replicate; the facts that are found out once are those of the first replicate."""

    replicate: int = 0

    def of(self, study: str, pair: str) -> StudyRecord | None:
        found = super().of(study, pair)
        if found or not self.replicate:
            return found
        return StudyRecord(name=study, pair=pair, trials=(), replicates=0, settings={}, server_version="", facts={})


def main() -> int:
    """Measure the job of standard input, store the attempt, and return the exit status."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    job = Job.model_validate_json(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_worker, daemon=True).start()
    started_at = datetime.now(UTC)
    try:
        inputs = inputs_of(job.run)
        if changed := job.run.fingerprints[job.study].differing(fingerprint(job.study, inputs)):
            say(f"run {job.run.run_id} was begun with other code or inputs: {', '.join(changed[:5])}")
            return UNFIT
        with host_lock():
            if (job.study, job.replicate) in Surveyor(open_store(job.store), job.run.run_id).survey(job.study).counting:
                return 0
            kept = _measure(job, inputs, started_at)
        hand_over(kept)
    except KeyboardInterrupt:
        fail(job, ENDED, started_at)
        return 1
    except Exception as error:
        say(f"{job.study}, replicate {job.replicate + 1}: {error}")
        fail(job, with_remedy(f"{type(error).__name__}: {error}"), started_at)
        return 1
    return 0


def fail(job: Job, error: str, started_at: datetime) -> None:
    """Store that the attempt failed; where the store refuses, the client finds no attempt and begins another."""
    with suppress(OSError, TierwiseError):
        store, failed = open_store(job.store), described_attempt(job, started_at, outcome="failed", error=one_line(error))
        if failed.name not in store.sizes(failed.place):
            put_attempt(store, failed, {}, patience_s=0.0)


def described_attempt(job: Job, started_at: datetime, **outcome: Any) -> Attempt:
    return Attempt(
        **job.model_dump(include={"study", "replicate", "attempt"}),
        run_id=job.run.run_id,
        machine=machine_id(),
        host=host.fingerprint(),
        code_version=code_version(),
        fingerprint=job.run.fingerprints[job.study].sha256,
        prices=digest(paths.data() / "prices"),
        started_at=started_at,
        finished_at=datetime.now(UTC),
        **outcome,
    )


def _measure(job: Job, inputs: Inputs, started_at: datetime) -> Path:
    study = with_trials(load_study(job.study), inputs, job.run.chosen.get(job.study, ""))
    with exclusive_workspace() as workspace:
        discard_runs(workspace, but=job.run.run_id)
        shutil.rmtree(workspace / FOLDER / "runs", ignore_errors=True)
        folder = workspace / FOLDER / "runs" / job.run.run_id
        job.run.model_copy(update={"taken": {}, "studies": (), "begun": ()}).save(folder)
        record = ReplicateRecord(folder, job.replicate)
        for pair in measured_pairs(study, inputs, job.run):
            work = run_folder(workspace, folder.name) / f"{job.study}-{pair.name}"
            measure_pair(study, pair, inputs, record, work, replicate=job.replicate)
        run = load_manifest(folder)
        found = {"records": (*run.studies, *run.begun), "datasets": run.datasets, "calibrations": run.calibrations}
        attempt = described_attempt(job, started_at, outcome="whole", **found)
        kept = keep(workspace / FOLDER / SPOOL, job.store, attempt, _tables(folder, job.study))
        shutil.rmtree(folder)
    return kept


def _tables(folder: Path, study: str) -> dict[str, bytes]:
    tables = {ROWS: encoded(rows_so_far(folder, study))}
    for table in TABLES:
        if pieces := [rows for _, rows in table.pieces(folder, study)]:
            tables[table.folder] = encoded(pl.concat(pieces))
    return tables


def _end_with_worker() -> None:
    while os.read(sys.stdin.fileno(), 1):  # not through Python's buffer, whose lock would be held when this process ends
        pass
    os.kill(os.getpid(), signal.SIGINT)
    threading.Event().wait(GRACE_S)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main())
