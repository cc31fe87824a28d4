"""An emulated mount takes as long as its device model says, and counts its requests."""

import mmap
import os
import random
import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from emulation import emulated, opened, replayed_s
from tierwise.core.units import KIB, MIB, PAGE_BYTES
from tierwise.tiers.emulated import Emulated
from tierwise.tiers.scheduling import WAKING
from tierwise.tiers.tier import FileIo

FILE_BYTES = 64 * MIB


def read_at_random(path: Path, count: int, *, seed: int = 1, size: int = PAGE_BYTES) -> list[float]:
    chance, took_s = random.Random(seed), []
    with opened(path, direct=True) as descriptor, mmap.mmap(-1, size) as buffer:
        for _ in range(count):
            place = chance.randrange(FILE_BYTES // size) * size
            started_s = time.perf_counter()
            assert os.preadv(descriptor, [buffer], place) == size
            took_s.append(time.perf_counter() - started_s)
    return took_s


def overshoot_s(io: FileIo) -> float:
    return (io.actual_s - io.intended_s) / (io.reads + io.writes)


@pytest.fixture(params=["sata-7k2", "sata-7k2-x6", "mtron-3025"])
def tier(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Emulated]:
    with emulated(tmp_path, request.param) as mounted:
        (mounted.directory / "data").write_bytes(random.Random(1).randbytes(FILE_BYTES))
        mounted.reset_io()
        yield mounted


@pytest.mark.alone
def test_reads_take_what_the_model_intends(tier: Emulated) -> None:
    tier.delays(True)
    took_s = read_at_random(tier.directory / "data", 60)
    io = tier.io()["data"]
    assert io.reads == 60
    mean_s = io.intended_s / 60
    # Over 64 MiB the heads of six disks hardly move: the model alone gives 4.1 ms, with 0.08 ms between draws of the pauses.
    assert mean_s == pytest.approx(100e-6 + PAGE_BYTES / 100e6) if tier.device == "mtron-3025" else 3.5e-3 < mean_s < 9e-3
    assert -50e-6 < overshoot_s(io) < 1e-3
    # A program sees what the daemon says it does, and what a busy machine adds before the program runs again.
    beyond_s = sorted(map(float.__sub__, took_s, tier.requests()["actual_s"]))
    assert beyond_s[0] > -0.2e-3
    assert beyond_s[len(beyond_s) // 10] < 1e-3


def test_without_delays_it_is_much_quicker(tier: Emulated) -> None:
    off_s = statistics.median(read_at_random(tier.directory / "data", 200))
    tier.delays(True)
    on_s = statistics.median(read_at_random(tier.directory / "data", 40))
    tier.delays(False)
    again_s = statistics.median(read_at_random(tier.directory / "data", 200))
    assert max(off_s, again_s) < 0.6 * on_s


@pytest.mark.parametrize("device", ["st3000dm001", "sata-7k2-x6", "mtron-3025"])
def test_the_log_replayed_through_a_new_model_gives_the_same_completions(tmp_path: Path, device: str) -> None:
    """What is said of the model alone is so said of the mount, up to what the mount itself adds."""
    with emulated(tmp_path, device) as tier:
        path = tier.directory / "data"
        path.write_bytes(bytes(FILE_BYTES))
        for _ in range(2):  # the delays begin with a device as new
            tier.delays(False)
            tier.delays(True)
            tier.reset_io()
            with ThreadPoolExecutor(8) as pool:
                list(pool.map(lambda job: read_at_random(path, 12, seed=job), range(4)))
                list(pool.map(lambda job: write_at_random(path, 8, seed=job), range(4)))
        log = tier.requests()
    assert len(log) == 4 * 12 + 4 * 9
    assert replayed_s(log, device) == pytest.approx(log["intended_s"].to_list(), rel=1e-5)


def write_at_random(path: Path, count: int, *, seed: int) -> None:
    chance = random.Random(seed)
    with opened(path, direct=True) as descriptor, mmap.mmap(-1, PAGE_BYTES) as buffer:
        for _ in range(count):
            os.pwritev(descriptor, [buffer], chance.randrange(FILE_BYTES // PAGE_BYTES) * PAGE_BYTES)
        os.fsync(descriptor)


@pytest.mark.skipif(os.getuid() != 0, reason="only root may ask for real-time priority and processors that stay awake")
def test_it_goes_before_others_and_keeps_processors_awake_while_there_are_delays_and_no_longer(tmp_path: Path) -> None:
    def priorities(daemon: int | None) -> tuple[bool, bool]:
        assert daemon is not None
        held = {link.readlink() for link in Path(f"/proc/{daemon}/fd").iterdir()}
        return os.sched_getscheduler(daemon) == os.SCHED_RR, WAKING in held

    with emulated(tmp_path) as tier:
        assert priorities(tier.daemon.pid) == (False, False)
        tier.delays(True)
        tier.delays(True)
        assert priorities(tier.daemon.pid) == (True, os.access(WAKING, os.W_OK))
        tier.delays(False)
        assert priorities(tier.daemon.pid) == (False, False)


def test_statistics_count_exactly_the_requests(tmp_path: Path) -> None:
    with emulated(tmp_path) as tier:
        (tier.directory / "folder").mkdir()
        first, second = tier.directory / "folder" / "first", tier.directory / "second"
        for path in (first, second):
            path.write_bytes(bytes(FILE_BYTES))
        for delayed in (False, True):
            tier.delays(delayed)
            tier.reset_io()
            assert tier.io() == {}
            read_at_random(first, 30)
            read_at_random(second, 20, size=128 * KIB)
            with opened(second, direct=True) as descriptor, mmap.mmap(-1, MIB) as buffer:
                for number in range(3):
                    os.pwritev(descriptor, [buffer], number * MIB)
                os.fsync(descriptor)
            found = tier.io()
            assert set(found) == {"folder/first", "second"}
            assert (found["folder/first"].reads, found["folder/first"].read_bytes) == (30, 30 * PAGE_BYTES)
            assert (found["second"].reads, found["second"].read_bytes) == (20, 20 * 128 * KIB)
            assert (found["second"].writes, found["second"].write_bytes) == (3, 3 * MIB)
            assert (found["folder/first"].intended_s > 0) is delayed
            log = tier.requests()
            assert log["operation"].value_counts(sort=True)["count"].to_list() == [50, 3, 1]
            assert log["time_s"].is_sorted()
            for name, io in found.items():
                assert log.filter(log["file"] == name)["actual_s"].sum() == pytest.approx(io.actual_s, rel=1e-4)


def test_a_file_that_was_renamed_or_removed_still_counts(tmp_path: Path) -> None:
    with emulated(tmp_path) as tier:
        for name in ("renamed", "removed"):
            (tier.directory / name).write_bytes(bytes(PAGE_BYTES))
        (tier.directory / "renamed").rename(tier.directory / "now")
        (tier.directory / "removed").unlink()
        assert {path: io.writes for path, io in tier.io().items()} == {"now": 1, "removed": 1}


def test_what_is_written_through_the_delays_is_there(tmp_path: Path) -> None:
    with emulated(tmp_path) as tier:
        tier.delays(True)
        data = random.Random(2).randbytes(2 * MIB + 77)
        (tier.directory / "file").write_bytes(data)
        with (tier.directory / "file").open("r+b") as file:
            file.seek(5)
            file.write(b"changed")
            file.flush()
            os.fsync(file.fileno())
        assert (tier.directory / "file").read_bytes() == data[:5] + b"changed" + data[12:]
        io = tier.io()["file"]
        assert io.write_bytes == len(data) + 7
        assert io.intended_s > len(data) / 80e6
        assert overshoot_s(io) < 5e-3


def test_reads_that_miss_the_page_cache_are_right_too(tmp_path: Path) -> None:
    with emulated(tmp_path) as tier:
        data = random.Random(3).randbytes(8 * MIB)
        (tier.directory / "file").write_bytes(data)
        descriptor = os.open(tmp_path / "backing" / "file", os.O_RDONLY)
        for delayed in (False, True):
            tier.delays(delayed)
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            assert (tier.directory / "file").read_bytes() == data
        os.close(descriptor)
