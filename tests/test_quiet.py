"""How quiet the machine is, the forecast that is scaled by it, and blocks that are added for what was rejected."""

import os
import time
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import polars as pl
import pytest

from rows import make_manifest, make_rows, save_run
from tierwise.bench.book import record_stage
from tierwise.bench.order import interleave
from tierwise.bench.retry import begin_retry, plan_retry
from tierwise.bench.study import Cell, Trial
from tierwise.core.quiet import QUICKER, Noise, Pace, Processor, Quiet, listen, noise_of, piece_s, processor, took_s
from tierwise.core.words import IoArm, Substrate
from tierwise.timings.manifest import RETRIED, Stage, load_manifest
from tierwise.timings.parts import read_rows


def work(seconds: float) -> None:
    until_s = time.monotonic() + seconds
    while time.monotonic() < until_s:
        pass


def test_time_that_a_busy_process_wants_is_counted() -> None:
    before = processor()
    busy = get_context("spawn").Process(target=work, args=(1.0,))
    busy.start()
    busy.join()
    after = processor()
    assert after.wanted_s - before.wanted_s > 0.3  # of a second, on a machine that may be shared
    assert 0 <= after.steal_since(before) < 1


def test_steal_is_the_share_of_what_was_wanted() -> None:
    assert Processor(10.0, 3.0).steal_since(Processor(4.0, 1.5)) == pytest.approx(0.25)
    assert Processor(4.0, 1.5).steal_since(Processor(4.0, 1.5)) == 0


def test_listening_takes_as_long_as_it_says_and_finds_sleepers() -> None:
    begun_s = time.monotonic()
    found = listen(0.5)
    assert 0.5 <= time.monotonic() - begun_s < 3
    assert 0 <= found.late_s <= found.latest_s
    assert found.word in Quiet
    assert found.meaning


@pytest.mark.parametrize(
    ("steal", "late_s", "word"),
    [
        (0.0, 1e-4, Quiet.QUIET),
        (0.02, 1e-4, Quiet.RESTLESS),
        (0.0, 2e-3, Quiet.RESTLESS),
        (0.2, 0.0, Quiet.NOISY),
        (0.0, 0.01, Quiet.NOISY),
    ],
)
def test_either_steal_or_lateness_makes_a_machine_noisy(steal: float, late_s: float, word: Quiet) -> None:
    assert Noise(steal, late_s, 2 * late_s).word is word


def test_one_late_sleeper_in_many_is_no_noise() -> None:
    found = noise_of([1e-4] * 999 + [0.5], steal=0.0)
    assert (found.word, found.latest_s) == (Quiet.QUIET, 0.5)


def test_the_forecast_scales_work_by_pace_and_steal_and_leaves_waiting() -> None:
    assert took_s(100.0, 50.0, pace=1.0, steal=0.0) == 150
    assert took_s(100.0, 50.0, pace=2.0, steal=0.0) == 250
    assert took_s(100.0, 50.0, pace=0.5, steal=0.0) == pytest.approx(50 + 100 * 0.5**QUICKER), "waking others takes as long"
    assert took_s(100.0, 50.0, pace=1.0, steal=0.25) == pytest.approx(50 + 100 / 0.75)
    assert took_s(1.0, 0.0, pace=1.0, steal=1.0) < 100


def test_a_pace_has_in_it_what_others_take_of_the_processors() -> None:
    alone_s = min(piece_s() for _ in range(5))
    busy = [get_context("spawn").Process(target=work, args=(60.0,), daemon=True) for _ in range(3 * (os.cpu_count() or 1))]
    for one in busy:
        one.start()
    try:
        time.sleep(2.0)  # until they are all at work
        with Pace() as pace:
            time.sleep(3.0)
    finally:
        for one in busy:
            one.kill()
            one.join()
    beside_s, steal = pace.measured()
    assert beside_s > 1.3 * alone_s
    assert 0 <= steal < 1


def flagged(rows: pl.DataFrame, *wanted: tuple[str, int]) -> pl.DataFrame:
    """`rows` of which all of a (trial's part, block) are rejected."""
    for part, block in wanted:
        bad = pl.col("trial").str.contains(part, literal=True) & (pl.col("block") == block)
        rows = rows.with_columns(flags=pl.when(bad).then(pl.lit(["overshoot"], dtype=pl.List(pl.String))).otherwise("flags"))
    return rows


def test_as_many_whole_blocks_are_added_as_the_worst_trial_has_lost() -> None:
    rows = flagged(
        make_rows(), ("index=hdd/start=FL/table=hdd", 1), ("index=hdd/start=FL/table=hdd", 4), ("index=ssd/start=NV/table=ssd", 2)
    )
    retry = plan_retry(rows)
    assert retry.blocks == {"index_placement/source-m": 2}
    assert retry.rejected == {"index_placement/source-m": 9}  # cold, hot and cross of each
    simulated = rows.with_columns(substrate=pl.lit(str(Substrate.SIMULATED)))
    assert plan_retry(simulated).blocks == {}


def test_blocks_are_added_once_and_the_earlier_rows_stay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = flagged(make_rows(), ("index=hdd/start=FL/table=hdd", 1))
    folder = save_run(tmp_path, rows)
    reopened = begin_retry(folder)
    assert (reopened.status, reopened.finished_at) == ("running", None)
    assert reopened.blocks_added("index_placement", "source-m") == 1
    assert reopened.blocks_added("index_placement", "elsewhere") == 0
    assert "1 of index_placement/source-m (3 rows rejected)" in capsys.readouterr().err
    assert read_rows(folder).height == rows.height
    assert begin_retry(folder) == reopened
    assert "once" in capsys.readouterr().err


def test_a_clean_run_stays_complete(tmp_path: Path) -> None:
    assert begin_retry(save_run(tmp_path, make_rows())).status == "complete"


@dataclass(frozen=True, slots=True)
class Numbered(Cell):
    number: int


def test_added_blocks_come_after_those_that_are_there_and_leave_their_order() -> None:
    trials = [Trial(Numbered(number), IoArm.DIRECT, frozenset({"hdd"}), str(number % 2)) for number in range(6)]
    before, after = (interleave(trials, blocks=blocks, seed=3) for blocks in (5, 7))
    assert after[: len(before)] == before
    assert {turn.block for turn in after[len(before) :]} == {5, 6}


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


def test_a_manifest_from_before_is_read() -> None:
    manifest = make_manifest(make_rows())
    older = {name: value for name, value in manifest.model_dump().items() if name not in {"retry", "foreseen", "stages"}}
    assert type(manifest).model_validate(older).blocks_added("index_placement", "source-m") == 0
