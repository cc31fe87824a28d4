"""The latency study on real mounts: every read of a window is in its rows, whoever records, and the server agrees."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from emulation import need_fuse
from tierwise.bench.inputs import Inputs
from tierwise.bench.live import OnServer, open_testbed
from tierwise.bench.recording import Recorder
from tierwise.bench.study import Trial, Turn
from tierwise.bench.testbed import Testbed
from tierwise.core.pairs import load_pair
from tierwise.core.profiles import load_profile
from tierwise.core.vocabulary import ClockKind, IoMode
from tierwise.postgres.cluster_files import WAL
from tierwise.postgres.wait_events import UNNAMED
from tierwise.recorders import bpftrace, strace
from tierwise.studies.read_latency.measuring.read_window import EMULATOR, choose_recorder, histograms
from tierwise.studies.read_latency.measuring.trials import CACHED, NAME, SESSIONS, STUDY, Cell, StudyState, tablespaces, trials
from tierwise.timings.reads import READS, TABLE, sources
from tierwise.timings.schema import Timing

PAIR = "source-l"
Opened = tuple[Testbed, StudyState]
GRID = {"window_s": 0.5, "table_mib": 32}


@pytest.fixture(scope="module")
def opened(workspace: Path) -> Iterator[Opened]:
    with opened_testbed(workspace / "read-latency", "18.0") as opened:
        yield opened


@contextmanager
def opened_testbed(work: Path, version: str) -> Iterator[Opened]:
    need_fuse()
    profile = load_profile("smoke").model_copy(update={"studies": {NAME: GRID}})
    inputs = Inputs(profile, (load_pair(PAIR),), None, 1, version)
    with open_testbed(STUDY, load_pair(PAIR), inputs, work, seed=inputs.seed) as opened:
        yield opened


def trial_of(testbed: Testbed, io_mode: IoMode) -> Trial[Cell]:
    only, real_time = trials(testbed.profile, testbed.pair)
    assert (only.real_time, real_time.real_time) == (False, True)
    return replace(only, io_mode=io_mode)


def window(opened: Opened, io_mode: IoMode, recorders: tuple[str, ...]) -> tuple[Timing, pl.DataFrame]:
    testbed, study_state = opened
    testbed.profile = testbed.profile.model_copy(update={"studies": {NAME: {**GRID, "recorders": recorders}}})
    trial = trial_of(testbed, io_mode)
    STUDY.prepare(trial, testbed, study_state)
    observed = STUDY.measure(trial, testbed, study_state, Recorder())
    (timing,) = observed.timings
    assert observed.reads is not None
    return timing, observed.reads


def test_past_the_page_cache_the_emulators_log_holds_every_read_that_the_server_counts(opened: Opened) -> None:
    testbed, _ = opened
    testbed.waiting = False
    timing, reads = window(opened, IoMode.DIRECT, ())
    assert timing.parts.clock == testbed.clock(alone=False)
    assert timing.proof["recorder"] == EMULATOR
    if timing.parts.clock is ClockKind.VIRTUAL_SEVERAL:
        shares = timing.proof["window_shares"]
        assert timing.proof["sessions"] == sum(sessions for sessions, _, _ in SESSIONS.values())
        assert sum(shares.values()) == pytest.approx(1.0, abs=0.02)
        assert sum(share for name, share in shares.items() if name.startswith(UNNAMED)) < 0.05
        assert shares["reads hdd"] > 0.2, "four of eight sessions read there"
        assert timing.proof["slowdown"] > 1
        flash = timing.proof["tablespaces"]["ssd"]
        assert flash["latency_sum_s"] / flash["reads"] < 300e-6, "at the drive's own pace"
    assert dict(reads.schema) == READS
    counted = {io.relation: io.reads for io in timing.relation_io}
    logged = dict(reads.group_by("relation").len().iter_rows())
    assert set(timing.proof["tablespaces"]) == set(tablespaces(testbed))
    assert sum(counted.values()) > 50
    assert sum(logged.get(name, 0) for name in counted) == pytest.approx(sum(counted.values()), rel=0.001)
    assert set(reads["size_bytes"]) == {8192}
    assert (testbed.cluster.data / WAL).readlink() == testbed.tiers["ssd"].directory / WAL


@pytest.mark.parametrize("recorder", [bpftrace.NAME, strace.NAME])
def test_through_the_page_cache_a_tracer_sees_every_read_with_its_tablespace(opened: Opened, recorder: str) -> None:
    testbed, study_state = opened
    testbed.waiting = True
    if choose_recorder(testbed, [recorder], study_state.obstacles) != recorder:
        pytest.skip(str(study_state.obstacles[recorder]))
    timing, reads = window(opened, IoMode.BUFFERED, (recorder,))
    assert "conservation" not in timing.flags
    assert timing.result_rows == pytest.approx(timing.proof["server"]["reads"], rel=0.01)
    for io in timing.relation_io:
        assert reads.filter(relation=io.relation).height == pytest.approx(io.reads, rel=0.01, abs=2)
    reported = timing.proof["tablespaces"]
    assert reported == histograms(reads.filter(pl.col("tablespace").is_in(list(tablespaces(testbed)))))
    fastest = {space: min(map(int, reported[space]["buckets"])) for space in reported}
    slowest = {space: max(map(int, reported[space]["buckets"])) for space in reported}
    assert fastest[CACHED] < 17, "memory answers in less than 131 us"
    assert slowest["hdd"] >= 21, "a disk takes milliseconds"


def test_debians_server_counts_the_reads_that_were_traced(workspace: Path, debians_15: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PG_BIN", str(debians_15))
    with opened_testbed(workspace / "of-15" / "read-latency", "15.0") as (testbed, study_state):
        testbed.waiting = True
        if choose_recorder(testbed, [strace.NAME], study_state.obstacles) != strace.NAME:
            pytest.skip(str(study_state.obstacles[strace.NAME]))
        timing, reads = window((testbed, study_state), IoMode.BUFFERED, (strace.NAME,))
        assert testbed.cluster.server_version.startswith("15.")
        assert "conservation" not in timing.flags
        assert reads.height > 50
        assert timing.result_rows == pytest.approx(timing.proof["server"]["reads"], rel=0.01)
        assert set(timing.proof["tablespaces"]) == set(tablespaces(testbed))
        assert set(reads["size_bytes"]) == {8192}


def test_the_single_reads_are_kept_with_the_run(opened: Opened, tmp_path: Path) -> None:
    testbed, study_state = opened
    testbed.profile = testbed.profile.model_copy(update={"studies": {NAME: {**GRID, "recorders": ()}}})
    turn = Turn(0, 3, trial_of(testbed, IoMode.BUFFERED))
    (timing,) = OnServer(STUDY, testbed, study_state, [turn], tmp_path).observe(turn)
    (source,) = sources(tmp_path)
    (file,) = source.files
    kept = pl.read_parquet(file, hive_partitioning=False)
    assert dict(kept.schema) == TABLE
    assert set(kept["replicate"]) == {3}
    assert timing.flags[-1:] == ("unseen",), "the log does not see what memory serves"
    assert kept.height == timing.result_rows


def test_where_nothing_can_be_mounted_there_is_nothing_to_record() -> None:
    profile = load_profile("smoke")
    assert trials(profile, load_pair(PAIR).simulated()) == ()
    assert [(trial.io_mode, trial.real_time) for trial in trials(profile, load_pair(PAIR))] == [
        (IoMode.BUFFERED, False),
        (IoMode.BUFFERED, True),
    ]
