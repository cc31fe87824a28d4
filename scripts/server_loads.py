"""Loads of a PostgreSQL server on two emulated tiers in real time, and how fast those tiers are, for checks of `watch` and `advise`."""

import os
import random
import subprocess
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psycopg

from tierwise.core.session_group import SessionGroup
from tierwise.core.units import MB, MIB, PAGE_BYTES
from tierwise.postgres.binaries import find_binaries
from tierwise.postgres.cluster import DATABASE, PORT, SUPERUSER, Cluster
from tierwise.postgres.pgbench import command
from tierwise.postgres.processes import socket_folder
from tierwise.postgres.relations import create_tablespace
from tierwise.postgres.workspace import server_account
from tierwise.tiers.daemon import Daemon
from tierwise.tiers.emulated import Emulated

DEVICES: Final = {"hdd": "hdd-1tb", "ssd": "micron-7450"}
DEPTHS: Final = (1, 2, 4, 8)
CLIENTS: Final = 4
LOG_BYTES: Final = 16 * MIB


@dataclass(frozen=True)
class Load:
    """Statements that make the relations, all on the disk, the script of a session, and what moves to the SSD beforehand."""

    make: tuple[str, ...]
    script: str
    writes: bool = False
    log_on_disk: bool = False
    on_ssd: tuple[str, ...] = ()


ACCOUNTS: Final = (
    "CREATE TABLE accounts (id int PRIMARY KEY, balance int, filler char(84)) WITH (fillfactor = 90)",
    "INSERT INTO accounts SELECT i, 0, '' FROM generate_series(1, 600000) i",
)
BRANCHES: Final = (
    *ACCOUNTS,
    "CREATE TABLE teller (id int PRIMARY KEY, balance int, filler char(84))",
    "INSERT INTO teller SELECT i, 0, '' FROM generate_series(1, 600) i",
    "CREATE TABLE branch (id int PRIMARY KEY, balance int, filler char(88))",
    "INSERT INTO branch SELECT i, 0, '' FROM generate_series(1, 60) i",  # ten for each of pgbench's, so that few sessions meet in one
    "CREATE TABLE history (teller int, branch int, id int, delta int, at timestamp, filler char(22))",
)
LOOKUP: Final = "\\set id random(1, 600000)\nSELECT balance FROM accounts WHERE id = :id;\n"
BANK: Final = """\\set id random(1, 600000)
\\set teller random(1, 600)
\\set branch random(1, 60)
BEGIN;
UPDATE accounts SET balance = balance + 1 WHERE id = :id;
SELECT balance FROM accounts WHERE id = :id;
UPDATE teller SET balance = balance + 1 WHERE id = :teller;
UPDATE branch SET balance = balance + 1 WHERE id = :branch;
INSERT INTO history VALUES (:teller, :branch, :id, 1, now(), '');
END;
"""
LOADS: Final = {
    "read-only": Load(ACCOUNTS, LOOKUP),
    "TPC-B, log apart": Load(BRANCHES, BANK, writes=True),
    "TPC-B, log on the same disk": Load(BRANCHES, BANK, writes=True, log_on_disk=True),
    "survey": Load(
        (
            "CREATE TABLE source (id int PRIMARY KEY, ra float8, filler char(200))",
            "INSERT INTO source SELECT i, random() * 360, '' FROM generate_series(1, 200000) i",
            "CREATE INDEX source_ra ON source (ra)",
            "CREATE TABLE detection (source int, mag real, filler char(100))",
            "INSERT INTO detection SELECT 1 + random() * 199999, random(), '' FROM generate_series(1, 600000)",
            "CREATE INDEX detection_source ON detection (source)",
        ),
        "\\set ra random(1, 359)\nSELECT avg(d.mag) FROM source s JOIN detection d ON d.source = s.id"
        " WHERE s.ra BETWEEN :ra AND :ra + 0.01;\n",
    ),
    "census": Load(
        (
            "CREATE TABLE person (caseid int, age int, filler char(150))",
            "INSERT INTO person SELECT i, random() * 100000, '' FROM generate_series(1, 400000) i",
            "CREATE INDEX person_age ON person (age)",
        ),
        "\\set age random(1, 99990)\nSELECT count(caseid) FROM person WHERE age BETWEEN :age AND :age + 3;\n",
    ),
    "partitions that grow": Load(
        (
            "CREATE TABLE event (id bigserial, filler char(150)) PARTITION BY RANGE (id)",
            "CREATE TABLE event_old PARTITION OF event FOR VALUES FROM (1) TO (200000)",
            "CREATE TABLE event_new PARTITION OF event FOR VALUES FROM (200000) TO (MAXVALUE)",
            "INSERT INTO event (filler) SELECT '' FROM generate_series(1, 400000)",
            "CREATE INDEX event_id ON event (id)",
        ),
        "\\set id random(1, 400000)\nINSERT INTO event (filler) VALUES ('');\nSELECT filler FROM event WHERE id = :id;\n",
        writes=True,
    ),
    "queue": Load(
        (*ACCOUNTS, "CREATE TABLE job (id bigserial PRIMARY KEY, account int, filler char(200))"),
        "\\set id random(1, 600000)\nINSERT INTO job (account) VALUES (:id);\nSELECT balance FROM accounts WHERE id = :id;\n"
        "DELETE FROM job WHERE id = (SELECT id FROM job ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED);\n",
        writes=True,
        log_on_disk=True,
    ),
    "wide values": Load(
        (
            "CREATE TABLE document (id int PRIMARY KEY, title text, body text)",
            "ALTER TABLE document ALTER body SET STORAGE EXTERNAL",
            "INSERT INTO document SELECT i, md5(i::text), repeat(md5(i::text), 375) FROM generate_series(1, 8000) i",
        ),
        "\\set id random(1, 8000)\nSELECT md5(body) FROM document WHERE id = :id;\n",
    ),
    "log with rare reads": Load(
        (
            "CREATE TABLE reading (id bigserial PRIMARY KEY, sensor int, value float8, filler char(100))",
            "INSERT INTO reading (sensor, value) SELECT random() * 1000, i FROM generate_series(1, 600000) i",
        ),
        "\\set id random(1, 600000)\n\\set dice random(1, 10)\nINSERT INTO reading (sensor, value) VALUES (:dice, 1.0);\n"
        "\\if :dice = 1\nSELECT value FROM reading WHERE id = :id;\n\\endif\n",
        writes=True,
        log_on_disk=True,
    ),
    "unused indexes": Load(
        (
            "CREATE TABLE item (id int PRIMARY KEY, stock int, owner int, colour int, filler char(84))",
            "INSERT INTO item SELECT i, random() * 1000, random() * 600000, random() * 600000, '' FROM generate_series(1, 600000) i",
            "CREATE INDEX item_stock ON item (stock)",
            "CREATE INDEX item_owner ON item (owner)",
            "CREATE INDEX item_colour ON item (colour)",
        ),
        "\\set id random(1, 600000)\n\\set stock random(1, 1000)\nUPDATE item SET stock = :stock WHERE id = :id;\n",
        writes=True,
        log_on_disk=True,
    ),
    "idle": Load(ACCOUNTS, "\\sleep 20 s\nSELECT 1;\n"),
}


@dataclass(frozen=True)
class Site:
    """A server that is stopped or started at will, with a tablespace on each tier; with a `group`, the tiers can go by a virtual clock."""

    cluster: Cluster
    tiers: Mapping[str, Emulated]
    daemon: Daemon | None = None
    group: SessionGroup | None = None

    @property
    def dsn(self) -> str:
        return f"host={socket_folder(self.cluster.folder)} port={PORT} user={SUPERUSER} dbname={DATABASE}"

    @property
    def log_folder(self) -> Path:
        return self.cluster.data / "pg_wal"

    def move_log(self, tier: str) -> None:
        """Put the log of the stopped server on `tier`, or back beside its data (``""``)."""
        there = self.log_folder.resolve()
        target = self.tiers[tier].directory / "pg_wal" if tier else self.log_folder
        if there != target:
            if self.log_folder.is_symlink():
                self.log_folder.unlink()
            self.cluster.account.run(["mv", there, target], folder=self.cluster.folder)
            if tier:
                self.log_folder.symlink_to(target)


@contextmanager
def site(folder: Path, group: SessionGroup | None = None) -> Iterator[Site]:
    """Make a server and mount its tiers in `folder`; delays are off."""
    account, daemon = server_account(), Daemon(folder / "daemon") if group else None
    cluster = Cluster(folder / "server", find_binaries(), account)
    with ExitStack() as undo:
        tiers = {
            name: Emulated(name, device, work=folder / name, stretch=1.0, seed=1, owner=account.ids, daemon=daemon)
            for name, device in DEVICES.items()
        }
        for tier in tiers.values():
            tier.directory.parent.mkdir(mode=0o755)
            tier.start()
            undo.callback(tier.stop)
        cluster.create()
        undo.callback(cluster.stop)
        for tier in tiers.values():
            undo.callback(tier.delays, False)
        made = Site(cluster, tiers, daemon, group)
        cluster.start({})
        with psycopg.connect(f"{made.dsn} dbname=template1", autocommit=True) as connection:
            for name, tier in tiers.items():
                create_tablespace(connection, name, tier.directory)
            connection.execute("ALTER DATABASE postgres SET TABLESPACE hdd")
        cluster.stop()
        yield made


@contextmanager
def pgbench(cluster: Cluster, *options: str, clients: int = CLIENTS) -> Iterator[subprocess.Popen[bytes]]:
    """Run pgbench beside what is done inside."""
    always = ["--protocol=prepared", f"--client={clients}", "--time=36000", "--no-vacuum"]
    running = subprocess.Popen(command(cluster, [*options, *always]), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield running
    finally:
        running.terminate()
        running.wait()


def read_ms(path: Path, depth: int, seconds: float) -> float:
    """Return the milliseconds of a random read of a page of the file at `path`, with `depth` requests at a time."""
    with ThreadPoolExecutor(depth) as pool:
        reads = sum(pool.map(lambda seed: _reads(path, seed, seconds), range(depth)))
    return 1000 * depth * seconds / reads


def sync_ms(path: Path, depth: int, seconds: float) -> float:
    """Return the milliseconds of a page written to a log and flushed, beside `depth` - 1 random reads at a time of the file at `path`."""
    log, count = path.with_name("log"), 0
    handle = os.open(log, os.O_RDWR | os.O_CREAT)
    os.pwrite(handle, bytes(LOG_BYTES), 0)  # as large as a segment, so that no flush has a new size to write
    os.fdatasync(handle)
    with ThreadPoolExecutor(depth) as pool:
        for seed in range(depth - 1):
            pool.submit(_reads, path, seed, seconds)
        ends_s = time.monotonic() + seconds
        while time.monotonic() < ends_s:
            os.pwrite(handle, bytes(PAGE_BYTES), count * PAGE_BYTES % LOG_BYTES)
            os.fdatasync(handle)
            count += 1
    os.close(handle)
    log.unlink()
    return 1000 * seconds / count


def _reads(path: Path, seed: int, seconds: float) -> int:
    """Return how many random pages of the file at `path` were read, one after another."""
    pages, draw, count, ends_s = path.stat().st_size // PAGE_BYTES, random.Random(seed), 0, time.monotonic() + seconds
    handle = os.open(path, os.O_RDONLY)
    while time.monotonic() < ends_s:
        os.pread(handle, PAGE_BYTES, draw.randrange(pages) * PAGE_BYTES)
        count += 1
    os.close(handle)
    return count


def copy_mb_s(path: Path, seconds: float, *, write: bool) -> float:
    """Return the MB/s at which the pages of the file at `path` are read, or written anew, one after another, as a copy does."""
    pages, count, page = path.stat().st_size // PAGE_BYTES, 0, bytes(PAGE_BYTES)
    handle = os.open(path, os.O_RDWR)
    began_s = time.monotonic()
    while time.monotonic() < began_s + seconds:
        if write:
            if count % pages == 0:
                os.ftruncate(handle, 0)
            os.pwrite(handle, page, count % pages * PAGE_BYTES)
        else:
            os.pread(handle, PAGE_BYTES, count % pages * PAGE_BYTES)
        count += 1
    if write:
        os.fsync(handle)
    took_s = time.monotonic() - began_s
    os.close(handle)
    return count * PAGE_BYTES / MB / took_s
