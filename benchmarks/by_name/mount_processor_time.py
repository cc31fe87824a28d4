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

from virtual_cells import Opened, opened

from tierwise.bench.testbed import Testbed
from tierwise.core.profiles import load_profile
from tierwise.core.session_group import SessionGroup
from tierwise.core.units import MIB
from tierwise.core.vocabulary import ClockKind, IoMode
from tierwise.postgres import pgbench
from tierwise.postgres.cluster_files import place_wal
from tierwise.postgres.settings import measuring_settings
from tierwise.studies.wal_placement.measuring import trials as wal
from tierwise.tiers.emulated import Emulated

SETTLE_S: Final = 1.0
SECONDS: Final = 4.0
CLIENTS: Final = 8
PLAIN, MOUNT, WINDOW = "plain folder", "mount, no delays", "mount, as a window"
SCALE: Final = 5
TPCB: Final = "pgbench"
FLASH, MEMORY = "ssd", "memory"


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
    trial = there.study.trials(there.testbed.profile, there.testbed.pair)[0]
    there.study.prepare(trial, there.testbed, there.study_state)
    with there.testbed.loading({MEMORY: plain / "tables"}):
        pass  # it makes the tablespaces


def fill(testbed: Testbed, load: str, place: str) -> None:
    """Load the database anew, since every run of pgbench makes it larger; the WAL study's lies in shared buffers, so on any tier."""
    with testbed.loading() as connection:
        connection.execute(f"DROP TABLE IF EXISTS {', '.join(pgbench.TABLES)}")
        if load == TPCB:
            tablespace = MEMORY if place == PLAIN else FLASH
            pgbench.initialise(testbed.cluster, SCALE, tables=tablespace, indexes=tablespace)
        else:
            pgbench.initialise(testbed.cluster, wal.SCALE, tables=FLASH, indexes=FLASH)
            pgbench.keep_accounts(connection, wal.ACCOUNTS)
            pgbench.age(connection)


def run(there: Opened, plain: Path, load: str, place: str, slowdown: float) -> list[float]:
    """Return transactions, and for one of them processor time as user and system, requests, and the mount's part as calibrated."""
    testbed, tpcb = there.testbed, load == TPCB
    assert testbed.group is not None
    testbed.down()
    place_wal(testbed.cluster, plain / "plain" if place == PLAIN else testbed.tiers[FLASH].directory)
    fill(testbed, load, place)
    testbed.down()
    buffers = 25 * MIB if tpcb else wal.SHARED_BUFFERS_BYTES
    settings = measuring_settings(testbed.cluster.binaries, io_mode=IoMode.DIRECT, shared_buffers_bytes=buffers)
    testbed.processors = wal.PROCESSORS
    with testbed.serving(settings, ClockKind.VIRTUAL_SEVERAL) as connection:
        if not tpcb:
            connection.execute(wal.TOUCH)
        if place == WINDOW:
            testbed.go_by(ClockKind.VIRTUAL_SEVERAL)
            testbed.delays(True, slowdown=slowdown)
        running = pgbench.Load(
            testbed.cluster,
            pgbench.TpcB(SCALE) if tpcb else wal.LOAD,
            clients=CLIENTS,
            seed=1,
            scale=SCALE if tpcb else wal.SCALE,
            accounts=None if tpcb else wal.ACCOUNTS,
            within=testbed.started_by(ClockKind.VIRTUAL_SEVERAL),
        )
        with running:
            time.sleep(SETTLE_S)
            for tier in testbed.tiers.values():
                tier.reset_io()
            begun_s, begun = time.time(), used(testbed.group)
            time.sleep(SECONDS)
            ended_s, ended = time.time(), used(testbed.group)
            requests = sum(len(tier.requests()) for tier in testbed.tiers.values() if isinstance(tier, Emulated))
        done = running.transactions.filter(running.transactions["ended_s"].is_between(begun_s, ended_s)).height
        user, system = ((after - before) / done for before, after in zip(begun, ended, strict=True))
        return [done, user, system, requests / done, requests / done * testbed.charge.write_s, testbed.charge.pace]


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
    done, user, system, requests, mount, pace = figures
    return (
        f"{load:14} {place:20} {done:7.0f} transactions, us each: user {1e6 * user:5.0f}, system {1e6 * system:5.0f}, both "
        f"{1e6 * (user + system):5.0f}; {requests:.2f} requests, calibrated at about {1e6 * mount:.1f} us together; pace {pace:.2f}"
    )


if __name__ == "__main__":
    sys.exit(main())
