"""Start a PostgreSQL on an emulated disk and SSD with a load, and watch it: ``make demo``. It takes less than two minutes."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import psycopg

from tierwise.core.output_format import TicketFormat
from tierwise.core.progress import say
from tierwise.postgres.binaries import find_binaries
from tierwise.postgres.cluster import DATABASE, PORT, SUPERUSER, Cluster
from tierwise.postgres.pgbench import command, initialise
from tierwise.postgres.processes import reclaim as reclaim_servers
from tierwise.postgres.processes import socket_folder
from tierwise.postgres.relations import create_tablespace
from tierwise.postgres.workspace import open_workspace, server_account
from tierwise.tiers.emulated import Emulated
from tierwise.tiers.reclaim import reclaim as reclaim_tiers
from tierwise.watch.answer import answer
from tierwise.watch.answer_text import shown
from tierwise.watch.recording import Request, watch
from tierwise.watch.service_times import ServiceTimes

TIERS: Final = {"hdd": "hdd-1tb", "ssd": "micron-7450"}
SETTINGS: Final = {"shared_buffers": "8MB", "debug_io_direct": "data", "checkpoint_timeout": "30s", "track_io_timing": "on"}
SCALE, CLIENTS = 6, 4
WATCH_S: Final = 68.0
"""Two checkpoints and a few seconds."""


@contextmanager
def served(folder: Path) -> Iterator[tuple[Cluster, str]]:
    """Start a server with a tablespace on each tier, in real time, and return it with its connection string."""
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
        for tier in tiers.values():
            tier.delays(True)
            undo.callback(tier.delays, False)
        yield cluster, dsn


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


def main() -> None:
    folder = open_workspace() / "demo"
    reclaim_servers(folder.parent)
    reclaim_tiers(folder.parent)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o755)
    out = folder / "activity.parquet"
    say("demo: starting PostgreSQL with its tables on an emulated disk")
    try:
        with served(folder) as (cluster, dsn), loaded(cluster):
            say(f"demo: tierwise watch '{dsn}' --for {WATCH_S:.0f}s --out {out}")
            watch(Request(dsn, WATCH_S, out))
            print(shown(answer(out, ServiceTimes()), TicketFormat.TABLE))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
