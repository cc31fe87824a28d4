"""The life cycle of one server: made, started, stopped or killed, and each time seen to be what it should be.

Layout of a cluster's folder: ``data/`` (PostgreSQL's own), ``server.log``, ``socket`` (a file: where the socket's folder is).
The socket lies in its own private folder below ``/tmp``, because its path may have 107 bytes at most.
"""

import shutil
import signal
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import psycopg

from tierwise.core.memory_group import memory_group
from tierwise.core.private_folders import closed_folder, write_new
from tierwise.postgres import processes
from tierwise.postgres.binaries import Binaries
from tierwise.postgres.processes import PID_FILE, SOCKET_PARENT, SOCKET_PREFIX, ServerError, postmaster, server_processes
from tierwise.postgres.workspace import Account, CommandError

SUPERUSER: Final = "tierwise"
DATABASE: Final = "postgres"
PORT: Final = 5432  # only part of the socket's name: no server listens to TCP
SETTINGS_FILE: Final = "tierwise.conf"
START_S: Final = 600
STOP_S: Final = 600  # how long a start and a stop may take: recovery and checkpoint go through the tiers' delays

Mode = Literal["fast", "immediate"]
_SIGNALS: Final[dict[Mode, signal.Signals]] = {"fast": signal.SIGINT, "immediate": signal.SIGQUIT}


@dataclass(frozen=True)
class Cluster:
    """A database cluster in `folder`; it keeps no state of its own, so any process that names the folder sees the same."""

    folder: Path
    binaries: Binaries
    account: Account

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def log(self) -> Path:
        return self.folder / "server.log"

    @property
    def server_version(self) -> str:
        return self.binaries.version_text

    @property
    def exists(self) -> bool:
        return (self.data / "PG_VERSION").exists()

    @property
    def running(self) -> bool:
        return bool(processes.server_processes(self.data))

    @property
    def down(self) -> bool:
        return not self.running and not (self.data / PID_FILE).exists()

    def create(self) -> None:
        if self.exists:
            raise ServerError(f"{self.data}: a cluster is there already")
        closed_folder(self.folder, owner=self.account.ids)
        part = self.folder / "data.part"
        shutil.rmtree(part, ignore_errors=True)  # of a run that was killed
        options = [f"--username={SUPERUSER}", "--auth=trust", "--encoding=UTF8", "--locale=C", "--data-checksums", "--no-sync"]
        self.account.run([self.binaries.path("initdb"), f"--pgdata={part}", *options], folder=self.folder)
        with (part / "postgresql.conf").open("a", encoding="utf-8") as configuration:
            configuration.write(f"\ninclude '{SETTINGS_FILE}'\n")
        part.rename(self.data)

    def start(self, settings: Mapping[str, str]) -> None:
        """Start with `settings` (name -> value, on top of the server's defaults) and wait until the server takes connections."""
        if self.running:
            raise ServerError(f"{self.data}: a server runs there already")
        self._clean()
        socket = Path(tempfile.mkdtemp(prefix=SOCKET_PREFIX, dir=SOCKET_PARENT))
        write_new(self.folder / "socket", f"{socket}\n")
        self.account.own(socket)
        private = {"listen_addresses": "", "port": str(PORT), "unix_socket_directories": str(socket), "unix_socket_permissions": "0700"}
        lines = (f"{name} = '{_quoted(value)}'\n" for name, value in {**settings, **private}.items())
        write_new(self.data / SETTINGS_FILE, "".join(lines))
        self.account.own(self.data / SETTINGS_FILE)
        begun = self.log.stat().st_size if self.log.exists() else 0
        options = ["--silent", "--no-wait", f"--log={self.log}", f"--pgdata={self.data}"]
        try:
            self.account.run([self.binaries.path("pg_ctl"), "start", *options], folder=self.folder)
        except CommandError as error:
            self.kill()
            raise self._failure("does not start", begun) from error
        if not processes.wait_ready(self.data, START_S):
            self.kill()
            raise self._failure("does not start", begun)

    def stop(self, mode: Mode = "fast") -> None:
        begun = self.log.stat().st_size if self.log.exists() else 0
        if processes.signalled(self.data, _SIGNALS[mode]):
            if not processes.wait_down(self.data, STOP_S) or not self.down:
                raise self._failure(f"did not stop ({mode})", begun)
        elif self.running:
            raise self._failure("has processes without a postmaster; kill it", begun)
        self._clean()

    def kill(self) -> None:
        """Send SIGKILL to the postmaster and its children, as a power cut would; the next start recovers."""
        if not processes.wait_down(self.data, STOP_S, kill=True):
            raise self._failure("survives SIGKILL", 0)
        self._clean()

    def connect(self, *, autocommit: bool = True) -> psycopg.Connection[tuple[Any, ...]]:
        """Return a session of the superuser, which prepares no statement by itself: each is planned from its text, as psql does."""
        socket = processes.socket_folder(self.folder)
        if socket is None:
            raise ServerError(f"{self.data}: no server runs there")
        return psycopg.connect(
            host=str(socket), port=PORT, user=SUPERUSER, dbname=DATABASE, autocommit=autocommit, prepare_threshold=None, connect_timeout=60
        )

    def _clean(self) -> None:
        (self.data / PID_FILE).unlink(missing_ok=True)
        processes.remove_socket(self.folder)

    def _failure(self, what: str, begun: int) -> ServerError:
        said = self.log.read_bytes()[begun:].decode("utf-8", "replace").strip() if self.log.exists() else ""
        last = said.splitlines()[-20:] or ["it wrote no log"]
        return ServerError("\n".join([f"PostgreSQL {self.server_version} in {self.data} {what}; it said:", *last]))


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace("'", "''")


@contextmanager
def memory_limited(cluster: Cluster, size_bytes: int) -> Iterator[None]:
    """Limit the running server of `cluster` and its later sessions to `size_bytes`, page cache included; stop it before the end."""
    with memory_group("server") as group:
        group.limit(size_bytes)
        if first := postmaster(cluster.data):  # before the others are looked for: whom it starts from now on is in the group
            group.take_in(first.pid)
        for process in server_processes(cluster.data):
            with suppress(ProcessLookupError):  # what a start needs ends by itself
                group.take_in(process.pid)
        try:
            yield
        finally:
            cluster.stop("immediate")
