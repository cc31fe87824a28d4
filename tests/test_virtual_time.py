"""The virtual clock of the mounts: what it gains, which processes it counts, and what it refuses."""

import math
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import polars as pl
import pytest

from emulation import replayed_s
from random_readers import FILE_BYTES, READER, filled, need_groups, read_at_random, readers, run, virtual_readers
from support import BUSY, beside
from tierwise.bench.recording import outstanding, tier_io
from tierwise.core import session_group
from tierwise.core.errors import TierwiseError
from tierwise.core.vocabulary import ClockKind
from tierwise.tiers.clock import HELD_MOST_S
from tierwise.tiers.daemon import Daemon
from tierwise.tiers.emulated import Emulated
from tierwise.tiers.sessions import processor_clock


@pytest.mark.parametrize("device", ["mtron-3025", "sata-7k2-x6", "st3000dm001"])
def test_one_session_takes_its_processor_time_and_the_service_times_of_its_requests(tmp_path: Path, device: str) -> None:
    """The session has one thread: others, as a test's own process has, are counted too while it waits."""
    with filled(tmp_path, device) as (tier, path), readers(path, 1) as processes:
        clock = processor_clock(processes[0].pid)
        tier.daemon.count_one(processes[0].pid, origin_s=0.25)
        tier.reset_io()
        tier.delays(True)
        begun, used_s = tier.daemon.time(), time.clock_gettime(clock)
        run(processes)
        ended, computed_s = tier.daemon.time(), time.clock_gettime(clock) - used_s
        io = tier.io()["data"]
    assert ended.strangers == 0
    assert ended.jumped_s - begun.jumped_s == pytest.approx(io.intended_s, rel=1e-6)
    assert io.actual_s == pytest.approx(io.intended_s, rel=1e-6)
    assert ended.computed_s - begun.computed_s == pytest.approx(computed_s, abs=2e-3)
    assert ended.now_s - begun.now_s == pytest.approx(ended.computed_s - begun.computed_s + io.intended_s, rel=1e-6)


def test_the_one_session_and_the_daemon_take_turns_on_one_processor_until_real_time_returns(tmp_path: Path) -> None:
    everywhere = os.sched_getaffinity(0)
    with filled(tmp_path, "intel-x25-e") as (tier, _):
        assert tier.daemon.pid is not None
        tier.daemon.count_one(os.getpid(), origin_s=0.0)
        assert os.sched_getaffinity(0) == os.sched_getaffinity(tier.daemon.pid) == {max(everywhere)}
        tier.daemon.wait_in_real_time()
        assert os.sched_getaffinity(0) == os.sched_getaffinity(tier.daemon.pid) == everywhere
        tier.daemon.count_one(os.getpid(), origin_s=0.0)
    assert os.sched_getaffinity(0) == everywhere, "the daemon has ended"


@pytest.mark.parametrize("device", ["sas-10k-raid10", "mtron-3025", "exos-x24-raid10-x4-smq"])
@need_groups
def test_the_log_of_several_replayed_through_a_new_model_gives_the_same_completions(tmp_path: Path, device: str) -> None:
    with virtual_readers(tmp_path, device, 4, reads=60) as (tier, processes):
        tier.reset_io()
        run(processes)
        log = tier.requests()
    assert len(log) == 4 * 60
    assert replayed_s(log, device) == pytest.approx(log["intended_s"].to_list(), rel=1e-5)
    assert (log["actual_s"] - log["intended_s"]).mean() < 0.1 * log["intended_s"].mean()  # type: ignore[operator]


@need_groups
def test_outstanding_requests_are_those_of_the_log(tmp_path: Path) -> None:
    with filled(tmp_path, "sata-7k2") as (tier, path), session_group.session_group() as group:
        found = {}
        for count in (1, 4):
            with group.entered(), readers(path, count) as processes:
                tier.daemon.count_several(group.folders, processors=2, origin_s=0.0)
                tier.reset_io()
                tier.delays(True)
                run(processes)
                (depth,) = outstanding({"tier": tier}, (tier_io(tier, tier.io()),)).values()
                log = tier.requests()
                tier.delays(False)
                tier.daemon.wait_in_real_time()
            ended = log.select(begun=pl.col("time_s"), ended=pl.col("time_s") + pl.col("intended_s")).sort("begun")
            fresh = ended.with_columns(since=pl.max_horizontal("begun", pl.col("ended").cum_max().shift(1, fill_value=-math.inf)))
            busy_s = fresh.select((pl.col("ended") - pl.col("since")).clip(0)).sum().item()
            assert depth == pytest.approx(log["intended_s"].sum() / busy_s, rel=1e-3)
            found[count] = depth
    assert found[1] == pytest.approx(1.0, rel=1e-3)
    assert 3.5 < found[4] <= 4.0


@need_groups
def test_while_somebody_computes_the_clock_gains_his_processor_time_and_does_not_jump(tmp_path: Path) -> None:
    """A disk's answer, several milliseconds away, comes when so much was computed, and not before."""
    with filled(tmp_path, "sata-7k2") as (tier, path), session_group.session_group() as group, ExitStack() as ends:
        with group.entered():
            processes = ends.enter_context(readers(path, 1, reads=20))
            busy = ends.enter_context(beside(*BUSY))
        time.sleep(0.5)
        tier.daemon.count_several(group.folders, processors=2, origin_s=0.0)
        tier.delays(True)
        looking = processor_clock(tier.daemon.pid or 0)
        begun, used_s, looked_s = tier.daemon.time(), time.clock_gettime(processor_clock(busy.pid)), time.clock_gettime(looking)
        run(processes)
        ended, busy_s = tier.daemon.time(), time.clock_gettime(processor_clock(busy.pid)) - used_s
        looked_s = time.clock_gettime(looking) - looked_s
        intended_s = tier.io()["data"].intended_s
    gained_s = ended.now_s - begun.now_s
    assert ended.jumped_s - begun.jumped_s < 0.05 * gained_s
    assert gained_s > 0.95 * intended_s
    assert busy_s > 0.8 * gained_s, "one computes while the other waits for the disk: the clock goes by the one"
    assert looked_s < 0.5 * busy_s, "each look takes a processor from whoever computes"


@need_groups
@pytest.mark.alone  # one of the two waits where others take both processors, and the clock goes by the other
def test_while_two_compute_the_clock_gains_half_of_what_they_use_whoever_was_answered_last(tmp_path: Path) -> None:
    """Who is answered by a flash drive computes from then on, and nobody asks for anything for a while."""
    with virtual_readers(tmp_path, "mtron-3025", 2, reads=800, rounds=2_000) as (tier, processes):
        begun = tier.daemon.time()
        run(processes)
        ended = tier.daemon.time()
    computed_s, used_s = ended.computed_s - begun.computed_s, ended.used_s - begun.used_s
    assert 0.5 * used_s <= computed_s < 0.75 * used_s, "now and then one computes while the other waits"


@need_groups
def test_a_held_clock_stands_and_whoever_sleeps_by_it_wakes_at_its_time(tmp_path: Path) -> None:
    with virtual_readers(tmp_path, "sata-7k2", 1, reads=4, origin_s=5.0) as (tier, processes):
        begun_s = tier.daemon.time().now_s
        tier.daemon.hold(True)
        tier.daemon.sleep(100.0, hold=False)  # a session's own: it goes for whoever sleeps; nobody computes, and nobody reads: it jumps
        tier.daemon.sleep(0.2, hold=True)  # and then stands again
        woken_s = tier.daemon.time().now_s
        assert woken_s - begun_s == pytest.approx(100.2, abs=0.05)
        with ThreadPoolExecutor(1) as pool:
            reading = pool.submit(run, processes)
            time.sleep(0.3)
            assert not reading.done(), "its first read waits for a clock that stands"
            assert tier.daemon.time().jumped_s == pytest.approx(100.2, abs=0.05)
            tier.daemon.hold(False)
            reading.result()
        history = tier.daemon.history()
        assert (history[1:] >= history[:-1]).all()
        assert history[-1, 1] > woken_s


@need_groups
def test_a_window_does_not_end_while_its_sessions_wait_for_what_no_device_serves(tmp_path: Path) -> None:
    """Sessions were all blocked by a page that the kernel's own thread held, and the clock went on to the window's end at once."""
    with virtual_readers(tmp_path, "sata-7k2", 1, reads=100) as (tier, processes):
        tier.reset_io()
        begun_s = time.monotonic()
        with ThreadPoolExecutor(1) as pool:
            window = pool.submit(tier.daemon.sleep, 2.0, hold=True)
            time.sleep(HELD_MOST_S / 2)  # it waits for a signal
            assert tier.daemon.time().jumped_s == 0.0
            run(processes)
            read = tier.io()["data"]
            assert tier.daemon.time().jumped_s == pytest.approx(read.intended_s, rel=0.05), "all its reads are in the window"
            window.result()
        left_s = 2.0 - read.intended_s
        assert time.monotonic() - begun_s > HELD_MOST_S + left_s, "with nothing left to read it stands, and then goes by real time"


@need_groups
def test_who_has_the_clock_stand_can_wait_for_a_read_and_nobody_waits_for_ever(tmp_path: Path) -> None:
    """Pgbench reads the catalogues before its clients connect; where these were not cached any more, a whole run hung on that."""
    with virtual_readers(tmp_path, "sata-7k2", 1, reads=20) as (tier, processes):
        tier.daemon.hold(True)
        begun_s = time.monotonic()
        run(processes)
        taken_s, jumped_s = time.monotonic() - begun_s, tier.daemon.time().jumped_s
        assert jumped_s == pytest.approx(tier.io()["data"].intended_s, rel=0.05), "the reads that were requested, and no more"
        assert taken_s > HELD_MOST_S + 0.8 * jumped_s, "it stands at first, and then goes no quicker than real time"


def test_what_one_sessions_clock_cannot_count_is_reported_or_refused(tmp_path: Path) -> None:
    with filled(tmp_path, "mtron-3025") as (tier, path):
        tier.daemon.count_one(os.getppid(), origin_s=0.0)  # another process than the one that reads
        tier.delays(True)
        read_at_random(path, 10)
        assert tier.daemon.time().strangers == 10
        tier.daemon.count_one(os.getpid(), origin_s=0.0)
        with ThreadPoolExecutor(4) as pool:  # several at once
            list(pool.map(lambda seed: read_at_random(path, 50, seed=seed), range(4)))
        assert tier.daemon.time().strangers > 0
        tier.daemon.wait_in_real_time()
        assert tier.daemon.clock is ClockKind.REAL
        tier.delays(False)
        tier.empty_cache(cached=True)
        with pytest.raises(TierwiseError, match=r"reads ahead on .* count a group"):
            tier.daemon.count_one(os.getpid(), origin_s=0.0)


def test_tiers_of_one_daemon_go_by_one_clock(tmp_path: Path) -> None:
    with filled(tmp_path / "disk", "sata-7k2") as (disk, _):
        shared = Daemon(tmp_path / "daemon")
        tiers = []
        for name, device in (("hdd", "sata-7k2"), ("ssd", "mtron-3025")):
            work = tmp_path / name
            work.mkdir()
            tier = Emulated(name, device, work=work, stretch=1.0, seed=1, owner=(os.getuid(), os.getgid()), daemon=shared)
            tier.start()
            (tier.directory / "data").write_bytes(bytes(FILE_BYTES))
            tiers.append(tier)
        try:
            assert len({tier.daemon.pid for tier in tiers}) == 1
            assert disk.daemon.pid != shared.pid
            shared.count_one(os.getpid(), origin_s=0.0)
            for tier in tiers:
                tier.delays(True)
            begun_s = shared.time().jumped_s
            for tier in tiers:
                read_at_random(tier.directory / "data", 20)
            intended_s = math.fsum(tier.io()["data"].intended_s for tier in tiers)
            assert shared.time().jumped_s - begun_s == pytest.approx(intended_s, rel=1e-6)
            pid = shared.pid
            tiers[0].delays(False)
            tiers[0].empty_cache(cached=True)
            assert shared.pid == pid, "the other one is still served"
        finally:
            for tier in tiers:
                tier.stop()
        assert shared.pid is None


@pytest.mark.alone
def test_platters_stand_where_the_clock_begins(tmp_path: Path) -> None:
    """Repetitions from one origin are copies of each other; from another origin they are not."""
    with filled(tmp_path, "sata-7k2") as (tier, path):
        intended_s = []
        for origin_s in (0.0, 0.0, 0.003):
            tier.daemon.count_one(os.getpid(), origin_s=origin_s)
            tier.delays(False)
            tier.delays(True)
            tier.reset_io()
            read_at_random(path, 1)
            intended_s.append(tier.io()["data"].intended_s)
    assert intended_s[0] == pytest.approx(intended_s[1], abs=1e-3)
    assert intended_s[0] != pytest.approx(intended_s[2], abs=1e-3)


@need_groups
@pytest.mark.parametrize("then", ["virtual", "real"])
def test_what_a_killed_process_has_under_way_is_done_before_another_clock_comes(tmp_path: Path, then: str) -> None:
    with filled(tmp_path, "sata-7k2") as (tier, path), session_group.session_group() as group:
        tier.daemon.count_several(group.folders, processors=2, origin_s=0.0)
        tier.delays(True)
        tier.daemon.hold(True)  # so that its request stays at the device
        with group.entered():
            reader = subprocess.Popen(
                [sys.executable, "-c", READER, str(path), "1", "1", "0"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        assert reader.stdin is not None
        reader.stdin.write(b"\n")
        reader.stdin.flush()
        time.sleep(1.0)
        reader.kill()
        if then == "virtual":
            tier.daemon.count_several(group.folders, processors=2, origin_s=0.0)
        else:
            tier.daemon.wait_in_real_time()
        tier.delays(False)
        reader.communicate()
        read_at_random(path, 3)
        assert len(tier.requests().filter(operation="read")) >= 1


@need_groups
def test_a_transfer_without_delays_ends_by_the_clock_that_it_began_by(tmp_path: Path) -> None:
    with filled(tmp_path, "sata-7k2") as (tier, path), session_group.session_group() as group, ThreadPoolExecutor() as threads:
        descriptor = os.open(path, os.O_RDWR)
        for size_bytes in (FILE_BYTES, 4 * FILE_BYTES, 16 * FILE_BYTES):
            os.pwrite(descriptor, bytes(size_bytes), 0)
            synced = threads.submit(os.fsync, descriptor)  # as long as the real disk takes
            time.sleep(0.005)
            under_way = not synced.done()
            tier.daemon.count_several(group.folders, processors=2, origin_s=0.0)
            synced.result()
            tier.daemon.wait_in_real_time()
            if under_way:
                break
        os.close(descriptor)
        assert under_way, "the disk was quicker than the test"
        assert tier.requests()["actual_s"].min() >= 0  # type: ignore[operator]
