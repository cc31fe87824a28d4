"""A watch of a test's own server, with windows short enough for a test."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from server_loads import pgbench
from support import waited_for
from tierwise.core.activity import Activity
from tierwise.postgres.cluster import DATABASE, PORT, SUPERUSER, Cluster
from tierwise.postgres.processes import socket_folder
from tierwise.postgres.settings import Connection
from tierwise.watch.activity_file import Segments
from tierwise.watch.answer import answer
from tierwise.watch.connecting import Server, connect
from tierwise.watch.recording import Request, watch
from tierwise.watch.service_times import ServiceTimes

STARTED = {"shared_buffers": "4MB", "autovacuum": "off", "max_connections": "20"}


FIRST_S = 150.0  # a window of a minute, and a machine that does other things


def dsn_of(cluster: Cluster, *, user: str = SUPERUSER, database: str = DATABASE) -> str:
    return f"host={socket_folder(cluster.folder)} port={PORT} user={user} dbname={database}"


def watched(
    cluster: Cluster, out: Path, *, seconds: float = 2.0, service: ServiceTimes | None = None, database: str = DATABASE, **options: object
) -> Activity:
    """Watch for some seconds in ten windows, and return the answer."""
    watch(Request(dsn_of(cluster, database=database), seconds, out, **options))  # type: ignore[arg-type]
    return answer(out, service or ServiceTimes())


def begun(cluster: Cluster, out: Path, seconds: float) -> subprocess.Popen[bytes]:
    """Start a watch as a separate process, and wait until it has written its first window."""
    code = f"from tierwise.watch.recording import *; watch(Request({dsn_of(cluster)!r}, {seconds}, Path({str(out)!r})))"
    running = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    if not waited_for(lambda: list(Segments(out).folder.glob("0*")), FIRST_S):
        running.kill()
        running.wait()
        raise AssertionError(f"no window was written in {FIRST_S} s")
    return running


@contextmanager
def linked(cluster: Cluster) -> Iterator[list[tuple[Connection, Server]]]:
    """Connect as a watch does."""
    connection, server = connect(dsn_of(cluster))
    with connection:
        yield [(connection, server)]


def load(cluster: Cluster, script: Path, *, clients: int = 2, rate: int | None = None) -> AbstractContextManager[subprocess.Popen[bytes]]:
    """Run a pgbench script beside what is done inside."""
    return pgbench(cluster, f"--file={script}", *([f"--rate={rate}"] if rate else []), clients=clients)
