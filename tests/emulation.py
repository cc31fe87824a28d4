"""A mounted emulated tier for a test."""

import math
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import psutil
import pytest

from conftest import empty
from tierwise.core import paths
from tierwise.core.errors import MissingError
from tierwise.devices.model import build
from tierwise.devices.protocol import Operation
from tierwise.devices.spec import load_device
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.relations import create_tablespace
from tierwise.postgres.settings import loading_settings
from tierwise.tiers.emulated import Emulated
from tierwise.tiers.mounting import mounts_below, require_fuse
from tierwise.tiers.reclaim import reclaim

MYSELF = (os.getuid(), os.getgid())


def need_fuse() -> None:
    try:
        require_fuse()
    except MissingError as missing:
        pytest.skip(str(missing))


def need_fusermount() -> None:
    """Skip where root cannot become a user who mounts by himself."""
    need_fuse()
    if os.geteuid():
        pytest.skip("every other test here is this test")
    if not shutil.which("fusermount3"):
        pytest.skip("fusermount3 is not installed (apt-get install fuse3)")


def new_folder(parent: Path) -> Path:
    folder = Path(tempfile.mkdtemp(dir=parent))
    folder.chmod(0o755)
    return folder


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """Mount a disk of 64 KiB, which lies in memory, at a new folder."""
    if os.geteuid():
        pytest.skip("only root can mount a small disk")
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


@contextmanager
def emulated(work: Path, device: str = "mtron-3025", *, cached: bool = False, owner: tuple[int, int] = MYSELF) -> Iterator[Emulated]:
    need_fuse()
    tier = Emulated("tier", device, work=work, stretch=1.0, seed=1, owner=owner)
    try:
        tier.start()
        if cached:
            tier.empty_cache(cached=True)
        yield tier
    finally:
        reclaim(work)
        tier.stop()


@contextmanager
def opened(path: Path, *, direct: bool = False) -> Iterator[int]:
    """Open a file for reads and writes; `direct`: past the kernel's page cache."""
    descriptor = os.open(path, os.O_RDWR | os.O_DIRECT * direct)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def kill_daemon(tier: Emulated) -> None:
    assert tier.daemon.pid is not None
    os.kill(tier.daemon.pid, signal.SIGKILL)


def revive(tier: Emulated) -> None:
    """Mount a tier again whose daemon was killed."""
    assert tier.daemon.pid is not None
    psutil.Process(tier.daemon.pid).wait(20)
    reclaim(tier.directory.parent)
    tier.stop()
    tier.start()


def check_checksums(cluster: Cluster) -> None:
    """Read every page of a stopped server."""
    command: list[str | Path] = [cluster.binaries.path("pg_checksums"), "--check", f"--pgdata={cluster.data}"]
    assert "Bad checksums:  0" in cluster.account.run(command, folder=cluster.folder)


@contextmanager
def tablespace(workspace: Path, cluster: Cluster, device: str, *statements: str) -> Iterator[Emulated]:
    """Mount a tablespace `disk` for a server, in which these statements make tables; it is stopped, and has none afterwards."""
    with emulated(new_folder(workspace), device, owner=cluster.account.ids) as tier:
        cluster.start(loading_settings())
        with cluster.connect() as session:
            create_tablespace(session, "disk", tier.directory)
            for statement in (*statements, "CHECKPOINT"):
                session.execute(statement)
        cluster.stop()
        try:
            yield tier
        finally:
            tier.daemon.wait_in_real_time()
            tier.delays(False)
            empty(cluster)


@contextmanager
def foreground(
    work: Path, device: str = "mtron-3025", *, prefix: tuple[str, ...] = (), python: str = sys.executable, owner: int = MYSELF[0]
) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """(process, mountpoint) of a ``tierwise emulate`` of its own, started through `prefix`, ready; ended if the test has not."""
    need_fuse()
    backing, mountpoint = work / "backing", work / "mount"
    for folder in (backing, mountpoint):
        folder.mkdir(exist_ok=True)
        os.chown(folder, owner, owner)
    process = subprocess.Popen(
        [*prefix, python, "-c", "from tierwise.cli import main; main()", "emulate", device, str(backing), str(mountpoint)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(paths.home() / "src"), sysconfig.get_path("purelib")])},
    )
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        ready = process.stdout.readline()
        assert device in ready, process.stderr.read()
        yield process, mountpoint
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
    assert mounts_below(work) == []


def replayed_s(log: pl.DataFrame, device: str) -> list[float]:
    model = build(load_device(device), seed=1)
    done_s: dict[int, float] = {}
    for tag, (came_s, operation, address, size) in enumerate(log.select("time_s", "operation", "address_bytes", "size_bytes").iter_rows()):
        done_s.update(model.advance(came_s))
        model.submit(came_s, tag, Operation[operation.upper()], address, size)
    while (event_s := model.next_event_s()) < math.inf:
        done_s.update(model.advance(event_s))
    return [done_s[tag] - came_s for tag, came_s in enumerate(log["time_s"])]
