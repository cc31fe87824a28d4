"""Replicates that are added for what was rejected, and what a run keeps of the machine."""

from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from rows import make_rows, save_run
from tierwise.bench.order import interleave
from tierwise.bench.retry import begin_retry, plan_retry
from tierwise.bench.run_record import record_stage
from tierwise.bench.study import Cell, Trial
from tierwise.core.vocabulary import Evidence, IoMode
from tierwise.timings.manifest import RETRIED, Stage, load_manifest
from tierwise.timings.parts import read_rows


def flagged(rows: pl.DataFrame, *wanted: tuple[str, int]) -> pl.DataFrame:
    """`rows` of which all of a (trial's part, replicate) are rejected."""
    for part, replicate in wanted:
        bad = pl.col("trial").str.contains(part) & (pl.col("replicate") == replicate)
        rows = rows.with_columns(flags=pl.when(bad).then(pl.lit(["overshoot"], dtype=pl.List(pl.String))).otherwise("flags"))
    return rows


def test_as_many_whole_replicates_are_added_as_the_worst_trial_has_lost() -> None:
    rows = flagged(
        make_rows(),
        ("index=hdd/io_mode=[a-z]+/start=FL/table=hdd", 1),
        ("index=hdd/io_mode=[a-z]+/start=FL/table=hdd", 4),
        ("index=ssd/io_mode=[a-z]+/start=NV/table=ssd", 2),
    )
    retry = plan_retry(rows)
    assert retry.replicates == {"index_placement/source-m": 2}
    assert retry.rejected == {"index_placement/source-m": 9}  # cold, hot and cross of each
    simulated = rows.with_columns(evidence=pl.lit(str(Evidence.SIMULATED)))
    assert plan_retry(simulated).replicates == {}


def test_replicates_are_added_once_and_the_earlier_rows_stay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = flagged(make_rows(), ("index=hdd/io_mode=[a-z]+/start=FL/table=hdd", 1))
    folder = save_run(tmp_path, rows)
    reopened = begin_retry(folder)
    assert (reopened.status, reopened.finished_at) == ("running", None)
    assert reopened.replicates_added("index_placement", "source-m") == 1
    assert reopened.replicates_added("index_placement", "elsewhere") == 0
    assert "1 of index_placement/source-m (3 rows rejected)" in capsys.readouterr().err
    assert read_rows(folder).height == rows.height
    assert begin_retry(folder) == reopened
    assert "already" in capsys.readouterr().err


def test_a_clean_run_stays_complete(tmp_path: Path) -> None:
    assert begin_retry(save_run(tmp_path, make_rows())).status == "complete"


@dataclass(frozen=True, slots=True)
class Numbered(Cell):
    number: int


def test_added_replicates_come_after_those_that_are_there_and_leave_their_order() -> None:
    trials = [Trial(Numbered(number), IoMode.DIRECT, frozenset({"hdd"}), str(number % 2)) for number in range(6)]
    before, after = (interleave(trials, replicates=replicates, seed=3) for replicates in (5, 7))
    assert after[: len(before)] == before
    assert {turn.replicate for turn in after[len(before) :]} == {5, 6}


def test_a_run_knows_the_pace_and_steal_over_its_stages(tmp_path: Path) -> None:
    folder = save_run(tmp_path, make_rows())
    assert load_manifest(folder).conditions is None
    for stage in (
        Stage(name="run-a", took_s=30.0, pace=1.0, steal=0.0),
        Stage(name="run-b", took_s=10.0, pace=2.0, steal=0.4),
        Stage(name=f"{RETRIED}run-b", took_s=99.0, pace=9.0, steal=0.9),
    ):
        record_stage(folder, stage)
    found = load_manifest(folder).conditions
    assert found is not None
    assert found == pytest.approx((40.0, 1.25, 0.1))
