"""How much of a load's processor time is the emulated mount's: the same load without a mount, on one without delays, and as a window runs.

Run by name, as root: ``python benchmarks/by_name/mount_processor_time.py [ROUNDS [SLOWDOWN]]`` (three rounds: four minutes). The loads are
those of the WAL study (8 clients, the log on the place) and of the pgbench study (8 clients, everything on the place, memory for a third of
the data). The places are a plain folder in memory, an emulated mount without delays, and a mount by the clock of several sessions. Each
line is the processor time of server and clients for a transaction, user's and system's, and requests through the mount for one.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psutil
from virtual_cells import Opened, opened

from tierwise.bench.processor_time import measured_charge
from tierwise.core.profiles import load_profile
from tierwise.core.session_group import SessionGroup
from tierwise.core.units import MIB
from tierwise.core.vocabulary import ClockKind, IoMode
from tierwise.postgres import pgbench
from tierwise.postgres.cluster_files import place_wal
from tierwise.postgres.settings import measuring_settings
from tierwise.studies.wal_placement.measuring import trials as wal

SECONDS: Final = 4.0
CLIENTS: Final = 8
PLAIN, MOUNT, WINDOW = "plain folder", "mount, no delays", "mount, as a window"
SCALE: Final = 5
TPCB: Final = "pgbench"


def main() -> int:
    rounds, slowdown = (int(sys.argv[1]) if len(sys.argv) > 1 else 3), (float(sys.argv[2]) if len(sys.argv) > 2 else 8.0)
    found: dict[tuple[str, str], list[list[float]]] = {}
    with opened(wal.NAME, load_profile("quick"), 1, pair="wal-placement") as there, in_memory(there) as plain:
        prepare(there, plain)
        for turn in range(rounds):
            cases = [(load, place) for load in (wal.NAME, TPCB) for place in (PLAIN, MOUNT, WINDOW)]
            for load, place in cases if turn % 2 == 0 else cases[::-1]:
                figures = run(there, plain, load, place, slowdown)
                found.setdefault((load, place), []).append(figures)
                print(line(load, place, figures), flush=True)
    print("\nmedians")
    for (load, place), several in sorted(found.items()):
        print(line(load, place, [statistics.median(column) for column in zip(*several, strict=True)]))
    return 0


@contextmanager
def in_memory(there: Opened) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="tierwise-bench-", dir="/dev/shm") as folder:
        Path(folder).chmod(0o755)
        for name in ("plain", "tables"):
            (place := Path(folder) / name).mkdir(mode=0o700)
            there.testbed.cluster.account.own(place)
        yield Path(folder)


def prepare(there: Opened, plain: Path) -> None:
    """Load a database for each of the loads: the WAL study's as it does, and pgbench's on a tablespace of either kind."""
    trial = there.study.trials(there.testbed.profile, there.testbed.pair)[0]
    there.study.prepare(trial, there.testbed, there.study_state)
    with there.testbed.loading({"memory": plain / "tables"}) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 1")


def run(there: Opened, plain: Path, load: str, place: str, slowdown: float) -> list[float]:
    testbed = there.testbed
    assert testbed.group is not None
    testbed.down()
    place_wal(testbed.cluster, plain / "plain" if place == PLAIN else testbed.tiers["ssd"].directory)
    tpcb = load == TPCB
    if tpcb:
        tablespace = "memory" if place == PLAIN else "ssd"
        with testbed.loading() as connection:
            connection.execute("DROP TABLE IF EXISTS pgbench_accounts, pgbench_branches, pgbench_tellers, pgbench_history")
        with testbed.loading() as connection:
            pgbench.initialise(testbed.cluster, SCALE, tables=tablespace, indexes=tablespace)
            connection.execute("CHECKPOINT")
    elif place != "":
        with testbed.loading() as connection:
            connection.execute("DROP TABLE IF EXISTS pgbench_accounts, pgbench_branches, pgbench_tellers, pgbench_history")
            pgbench.initialise(testbed.cluster, wal.SCALE, tables="ssd", indexes="ssd")
            pgbench.keep_accounts(connection, wal.ACCOUNTS)
            pgbench.age(connection)
    testbed.down()
    buffers = 25 * MIB if tpcb else wal.SHARED_BUFFERS_BYTES
    settings = measuring_settings(testbed.cluster.binaries, io_mode=IoMode.DIRECT, shared_buffers_bytes=buffers)
    testbed.processors = wal.PROCESSORS
    script: str | pgbench.Mix = "tpcb-like" if tpcb else wal.LOAD
    with testbed.serving(settings, ClockKind.VIRTUAL_SEVERAL) as connection:
        if not tpcb:
            connection.execute(wal.TOUCH)
        if place == WINDOW:
            testbed.go_by(ClockKind.VIRTUAL_SEVERAL)
            testbed.delays(True, slowdown=slowdown)
        running = pgbench.Load(
            testbed.cluster,
            script,
            clients=CLIENTS,
            seed=1,
            scale=SCALE if tpcb else wal.SCALE,
            accounts=None if tpcb else wal.ACCOUNTS,
            within=testbed.started_by(ClockKind.VIRTUAL_SEVERAL),
        )
        with running:
            time.sleep(1.0)
            for tier in testbed.tiers.values():
                tier.reset_io()
            begun_s, begun, steal = time.time(), used(testbed.group), psutil.cpu_times().steal
            time.sleep(SECONDS)
            ended_s, ended, stolen = time.time(), used(testbed.group), psutil.cpu_times().steal - steal
            requests = sum(io.reads + io.writes for tier in testbed.tiers.values() for io in (tier.io() or {}).values())
        done = running.transactions.filter(running.transactions["ended_s"].is_between(begun_s, ended_s)).height
        charge = testbed.charge if place == WINDOW else measured_charge(testbed.tiers["ssd"].directory, testbed.cluster)
    user, system = ((after - before) / done for before, after in zip(begun, ended, strict=True))
    spared = requests / done * (charge.write_s + (charge.other_s if not tpcb else 0.0))
    return [done, user, system, requests / done, charge.read_s, charge.write_s, charge.other_s, charge.pace, spared, stolen]


def used(group: SessionGroup) -> tuple[float, float]:
    """Return the group's processor time as user and as system, in seconds."""
    folder = group.folders[0]
    if (folder / "cpuacct.usage_user").exists():
        user, system = (int((folder / f"cpuacct.usage_{kind}").read_text(encoding="ascii")) / 1e9 for kind in ("user", "sys"))
        return user, system
    words = (folder / "cpu.stat").read_text(encoding="ascii").split()
    user, system = (int(words[words.index(f"{kind}_usec") + 1]) / 1e6 for kind in ("user", "system"))
    return user, system


def line(load: str, place: str, figures: Sequence[float]) -> str:
    done, user, system, requests, read_s, write_s, other_s, pace, spared, stolen = figures
    return (
        f"{load:14} {place:20} {done:7.0f} transactions, us each: user {1e6 * user:5.0f}, system {1e6 * system:5.0f}, both "
        f"{1e6 * (user + system):5.0f}; {requests:.2f} requests; calibrated us: read {1e6 * read_s:.1f}, write {1e6 * write_s:.1f}, "
        f"flush {1e6 * other_s:.1f}, so about {1e6 * spared:.0f} a transaction; pace {pace:.2f}; stolen {stolen:.1f} s"
    )


if __name__ == "__main__":
    sys.exit(main())
