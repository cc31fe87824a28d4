"""Hours of use in minutes: what an emulated mount acknowledged is there, whoever is killed, and whatever is done to its files."""

import errno
import faulthandler
import mmap
import os
import random
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

import numpy as np
import psutil
import pytest

from emulation import check_checksums, emulated, kill_daemon, new_folder, opened, revive
from tierwise.core.units import KIB, MIB
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.pgbench import command
from tierwise.postgres.processes import server_processes
from tierwise.tiers.emulated import Emulated

pytestmark = pytest.mark.soak

FILES = 8
MOST_BYTES = 4 * MIB
SOAK_S = 90.0
KILLS_APART_S = (0.5, 4.0)


class Model:
    """What the files must hold: each file's latest content last, before it those of which bytes may still be there after a kill."""

    def __init__(self, folder: Path, seed: int):
        self.folder, self.chance = folder, random.Random(seed)
        self.versions: dict[str, list[bytes]] = {}
        self.creating = ""
        self.renaming: tuple[str, str] | None = None  # to nothing: it is removed
        self.done: dict[str, int] = {}

    def step(self) -> None:
        names = sorted(self.versions)
        if len(names) < FILES:
            self.create(f"file-{self.chance.getrandbits(40):x}")
            return
        name = self.chance.choice(names)
        often: list[Callable[[str], None]] = [self.write, self.write, self.read, self.read, self.store, self.fsync]
        do = self.chance.choice([*often, *often, self.rename, self.truncate, self.allocate, self.unlink])
        do(name)
        self.done[do.__name__] = self.done.get(do.__name__, 0) + 1

    def go_on(self) -> NoReturn:
        while True:
            self.step()

    def create(self, name: str) -> None:
        self.creating = name
        (self.folder / name).touch()
        self.created()

    def write(self, name: str) -> None:
        start, data = self.place(name)
        with self.changing(name, spliced(self.versions[name][-1], start, data)), opened(self.folder / name) as descriptor:
            assert os.pwrite(descriptor, data, start) == len(data)

    def store(self, name: str) -> None:
        """Write through a shared mapping: kept by a kill only once it was flushed."""
        size = len(self.versions[name][-1])
        if size == 0:
            return
        start = self.chance.randrange(size)
        data = self.chance.randbytes(min(size - start, self.chance.randrange(1, 64 * KIB)))
        self.versions[name].append(spliced(self.versions[name][-1], start, data))
        flushed = self.chance.random() < 0.5
        stored_by_child(self.folder / name, size, start, data, flushed)
        if flushed:
            self.settled(name)

    def read(self, name: str) -> None:
        expected = self.versions[name][-1]
        start, length = self.chance.randrange(len(expected) + 1), self.chance.randrange(256 * KIB)
        with opened(self.folder / name) as descriptor:
            found = read_whole(descriptor, length, start)
        assert found == expected[start : start + length], f"{name} from {start}"

    def fsync(self, name: str) -> None:
        with opened(self.folder / name) as descriptor:
            os.fsync(descriptor)
        self.settled(name)

    def rename(self, name: str) -> None:
        new = f"file-{self.chance.getrandbits(40):x}" if self.chance.random() < 0.7 else self.chance.choice(sorted(self.versions))
        self.renaming = name, new
        (self.folder / name).rename(self.folder / new)
        self.renamed()

    def truncate(self, name: str) -> None:
        size = self.chance.randrange(MOST_BYTES)
        with self.changing(name, self.versions[name][-1][:size].ljust(size, b"\0")):
            os.truncate(self.folder / name, size)

    def allocate(self, name: str) -> None:
        start, length = self.chance.randrange(MOST_BYTES), self.chance.randrange(1, 256 * KIB)
        with self.changing(name, self.versions[name][-1].ljust(start + length, b"\0")), opened(self.folder / name) as descriptor:
            os.posix_fallocate(descriptor, start, length)

    def unlink(self, name: str) -> None:
        with opened(self.folder / name) as descriptor:
            self.renaming = name, ""
            (self.folder / name).unlink()
            expected = self.versions[name][-1]
            assert read_whole(descriptor, len(expected) + 1, 0) == expected, "open, though without a name"
        self.renamed()

    def place(self, name: str) -> tuple[int, bytes]:
        start = self.chance.randrange(min(len(self.versions[name][-1]) + 64 * KIB, MOST_BYTES))
        return start, self.chance.randbytes(self.chance.choice([1, 511, 4096, 8192, 65536, 300_000]))

    @contextmanager
    def changing(self, name: str, content: bytes) -> Iterator[None]:
        unsure = len(self.versions[name]) > 1
        self.versions[name].append(content)
        yield
        if not unsure:
            self.settled(name)
        elif len(self.versions[name]) > 6:
            self.fsync(name)

    def settled(self, name: str) -> None:
        self.versions[name] = self.versions[name][-1:]

    def created(self) -> None:
        self.versions[self.creating] = [b""]
        self.creating = ""

    def renamed(self) -> None:
        assert self.renaming
        old, new = self.renaming
        if new != old:
            moved = self.versions.pop(old)
            if new:
                self.versions[new] = moved
        self.renaming = None

    def check(self, *, killed: bool) -> None:
        """Every file is what it must be, byte by byte; after a kill each byte comes from one of the file's versions."""
        if self.creating and (self.folder / self.creating).exists():
            self.created()
        if self.renaming and not (self.folder / self.renaming[0]).exists():
            self.renamed()
        self.creating, self.renaming = "", None
        assert {path.name for path in self.folder.iterdir()} == set(self.versions)
        for name, versions in self.versions.items():
            found = (self.folder / name).read_bytes()
            if not killed:
                assert found == versions[-1], name
                continue
            assert len(found) in {len(version) for version in versions}, name
            reported = np.frombuffer(found, dtype=np.uint8)
            fits = np.zeros(len(found), dtype=bool)
            for version in versions:
                fits |= reported == np.frombuffer(version[: len(found)].ljust(len(found), b"\0"), dtype=np.uint8)
            assert fits.all(), f"{name}: {np.count_nonzero(~fits)} bytes from {np.argmin(fits)} of {len(found)}"
            self.versions[name] = [found]


def spliced(content: bytes, start: int, data: bytes) -> bytes:
    return content[:start].ljust(start, b"\0") + data + content[start + len(data) :]


def stored_by_child(path: Path, size: int, start: int, data: bytes, flushed: bool) -> None:
    """Store in a mapping of `path`, in its own process: where the daemon has gone the kernel ends it by SIGBUS."""
    child = os.fork()
    if child == 0:
        faulthandler.disable()  # it would tell of the signal, which is no news
        try:
            with opened(path) as descriptor, mmap.mmap(descriptor, size) as mapped:
                mapped[start : start + len(data)] = data
                if flushed:
                    mapped.flush()
            os._exit(0)
        finally:
            os._exit(1)
    if os.waitpid(child, 0)[1]:
        raise OSError(errno.ENOTCONN, os.strerror(errno.ENOTCONN))


def read_whole(descriptor: int, length: int, start: int) -> bytes:
    """Read until the end: through the page cache the kernel gives what it has, and tells of the daemon's end at the next read."""
    found = b""
    while len(found) < length and (more := os.pread(descriptor, length - len(found), start + len(found))):
        found += more
    return found


@pytest.mark.parametrize("cached", [False, True], ids=["past the page cache", "cached"])
def test_files_hold_what_was_acknowledged_however_often_the_daemon_is_killed(tmp_path: Path, cached: bool) -> None:
    chance, kills, remounts = random.Random(5), 0, 0
    end_s = time.monotonic() + SOAK_S / 2
    with emulated(tmp_path, "intel-s3700", cached=cached) as tier:
        model = Model(tier.directory, seed=6)
        while time.monotonic() < end_s:
            tier.delays(chance.random() < 0.5)
            killer = threading.Timer(chance.uniform(*KILLS_APART_S), kill_daemon, [tier])
            if chance.random() < 0.7:
                killer.start()
                with pytest.raises(OSError, match=r"connected|abort"):
                    model.go_on()
                killer.join()
                revive(tier)
                model.check(killed=True)
                kills += 1
            else:
                for _ in range(300):
                    model.step()
                model.check(killed=False)
                tier.stop()
                tier.start()
                model.check(killed=False)
                remounts += 1
    print(f"{kills} kills, {remounts} remounts, {model.done}")
    assert kills >= 5
    assert remounts >= 1
    assert min(model.done.values()) > 20


@pytest.fixture
def tier(workspace: Path, cluster18: Cluster) -> Iterator[Emulated]:
    owner = cluster18.account.ids
    with emulated(new_folder(workspace), "intel-s3700", owner=owner) as mounted:
        yield mounted


ROUNDS = 6


def test_a_cluster_killed_at_random_under_load_recovers_and_verifies_clean(tier: Emulated, cluster18: Cluster) -> None:
    """The cluster's files are all on the mount, the log too; in turn the server and the disk below it are killed."""
    chance = random.Random(7)
    cluster = Cluster(tier.directory / "cluster", cluster18.binaries, cluster18.account)
    settings = {"shared_buffers": "16MB", "max_wal_size": "64MB", "checkpoint_timeout": "30s"}
    cluster.create()
    cluster.start(settings)
    subprocess.run(command(cluster, ["--initialize", "--scale=5", "--quiet"]), check=True, capture_output=True)
    with cluster.connect() as session:
        session.execute("CREATE TABLE reported (n int PRIMARY KEY)")
    reported = 0
    for round_ in range(ROUNDS):
        tier.delays(round_ % 3 > 0)
        load = subprocess.Popen(command(cluster, ["--client=4", "--time=600"]), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end_s = time.monotonic() + chance.uniform(4, 10)
        with cluster.connect() as session:
            while time.monotonic() < end_s:
                session.execute("INSERT INTO reported VALUES (%s)", (reported + 1,))
                reported += 1  # acknowledged: never to be lost
        if round_ % 2:
            servers = server_processes(cluster.data)
            kill_daemon(tier)
            for process in servers:  # they have lost their disk
                with suppress(psutil.NoSuchProcess):
                    process.kill()
            psutil.wait_procs(servers, 20)
            load.wait(60)
            revive(tier)
        else:
            cluster.kill()
            load.wait(60)
        tier.delays(False)
        cluster.start(settings)
        with cluster.connect() as session:
            assert session.execute("SELECT count(*), coalesce(max(n), 0) FROM reported").fetchone() == (reported, reported)
            balances = "SELECT (SELECT sum(abalance) FROM pgbench_accounts), (SELECT sum(bbalance) FROM pgbench_branches)"
            accounts, branches = session.execute(balances).fetchone() or (0, 1)
            assert accounts == branches
        cluster.stop()
        check_checksums(cluster)
        cluster.start(settings)
    cluster.stop()
