"""What takes long: predicted scans, and a day of use in virtual time (``LONG_QUERIES``), in which nothing grows."""

import hashlib
import os
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil
import pytest
import scan_prediction

from emulation import check_checksums, need_fuse, tablespace
from tierwise.core import session_group
from tierwise.core.vocabulary import IoMode
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.settings import measuring_settings
from tierwise.scans.processor import IoMethod
from tierwise.tiers.emulated import Emulated

pytestmark = pytest.mark.soak

MILLION: Final = 1_000_000
QUERIES: Final = int(os.environ.get("LONG_QUERIES") or MILLION)
DAY_S: Final = 86_400.0
SLOWDOWN: Final = 10.0  # this has a million queries of some two reads each take the disk a day
ROWS: Final = 200_000
LOOKS: Final = 20  # how often processes are looked at
FULL: Final = 12  # the number of the look at which every cache is full, and the ring of the latest million requests
GROWTH_BYTES: Final = 16 * 2**20  # how much more memory a process may have at the end than then


@dataclass(frozen=True)
class Look:
    memory_bytes: int
    files: int

    @classmethod
    def at(cls, pid: int) -> "Look":
        process = psutil.Process(pid)
        return cls(process.memory_full_info().uss, process.num_fds())


MAKE: Final = (
    "CREATE TABLE reported (k int, v text) TABLESPACE disk",
    f"INSERT INTO reported SELECT k, md5(k::text) || repeat('x', 200) FROM generate_series(1, {ROWS}) k",
    "ALTER TABLE reported ADD PRIMARY KEY (k) USING INDEX TABLESPACE disk",
    "VACUUM (FREEZE, ANALYZE) reported",
)


@pytest.fixture
def tier(workspace: Path, cluster18: Cluster) -> Iterator[Emulated]:
    with tablespace(workspace, cluster18, "sata-7k2", *MAKE) as mounted:
        yield mounted


def test_a_day_of_queries_finds_no_difference_and_grows_nothing(
    tier: Emulated, cluster18: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each answer is what its key says, the mount's pages bear checksums that hold, and every process ends as large as it was."""
    chance, different = random.Random(24), 0
    cluster18.start(measuring_settings(cluster18.binaries, io_mode=IoMode.DIRECT, shared_buffers_bytes=2**20))
    with cluster18.connect() as connection:
        connection.prepare_threshold = 1
        pids = {"server": connection.info.backend_pid, "daemon": tier.daemon.pid or 0, "client": os.getpid()}
        tier.daemon.count_one(connection.info.backend_pid, origin_s=0.0)
        tier.delays(True, slowdown=SLOWDOWN)
        begun_s = tier.daemon.time().now_s
        looks: dict[str, list[Look]] = {name: [] for name in pids}
        for number in range(QUERIES):
            key = chance.randint(1, ROWS)
            row = connection.execute("SELECT v FROM reported WHERE k = %s", (key,)).fetchone()
            different += row is None or row[0][:32] != hashlib.md5(str(key).encode()).hexdigest()
            if number % (QUERIES // LOOKS) == 0:
                for name, pid in pids.items():
                    looks[name].append(Look.at(pid))
        clock = tier.daemon.time()
        tier.delays(False)
        tier.daemon.wait_in_real_time()
    cluster18.stop()
    check_checksums(cluster18)
    with capsys.disabled():
        print(f"{QUERIES} queries, {(clock.now_s - begun_s) / 3600:.2f} h counted, {different} different; {looks}")
    assert different == 0
    assert clock.strangers == 0
    assert clock.now_s - begun_s > DAY_S * QUERIES / MILLION
    for name, seen in looks.items():
        grown_bytes = seen[-1].memory_bytes - seen[FULL].memory_bytes
        assert grown_bytes < GROWTH_BYTES, f"{name} has grown by {grown_bytes} bytes"
        assert seen[-1].files <= seen[FULL].files, f"{name} has {seen[-1].files} files open"


@pytest.mark.skipif(session_group.obstacle() is not None, reason=str(session_group.obstacle()))
@pytest.mark.parametrize("io_method", [IoMethod.SYNC, IoMethod.WORKER])
@pytest.mark.parametrize("device", ["local-nvme", "kingston-dc600m"])
def test_pages_are_those_that_the_server_counts_and_times_are_near(device: str, io_method: IoMethod) -> None:
    need_fuse()
    assert scan_prediction.main(device, io_method) == 0, "the bounds are in the benchmark"
