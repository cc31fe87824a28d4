"""The emulator's log of one placement of `index_placement` predicts the emulated times of the others."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import polars as pl
import pytest

from checkout import Home
from tierwise.timings.manifest import Manifest, StudyRecord
from tierwise.timings.parts import read_rows, without_real_time_rows
from tierwise.timings.traces import TrialKey, read_trace

pytestmark = pytest.mark.skipif(not os.access("/dev/fuse", os.R_OK | os.W_OK), reason="no FUSE here: nothing can be emulated")


@dataclass(frozen=True)
class Emulated:
    raw: Path
    manifest: Manifest
    rows: pl.DataFrame

    @property
    def study(self) -> StudyRecord:
        return next(record for record in self.manifest.studies if record.name == "index_placement")


@pytest.fixture(scope="module")
def run(smoke_home: Home, smoke: Manifest) -> Emulated:
    raw = smoke_home.folder / "raw"
    return Emulated(raw, smoke, without_real_time_rows(read_rows(raw / smoke.run_id)).filter(study="index_placement"))


def test_the_log_of_the_first_replicate_is_kept_and_accounts_for_the_whole_query(run: Emulated) -> None:
    assert run.study.facts["traces"] == {"recorded": 14, "missing": 0, "why": None}
    for trial in run.study.trials:
        trace = read_trace(run.raw / run.manifest.run_id, TrialKey("index_placement", "source-m", trial))
        assert trace is not None
        timed = run.rows.filter(trial=trial, replicate=0).sort("step")
        for row in timed.iter_rows(named=True):
            query = trace.filter(step=row["step"])
            if again := json.loads(row["proof"]).get("cpu_s"):  # hot: the time is that of more executions, which the log has not
                paces = [cpu_s / work_s for cpu_s, work_s in zip(again, json.loads(row["proof"])["reference_s"], strict=True)]
                assert row["cache"] == "hot"
                assert row["elapsed_s"] == pytest.approx(median(paces) * row["reference_s"])
            else:
                assert sum(query["think_s"]) + sum(query["actual_s"].drop_nulls()) == pytest.approx(row["elapsed_s"], rel=1e-4)
            gathered = dict(query.filter(operation="read")["relation"].value_counts().rows())
            assert gathered == {io["relation"]: io["reads"] for io in row["relation_io"] if io["reads"]}


def test_predicted_times_are_near_the_emulated_ones(run: Emulated) -> None:
    """The required tenth is shown on `quick`, on a quiet machine; here a query has a few dozen reads, with their luck."""
    emulated = {(row["trial"], row["replicate"]): row for row in run.rows.filter(cache="cold").rows(named=True)}
    predictions = run.study.facts["predictions"]
    published = {trial for trial in run.study.trials if trial.endswith("variant=published")}
    assert {one["trial"] for one in predictions} == published, "variants have no trial with both on ssd"
    whole, devices = {}, {}
    for one in predictions:
        rows = [emulated[one["trial"], replicate] for replicate in one["replicates"]]
        if one["trial"] == one["reference"] or not rows:
            continue  # flagged executions predict nothing
        whole[one["trial"]] = median(reported / row["elapsed_s"] for reported, row in zip(one["predicted_s"], rows, strict=True)) - 1
        intended_s = [sum(io["intended_s"] for io in row["tier_io"]) for row in rows]
        devices[one["trial"]] = median(reported / gathered for reported, gathered in zip(one["devices_s"], intended_s, strict=True)) - 1
    assert len(whole) >= 6
    assert median(map(abs, devices.values())) < 0.15, devices
    assert median(map(abs, whole.values())) < 0.25, whole
    assert max(map(abs, whole.values())) < 0.80, whole


def test_a_cold_query_finds_nothing_in_the_drives_own_buffer(run: Emulated) -> None:
    """The first request to the disks, with the heap cached also the first to the index, waits for a platter, whatever was read before.

    From the drive's buffer it would take 0.08 ms.
    """
    for trial in run.study.trials:
        trace = read_trace(run.raw / run.manifest.run_id, TrialKey("index_placement", "source-m", trial))
        assert trace is not None
        cold = trace.filter(tier="hdd", step=0)
        if "heap-cached" in trial:
            cold = cold.filter(relation="pob")
            assert cold.is_empty() == ("index=ssd" in trial), trial
        else:
            assert cold.is_empty() == ("index=ssd/" in trial and "table=ssd" in trial), trial
        assert all(first_s > 0.12e-3 for first_s in cold["intended_s"].head(1)), trial
