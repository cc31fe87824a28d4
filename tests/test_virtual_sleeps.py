"""Sleeps that are counted: a process that asks the kernel to wake it later is woken by the clock of the tiers."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from emulation import emulated
from tierwise.core import session_group
from tierwise.core.units import MIB
from tierwise.tiers import sleeps
from tierwise.tiers.daemon import Daemon

pytestmark = [
    pytest.mark.skipif(session_group.obstacle() is not None, reason=str(session_group.obstacle())),
    pytest.mark.skipif(sleeps.obstacle() is not None, reason=str(sleeps.obstacle())),
]
SLEEPER = """
import sys, time
print("ready", flush=True)
for line in sys.stdin:
    count, seconds = line.split()
    begun = time.monotonic()
    for _ in range(int(count)):
        time.sleep(float(seconds))
    print(time.monotonic() - begun, flush=True)
"""
READER = """
import mmap, os, sys
descriptor, buffer = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT), mmap.mmap(-1, 8192)
for number in range(int(sys.argv[2])):
    os.preadv(descriptor, [buffer], number * 7919 % 8192 * 8192)
"""


class Sleeping:
    """A process whose sleeps `daemon` serves."""

    def __init__(self, daemon: Daemon):
        self.started: list[subprocess.Popen[str]] = []
        sleeps.reporting_sleeps(self._start, daemon.serve_sleeps)
        (self._process,) = self.started
        assert self._answer() == "ready\n"

    def _start(self) -> None:
        self.started.append(subprocess.Popen([sys.executable, "-c", SLEEPER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))

    def sleep(self, count: int, seconds: float) -> float:
        """Real seconds that so many sleeps took."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{count} {seconds}\n")
        self._process.stdin.flush()
        return float(self._answer())

    def _answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def end(self) -> None:
        self._process.communicate()


@contextmanager
def sleeping(daemon: Daemon, group: session_group.SessionGroup) -> Iterator[Sleeping]:
    with group.entered():
        process = Sleeping(daemon)
    try:
        yield process
    finally:
        process.end()


def test_a_virtual_sleep_takes_its_seconds_of_the_clock_and_next_to_no_real_ones(tmp_path: Path) -> None:
    with emulated(tmp_path, "sata-7k2") as tier, session_group.session_group() as group, sleeping(tier.daemon, group) as process:
        tier.daemon.count_several(group.folders, processors=2, origin_s=0.0)
        begun = tier.daemon.time()
        took_s = process.sleep(20, 1.5)
        ended = tier.daemon.time()
        tier.daemon.wait_in_real_time()
    assert ended.jumped_s - begun.jumped_s == pytest.approx(30.0, abs=0.1)
    assert took_s < 10


def test_a_sleep_is_slowed_as_the_devices_are(tmp_path: Path) -> None:
    """PostgreSQL delays a commit by 100 ms at the most, which is less than half a flush of slowed disks."""
    with emulated(tmp_path, "sata-7k2") as tier, session_group.session_group() as group, sleeping(tier.daemon, group) as process:
        tier.daemon.count_several(group.folders, processors=2, origin_s=0.0)
        tier.delays(True, slowdown=50.0)
        begun = tier.daemon.time()
        process.sleep(2, 0.1)
        ended = tier.daemon.time()
        tier.delays(False)
        tier.daemon.wait_in_real_time()
    assert ended.jumped_s - begun.jumped_s == pytest.approx(10.0, abs=0.1)


def test_by_real_time_it_sleeps_as_it_requested_to(tmp_path: Path) -> None:
    with emulated(tmp_path, "sata-7k2") as tier, session_group.session_group() as group, sleeping(tier.daemon, group) as process:
        assert process.sleep(2, 0.2) >= 0.4
        tier.daemon.count_several(group.folders, processors=2, origin_s=0.0)
        process.sleep(1, 0.2)
        tier.daemon.wait_in_real_time()
        assert process.sleep(2, 0.2) >= 0.4
        tier.delays(True, slowdown=4.0)
        assert process.sleep(2, 0.1) >= 0.75


def test_devices_go_on_meanwhile_and_do_not_wake_it_early(tmp_path: Path) -> None:
    """100 reads of a disk take some tenths of a second of its time; a sleep of ten seconds beside them ends ten seconds after it began."""
    with emulated(tmp_path, "sata-7k2") as tier, session_group.session_group() as group, sleeping(tier.daemon, group) as process:
        path = tier.directory / "data"
        path.write_bytes(bytes(64 * MIB))
        tier.daemon.count_several(group.folders, processors=2, origin_s=0.0)
        tier.delays(True)
        tier.reset_io()
        begun = tier.daemon.time()
        with group.entered():
            reader = subprocess.Popen([sys.executable, "-c", READER, str(path), "100"])
        process.sleep(1, 10.0)
        ended = tier.daemon.time()
        assert reader.wait() == 0
        requests = tier.requests()
        tier.delays(False)
        tier.daemon.wait_in_real_time()
    assert len(requests.filter(operation="read")) >= 100
    assert 0.1 < requests["time_s"].max() - requests["time_s"].min() < 9  # type: ignore[operator]
    assert 10.0 <= ended.now_s - begun.now_s < 11.0  # it is read some time after it ended, beside other work


def test_a_process_that_is_killed_in_its_sleep_holds_nobody_up(tmp_path: Path) -> None:
    with emulated(tmp_path, "sata-7k2") as tier, session_group.session_group() as group:
        with sleeping(tier.daemon, group) as process:
            tier.daemon.count_several(group.folders, processors=2, origin_s=0.0)
            tier.daemon.hold(True)
            process.started[0].stdin.write("1 1000\n")  # type: ignore[union-attr]
            process.started[0].stdin.flush()  # type: ignore[union-attr]
            time.sleep(0.1)
            process.started[0].kill()
        tier.daemon.hold(False)
        tier.daemon.wait_in_real_time()
        with sleeping(tier.daemon, group) as another:
            assert another.sleep(1, 0.1) >= 0.1
