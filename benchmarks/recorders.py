"""What recording costs the server that is recorded: the time of one load without a recorder, and with each that may record here.

Run: ``make bench``, or ``python benchmarks/recorders.py [rounds, five or more]``. Cache hits: rows by random key of a table four times as
large as shared_buffers, held by the kernel's page cache. Worst case: the same table read whole, block by block, which is little but system
calls. Disk-bound: rows by random key on an emulated SSD. Each way runs once a round, the load once untimed before (a recorder has just
compiled its program, and the caches of the processor hold that), the rounds begin with another way each; the ratio is taken within a
round. Bound: the best recorder adds at most a tenth to the first load. Beside the ratio stands what a read costs more of the session's
processor time, which other work on the machine disturbs less, and which leaves out what a stopped process waits.

The emulator's log is no program beside the server. What it costs on cache hits is what lying on an emulated tier costs them: its
page cache answers and the log is not written, so the same rows are read from there and from the plain folder.
"""

import random
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial
from pathlib import Path
from statistics import median
from typing import NamedTuple

from psycopg import sql

from tierwise.analysis.statistics import Estimate, geometric_estimate
from tierwise.bench.workspace import exclusive_workspace
from tierwise.core.errors import TierwiseError
from tierwise.postgres.binaries import find_binaries
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.relations import create_tablespace
from tierwise.postgres.settings import Connection
from tierwise.postgres.workspace import server_account
from tierwise.recorders.reads import find_server
from tierwise.recorders.selection import RECORDERS
from tierwise.tiers.emulated import Emulated

ROUNDS = 12
BOUND = 1.10
DEVICE = "intel-x25-e"
PAGES = 4096
LOOKUPS = 4000
SCANS = 30
Way = Callable[[], AbstractContextManager[object]]
SETTINGS = {
    "shared_buffers": "8MB",
    "io_method": "sync",
    "io_combine_limit": "1",
    "max_parallel_workers_per_gather": "0",
    "autovacuum": "off",
    "jit": "off",
}


class Took(NamedTuple):
    """One execution of a load."""

    elapsed_s: float
    busy_s: float  # of the processor, in the session's process


def main() -> int:
    try:
        with exclusive_workspace() as workspace, tempfile.TemporaryDirectory(prefix="bench-recorders-", dir=workspace) as folder:
            Path(folder).chmod(0o755)  # the server's account must pass
            return measure(Path(folder), max(5, int(sys.argv[1])) if len(sys.argv) > 1 else ROUNDS)
    except TierwiseError as error:
        print(error, file=sys.stderr)
        return 1


def measure(folder: Path, rounds: int) -> int:
    """Print every ratio; 1 if no recorder's whole interval stays below `BOUND` on cache hits."""
    account = server_account()
    cluster = Cluster(folder / "cluster", find_binaries(), account)
    cluster.create()
    tier = Emulated("ssd", DEVICE, work=folder, stretch=1.0, seed=1, owner=(account.uid, account.gid))
    with ExitStack() as stack:
        stack.callback(tier.stop)
        tier.start()
        stack.callback(cluster.stop)
        cluster.start(SETTINGS)
        with cluster.connect() as connection:
            create_tablespace(connection, "ssd", tier.directory)
            for name, space in (("held", "pg_default"), ("far", "ssd")):
                connection.execute(f"CREATE TABLE {name} (id int, note text) WITH (fillfactor = 100) TABLESPACE {space}".encode())
                rows = 4 * PAGES
                connection.execute(f"INSERT INTO {name} SELECT i, repeat('x', 1900) FROM generate_series(1, {rows}) AS i".encode())
                connection.execute(f"CREATE INDEX ON {name} (id)".encode())
                connection.execute(f"VACUUM (FREEZE, ANALYZE) {name}".encode())
            connection.execute("CHECKPOINT")
            tier.delays(True)
            recorders = ways(cluster)
            hits = compare("cache hits", partial(lookups, connection, "held"), connection, recorders, rounds)
            compare("worst case", partial(scans, connection), connection, recorders, rounds)
            compare("disk-bound", partial(lookups, connection, "far"), connection, recorders, rounds)
        mounted(cluster, tier, rounds)
    best = min(hits.values(), default=1.0)
    print(f"best recorder on cache hits: at most {best:.3f} (bound: {BOUND})")
    return int(best > BOUND)


def mounted(cluster: Cluster, tier: Emulated, rounds: int) -> None:
    """Cache hits on the emulated tier, whose page cache is on for this, against those on the plain folder."""
    cluster.stop()
    tier.empty_cache(cached=True)
    cluster.start(SETTINGS)
    with cluster.connect() as connection:
        lookups(connection, "far")
        connection.execute("SELECT count(note) FROM far")  # held from now on
        tier.delays(True)
        tier.reset_io()
        loads = {name: partial(lookups, connection, name) for name in ("held", "far")}
        taken = turns({name: partial(timed, load, nullcontext, connection) for name, load in loads.items()}, rounds)
        logged = len(tier.requests())
    ratio = geometric_estimate([took["far"].elapsed_s / took["held"].elapsed_s for took in taken])
    print(f"cache hits, emulator's log: {times(ratio)}; {logged} requests reached the log")


def scans(connection: Connection) -> None:
    """Read the whole table, from the page cache."""
    for _ in range(SCANS):
        connection.execute("SELECT count(note) FROM held")


def lookups(connection: Connection, table: str) -> None:
    """Random rows of `table`."""
    draw = random.Random(1)
    connection.execute("SET enable_seqscan = off")
    for _ in range(LOOKUPS):
        connection.execute(sql.SQL("SELECT note FROM {} WHERE id = %s").format(sql.Identifier(table)), [draw.randint(1, 4 * PAGES)])
    connection.execute("RESET enable_seqscan")


def ways(cluster: Cluster) -> dict[str, Way]:
    """Return name -> way: none, and each recorder that may record here."""
    server = find_server(cluster=cluster.data)
    found: dict[str, Way] = {"none": nullcontext}
    for name, recorder in RECORDERS.items():
        if why := recorder.obstacle():
            print(f"{name}: {why}")
            continue
        if recorder.counting:
            found[f"{name}, which counts"] = partial(recorder.counting, server, seconds=120)
        found[f"{name}, single reads"] = partial(recorder.recorded, server, seconds=120)
    return found


def compare(load: str, work: Callable[[], None], connection: Connection, recorders: Mapping[str, Way], rounds: int) -> dict[str, float]:
    """Print what each recorder adds to `work`; the upper ends of the intervals."""
    before = server_reads(connection)
    work()
    reads = server_reads(connection) - before
    taken = turns({name: partial(timed, work, way, connection) for name, way in recorders.items()}, rounds)
    print(f"{load}: {reads} reads in {min(took['none'].elapsed_s for took in taken):.2f} s and more unrecorded")
    upper = {}
    for name in [name for name in recorders if name != "none"]:
        elapsed = geometric_estimate([took[name].elapsed_s / took["none"].elapsed_s for took in taken])
        more_us = median(1e6 * (took[name].busy_s - took["none"].busy_s) / reads for took in taken)
        print(f"{load}, {name}: {times(elapsed)}; {more_us:.2f} us more of the processor a read (median)", flush=True)
        upper[name] = elapsed.high or 0.0
    return upper


def turns(runs: Mapping[str, Callable[[], Took]], rounds: int) -> list[dict[str, Took]]:
    """Each of `runs` once a round, every round beginning with the next one."""
    names = list(runs)
    return [{name: runs[name]() for name in names[turn % len(names) :] + names[: turn % len(names)]} for turn in range(rounds)]


def timed(work: Callable[[], None], way: Way, connection: Connection) -> Took:
    """Time `work` alone, done once before, the recorder already there."""
    with way():
        work()
        begun_s, busy_s = time.perf_counter(), processor_s(connection)
        work()
        return Took(time.perf_counter() - begun_s, processor_s(connection) - busy_s)


def processor_s(connection: Connection) -> float:
    """Return what the session's process has run, to the nanosecond (`psutil` knows hundredths of a second)."""
    return int(Path(f"/proc/{connection.info.backend_pid}/schedstat").read_text(encoding="ascii").split()[0]) / 1e9


def server_reads(connection: Connection) -> int:
    """Return reads of relations that the server has counted."""
    connection.execute("SELECT pg_stat_force_next_flush()")
    return int(connection.execute("SELECT sum(reads)::bigint FROM pg_stat_io WHERE object = 'relation'").fetchall()[0][0])


def times(found: Estimate) -> str:
    return f"{found.value:.3f} times as long, 95 % interval {found.low:.3f} to {found.high:.3f}"


if __name__ == "__main__":
    sys.exit(main())
