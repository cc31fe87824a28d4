"""Watch a PostgreSQL on an emulated disk, move what `tierwise advise` advises, and check it: ``make demo``, in eight minutes."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from server_loads import DEPTHS, Site, copy_mb_s, pgbench, read_ms, site
from tierwise.core.host import mark
from tierwise.core.progress import say
from tierwise.postgres.cluster import PORT, SUPERUSER
from tierwise.postgres.pgbench import age, initialise
from tierwise.postgres.processes import reclaim as reclaim_servers
from tierwise.postgres.processes import socket_folder
from tierwise.postgres.workspace import open_workspace
from tierwise.tiers.reclaim import reclaim as reclaim_tiers

SETTINGS: Final = {"shared_buffers": "8MB", "debug_io_direct": "data", "checkpoint_timeout": "30s", "track_io_timing": "on"}
SCALE: Final = 6
WATCH_S: Final = 150
CALIBRATION_S: Final = 4.0


def prepare(at: Site) -> None:
    """Start the server with all relations on the disk, in real time."""
    at.cluster.start(SETTINGS)
    initialise(at.cluster, SCALE, tables="hdd", indexes="hdd")
    with at.cluster.connect() as session:
        age(session)
        session.execute("CHECKPOINT")
    for tier in at.tiers.values():
        tier.delays(True)


def write_tiers(path: Path, at: Site) -> None:
    """Write the file of the server's tiers: reads of the largest table's own file, and of a file as large on the SSD."""
    with at.cluster.connect() as session:
        row = session.execute("SELECT pg_relation_filepath('pgbench_accounts'), pg_relation_size('pgbench_accounts')").fetchone()
    assert row is not None
    lines = []
    for name, tier in at.tiers.items():
        copy = tier.directory / "copied"
        copy.write_bytes(bytes(row[1]))
        file = at.cluster.data / row[0] if name == "hdd" else copy
        points = [[depth, round(read_ms(file, depth, CALIBRATION_S), 4)] for depth in DEPTHS]
        rates = [round(copy_mb_s(copy, CALIBRATION_S, write=write), 2) for write in (False, True)]
        copy.unlink()
        lines += [
            f"[tiers.{name}]",
            f'tablespaces = ["{name}"]',
            f'calibrated_on = "{mark()}"',
            f"read_ms = {points}",
            f"copy_mb_s = {rates}",
        ]
    path.write_text("\n".join([*lines, "usd_a_month_per_gib = 0.1", ""]), encoding="utf-8")
    print(path.read_text(encoding="utf-8"))


def type_in(*command: str, **more: str) -> None:
    """Show a command as a reader would type it, and run it."""
    say(f"demo: {shlex.join(command)}")
    words = [sys.executable, "-m", *command] if command[0] == "tierwise" else list(command)
    if subprocess.run(words, check=False, env={**os.environ, **more}).returncode:
        rule = "demo: this command failed. Remedy: run the demo again when the machine does nothing else"
        raise SystemExit(f"{rule}. Its files stay in {open_workspace() / 'demo'}")


def main() -> None:
    folder = open_workspace() / "demo"
    reclaim_servers(folder.parent)
    reclaim_tiers(folder.parent)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o755)
    before, after, mine, plan = (str(folder / name) for name in ("before.parquet", "after.parquet", "server.toml", "plan"))
    say("demo: starting PostgreSQL with its tables on an emulated disk")
    with site(folder) as at:
        prepare(at)
        say("demo: measuring reads and copies on both tiers, for a minute")
        cluster, socket = at.cluster, str(socket_folder(at.cluster.folder))
        write_tiers(Path(mine), at)
        with pgbench(cluster, "--builtin=simple-update"):
            watch = ("tierwise", "watch", at.dsn, "--for", f"{WATCH_S}s", "--out")
            type_in(*watch, before)
            type_in("tierwise", "advise", "--activity", before, "--tiers", mine, "--plan", plan)
            path = f"{cluster.binaries.folder}:{os.environ['PATH']}"
            type_in("sh", f"{plan}/plan.sh", PGHOST=socket, PGPORT=str(PORT), PGUSER=SUPERUSER, PATH=path)
            type_in(*watch, after)
            type_in("tierwise", "check", "--before", before, "--after", after, "--tiers", mine)
    shutil.rmtree(folder, ignore_errors=True)
    say("demo: done, and its server and files are removed. README.md, Your own server, has the same commands for yours")


if __name__ == "__main__":
    main()
