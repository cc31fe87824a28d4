"""Sessions that read single rows by key, and change some: threads of a process that can be counted with the server that it loads."""

import random
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Final

from tierwise.bench.testbed import Testbed
from tierwise.core.errors import EvidenceError
from tierwise.core.vocabulary import ClockKind
from tierwise.postgres.cluster import Cluster
from tierwise.tiers.daemon import Sleeper

READY_S: Final = 120.0
DONE_S: Final = 600.0  # how long the process may take to finish its last statements
FLUSH: Final = "SELECT pg_stat_force_next_flush()"  # a session then reports its counts at once, not only after a second


@dataclass(frozen=True, slots=True)
class Client:
    """A session: a random row of `table` by `id` from 1 to `rows`, then a pause; the share `changing` updates the row."""

    table: str
    rows: int
    pause_s: float
    changing: float
    seed: str


class Clients:
    def __init__(self, pipe: Pipe):
        self._pipe = pipe

    def run(self, testbed: Testbed, seconds: float) -> None:
        """Run all clients at once for `seconds` on the clock of the tiers; raise `EvidenceError` if one failed."""
        testbed.hold(True)
        self._pipe.send("go")
        testbed.sleep(seconds, hold=True)
        self._pipe.send("stop")
        testbed.hold(False)
        self.answered(DONE_S)

    def answered(self, within_s: float) -> None:
        try:
            failed = self._pipe.recv() if self._pipe.poll(within_s) else f"no answer within {within_s:.0f} s"
        except EOFError:
            failed = "their process has ended"
        if failed:
            raise EvidenceError(f"a client failed: {failed}")


@contextmanager
def connected(testbed: Testbed, clients: Sequence[Client]) -> Iterator[Clients]:
    clock = testbed.clock(alone=False)
    ours, theirs = get_context("spawn").Pipe()
    folder = testbed.daemon.folder if testbed.daemon and clock is not ClockKind.REAL else None
    process = get_context("spawn").Process(target=_serve, args=(theirs, testbed.cluster, tuple(clients), folder), daemon=True)
    resource_tracker.ensure_running()  # else it is started with the process, in the group of the server, which it would outlive
    with testbed.started_by(clock):
        process.start()
    theirs.close()
    try:
        found = Clients(ours)
        found.answered(READY_S)
        yield found
    finally:
        ours.close()
        process.join(READY_S)
        process.kill()


def _serve(pipe: Pipe, cluster: Cluster, clients: Sequence[Client], folder: Path | None) -> None:
    stopped = threading.Event()
    with ExitStack() as stack:
        try:
            sessions = [stack.enter_context(closing(_Session(cluster, client, folder))) for client in clients]
            pipe.send(None)
            pipe.recv()
            with ThreadPoolExecutor(len(sessions)) as pool:
                running = [pool.submit(session.run, stopped) for session in sessions]
                try:
                    pipe.recv()
                finally:
                    stopped.set()
            pipe.send(next((str(error) for each in running if (error := each.exception())), None))
            pipe.recv()  # until the window has closed: to end takes processor time, which would be in it
        except EOFError:  # whoever measures has given up
            return
        except Exception as error:
            pipe.send(f"{type(error).__name__}: {error}")


class _Session:
    def __init__(self, cluster: Cluster, client: Client, folder: Path | None):
        self._client, self._draw = client, random.Random(client.seed)
        self._sleeper = Sleeper(folder) if folder else None
        self._connection = cluster.connect()
        self._reading = f"SELECT note FROM {client.table} WHERE id = %s"
        self._changing = f"UPDATE {client.table} SET note = upper(note) WHERE id = %s"
        self._connection.execute("SET enable_seqscan = off")
        for statement in (self._reading, self._changing):
            self._connection.execute(f"EXPLAIN {statement}", [1])
        self._connection.execute(FLUSH)

    def run(self, stopped: threading.Event) -> None:
        while not stopped.is_set():
            self._once()
        self._connection.execute(FLUSH)

    def close(self) -> None:
        self._connection.close()
        if self._sleeper:
            self._sleeper.close()

    def _once(self) -> None:
        key = self._draw.randint(1, self._client.rows)
        changes = self._draw.random() < self._client.changing
        done = self._connection.execute(self._changing if changes else self._reading, [key]).rowcount
        if done != 1:
            raise EvidenceError(f"{self._client.table} has {done} rows of key {key}")
        if self._sleeper and self._client.pause_s:
            self._sleeper.sleep(self._client.pause_s)
        else:
            time.sleep(self._client.pause_s)
