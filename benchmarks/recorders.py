"""What recording costs the server that is recorded: the time of one load without a recorder, and with each that may record here.

Run: ``make bench``, or ``python benchmarks/recorders.py``. Cache hits: rows by random key of a table four times as large as
shared_buffers, held by the kernel's page cache. Worst case: the same table read whole, block by block, which is little but system
calls. Disk-bound: rows by random key on an emulated SSD. Each way runs once a round, in turn; the ratio is taken within a round. Bound:
the best recorder adds at most a tenth to the first load. The ratio of the session's processor time stands beside it, which other work
on the machine disturbs less, and which leaves out what a stopped process waits.
"""

import random
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial
from pathlib import Path

import psutil
from psycopg import sql

from tierwise.analysis.statistics import geometric_estimate
from tierwise.bench.workspace import exclusive_workspace
from tierwise.core.errors import TierwiseError
from tierwise.postgres.binaries import find_binaries
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.placement import create_tablespace
from tierwise.postgres.settings import Connection
from tierwise.postgres.workspace import server_account
from tierwise.recorders.choice import RECORDERS
from tierwise.recorders.reads import find_server
from tierwise.tiers.emulated import Emulated

ROUNDS = 6
BOUND = 1.10
DEVICE = "intel-x25-e"
PAGES = 4096
LOOKUPS = 4000
SCANS = 30
SETTINGS = {
    "shared_buffers": "8MB",
    "io_method": "sync",
    "io_combine_limit": "1",
    "max_parallel_workers_per_gather": "0",
    "autovacuum": "off",
    "jit": "off",
}


def main() -> int:
    try:
        with exclusive_workspace() as workspace, tempfile.TemporaryDirectory(prefix="bench-recorders-", dir=workspace) as folder:
            Path(folder).chmod(0o755)  # the server's account must pass
            return measure(Path(folder))
    except TierwiseError as error:
        print(error, file=sys.stderr)
        return 1


def measure(folder: Path) -> int:
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
            hits = compare("cache hits", partial(lookups, connection, "held"), connection, cluster)
            compare("worst case", partial(scans, connection), connection, cluster)
            compare("disk-bound", partial(lookups, connection, "far"), connection, cluster)
    best = min(hits.values(), default=1.0)
    print(f"best recorder on cache hits: at most {best:.3f} (bound: {BOUND})")
    return int(best > BOUND)


def scans(connection: Connection) -> None:
    """The table read whole, from the page cache."""
    for _ in range(SCANS):
        connection.execute("SELECT count(note) FROM held")


def lookups(connection: Connection, table: str) -> None:
    """Random rows of `table`."""
    draw = random.Random(1)
    connection.execute("SET enable_seqscan = off")
    for _ in range(LOOKUPS):
        connection.execute(sql.SQL("SELECT note FROM {} WHERE id = %s").format(sql.Identifier(table)), [draw.randint(1, 4 * PAGES)])
    connection.execute("RESET enable_seqscan")


def compare(load: str, work: Callable[[], None], connection: Connection, cluster: Cluster) -> dict[str, float]:
    """Print what each recorder adds to `work`; the upper ends of the intervals."""
    server = find_server(cluster=cluster.data)
    ways: dict[str, Callable[[], AbstractContextManager[object]]] = {"none": nullcontext}
    for name, recorder in RECORDERS.items():
        if why := recorder.obstacle():
            print(f"{load}, {name}: {why}")
        else:
            ways[name] = partial(recorder.recorded, server, seconds=120)
    work()
    session = psutil.Process(connection.info.backend_pid)
    rounds = [{name: timed(work, way, session) for name, way in ways.items()} for _ in range(ROUNDS)]
    print(f"{load}: {min(took['none'][0] for took in rounds):.2f} s and more unrecorded")
    upper = {}
    for name in ways.keys() - {"none"}:
        elapsed, busy = (geometric_estimate([took[name][which] / took["none"][which] for took in rounds]) for which in (0, 1))
        print(
            f"{load}, {name}: {elapsed.value:.3f} times as long, 95 % interval {elapsed.low:.3f} to {elapsed.high:.3f}; "
            f"processor {busy.value:.3f}, {busy.low:.3f} to {busy.high:.3f}",
            flush=True,
        )
        upper[name] = elapsed.high or 0.0
    return upper


def timed(work: Callable[[], None], way: Callable[[], AbstractContextManager[object]], session: psutil.Process) -> tuple[float, float]:
    """Seconds of `work` alone, the recorder already there, and of the processor in its session."""
    with way():
        begun_s, busy = time.perf_counter(), session.cpu_times()
        work()
        elapsed_s, after = time.perf_counter() - begun_s, session.cpu_times()
    return elapsed_s, after.user + after.system - busy.user - busy.system


if __name__ == "__main__":
    sys.exit(main())
