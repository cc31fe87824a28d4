"""Watch a PostgreSQL on an emulated disk, move what `tierwise advise` advises, and check it: ``make demo``, in nine minutes."""

import os
import random
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import psycopg

from tierwise.core.progress import say
from tierwise.core.units import MB, PAGE_BYTES
from tierwise.postgres.binaries import find_binaries
from tierwise.postgres.cluster import DATABASE, PORT, SUPERUSER, Cluster
from tierwise.postgres.pgbench import age, command, initialise
from tierwise.postgres.processes import reclaim as reclaim_servers
from tierwise.postgres.processes import socket_folder
from tierwise.postgres.relations import create_tablespace
from tierwise.postgres.workspace import open_workspace, server_account
from tierwise.tiers.emulated import Emulated
from tierwise.tiers.reclaim import reclaim as reclaim_tiers

TIERS: Final = {"hdd": "hdd-1tb", "ssd": "micron-7450"}
SETTINGS: Final = {"shared_buffers": "8MB", "debug_io_direct": "data", "checkpoint_timeout": "30s", "track_io_timing": "on"}
SCALE, CLIENTS = 6, 4
WATCH_S: Final = 150
DEPTHS: Final = (1, 2, 4, 8)
CALIBRATION_S: Final = 4.0


@contextmanager
def served(folder: Path) -> Iterator[tuple[Cluster, dict[str, Emulated]]]:
    """Start a server with a tablespace on each tier, in real time, with all relations on the disk."""
    account = server_account()
    cluster = Cluster(folder / "server", find_binaries(), account)
    with ExitStack() as undo:
        tiers = {name: Emulated(name, device, work=folder / name, stretch=1.0, seed=1, owner=account.ids) for name, device in TIERS.items()}
        for tier in tiers.values():
            tier.directory.parent.mkdir(mode=0o755)
            tier.start()
            undo.callback(tier.stop)
        cluster.create()
        cluster.start(SETTINGS)
        undo.callback(cluster.stop)
        dsn = f"host={socket_folder(cluster.folder)} port={PORT} user={SUPERUSER} dbname={DATABASE}"
        with psycopg.connect(f"{dsn} dbname=template1", autocommit=True) as connection:
            for name, tier in tiers.items():
                create_tablespace(connection, name, tier.directory)
            connection.execute("ALTER DATABASE postgres SET TABLESPACE hdd")
        initialise(cluster, SCALE, tables="hdd", indexes="hdd")
        with cluster.connect() as session:
            age(session)
            session.execute("CHECKPOINT")
        for tier in tiers.values():
            tier.delays(True)
            undo.callback(tier.delays, False)
        yield cluster, tiers


@contextmanager
def loaded(cluster: Cluster) -> Iterator[None]:
    """Run pgbench's simple updates beside what is done inside."""
    options = ["--builtin=simple-update", "--protocol=prepared", f"--client={CLIENTS}", "--time=3600", "--no-vacuum"]
    load = subprocess.Popen(command(cluster, options), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        load.terminate()
        load.wait()


def calibrated(path: Path, depth: int) -> float:
    """Return the milliseconds of a random read of a page of the file at `path`, with `depth` requests at a time."""
    pages, handle, ends_s = path.stat().st_size // PAGE_BYTES, os.open(path, os.O_RDONLY), time.monotonic() + CALIBRATION_S

    def read(seed: int) -> int:
        draw, count = random.Random(seed), 0
        while time.monotonic() < ends_s:
            os.pread(handle, PAGE_BYTES, draw.randrange(pages) * PAGE_BYTES)
            count += 1
        return count

    with ThreadPoolExecutor(depth) as pool:
        reads = sum(pool.map(read, range(depth)))
    os.close(handle)
    return 1000 * depth * CALIBRATION_S / reads


def copied(path: Path, *, write: bool) -> float:
    """Return the MB/s at which the pages of the file at `path` are read, or written, one after another."""
    pages, handle, count = path.stat().st_size // PAGE_BYTES, os.open(path, os.O_RDWR), 0
    began_s = time.monotonic()
    while time.monotonic() < began_s + CALIBRATION_S:
        place, page = count % pages * PAGE_BYTES, bytes(PAGE_BYTES)
        count += 1
        if write:
            os.pwrite(handle, page, place)
        else:
            os.pread(handle, PAGE_BYTES, place)
    if write:
        os.fsync(handle)
    took_s = time.monotonic() - began_s
    os.close(handle)
    return count * PAGE_BYTES / MB / took_s


def write_tiers(path: Path, cluster: Cluster, tiers: dict[str, Emulated]) -> None:
    """Write the file of the server's tiers: reads of the largest table's own file, and of a file as large on the SSD."""
    with cluster.connect() as session:
        row = session.execute("SELECT pg_relation_filepath('pgbench_accounts'), pg_relation_size('pgbench_accounts')").fetchone()
    assert row is not None
    files = {"hdd": cluster.data / row[0], "ssd": tiers["ssd"].directory / "calibration"}
    copies = {name: tier.directory / "copied" for name, tier in tiers.items()}
    for file in (files["ssd"], *copies.values()):
        file.write_bytes(bytes(row[1]))
    lines = []
    for name, file in files.items():
        points = [[depth, round(calibrated(file, depth), 4)] for depth in DEPTHS]
        lines += [f"[tiers.{name}]", f'tablespaces = ["{name}"]', f"read_ms = {points}"]
        lines += [f"copy_mb_s = {[round(copied(copies[name], write=write), 2) for write in (False, True)]}"]
    for file in (files["ssd"], *copies.values()):
        file.unlink()
    path.write_text("\n".join([*lines, "usd_a_month_per_gib = 0.1", ""]), encoding="utf-8")
    print(path.read_text(encoding="utf-8"))


def type_in(*command: str, **more: str) -> None:
    """Show a command as a reader would type it, and run it."""
    say(f"demo: {shlex.join(command)}")
    words = [sys.executable, "-m", *command] if command[0] == "tierwise" else list(command)
    subprocess.run(words, check=True, env={**os.environ, **more})


def main() -> None:
    folder = open_workspace() / "demo"
    reclaim_servers(folder.parent)
    reclaim_tiers(folder.parent)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o755)
    before, after, mine, plan = (str(folder / name) for name in ("before.parquet", "after.parquet", "mine.toml", "plan"))
    say("demo: starting PostgreSQL with its tables on an emulated disk")
    try:
        with served(folder) as (cluster, tiers):
            socket = str(socket_folder(cluster.folder))
            dsn = f"host={socket} port={PORT} user={SUPERUSER} dbname={DATABASE}"
            write_tiers(Path(mine), cluster, tiers)
            with loaded(cluster):
                watch = ("tierwise", "watch", dsn, "--for", f"{WATCH_S}s", "--out")
                type_in(*watch, before)
                type_in("tierwise", "advise", "--activity", before, "--tiers", mine, "--plan", plan)
                path = f"{cluster.binaries.folder}:{os.environ['PATH']}"
                type_in("sh", f"{plan}/plan.sh", PGHOST=socket, PGPORT=str(PORT), PGUSER=SUPERUSER, PATH=path)
                type_in(*watch, after)
                type_in("tierwise", "check", "--before", before, "--after", after, "--tiers", mine)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
