"""The control channel of a mount: one JSON object a line over a Unix socket, answered by one.

``{"do": NAME, ...}`` is answered by ``{"result": ...}`` or ``{"error": TEXT}``. A running daemon leaves a `Record` in its folder, so
that somebody else can find and end it.
"""

import json
import os
import select
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import psutil

from tierwise.core.errors import TierwiseError
from tierwise.core.files import closing_fd, write_whole
from tierwise.core.toml import Strict

Command = Callable[..., Any]


class DeferredAnswer:
    """The result of a command that is answered when its time has come: whoever holds it calls `answer`, once."""

    def __init__(self) -> None:
        self.answer: Callable[[Any], None] = lambda _: None


@contextmanager
def _reachable(path: Path) -> Iterator[str]:
    """`path` by a name that is short enough for a Unix socket (107 bytes), however deep it lies."""
    with closing_fd(os.open(path.parent, os.O_PATH | os.O_DIRECTORY)) as folder:
        yield f"/proc/self/fd/{folder}/{path.name}"


class ControlServer:
    """The daemon's end. `descriptor` becomes readable when there is something to do, whatever the number of callers."""

    def __init__(self, path: Path, commands: dict[str, Command]):
        self._path, self._commands = path, commands
        path.unlink(missing_ok=True)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        os.fchmod(self._listener.fileno(), 0o600)  # of the file that bind makes
        with _reachable(path) as address:
            self._listener.bind(address)
        self._listener.listen()
        self._callers: dict[int, tuple[socket.socket, bytes]] = {}
        # One descriptor for all, opened early: select() takes none above 1023, and a busy mount has more files open than that.
        self._epoll = select.epoll()
        self._epoll.register(self._listener, select.EPOLLIN)
        self.descriptor = self._epoll.fileno()

    def serve(self) -> None:
        for descriptor, _ in self._epoll.poll(0):
            if descriptor == self._listener.fileno():
                caller, _ = self._listener.accept()
                self._callers[caller.fileno()] = (caller, b"")
                self._epoll.register(caller, select.EPOLLIN)
            else:
                self._hear(descriptor)

    def close(self) -> None:
        self._path.unlink(missing_ok=True)
        self._listener.close()
        self._epoll.close()
        for caller, _ in self._callers.values():
            caller.close()

    def _hear(self, descriptor: int) -> None:
        caller, before = self._callers[descriptor]
        try:
            heard = caller.recv(1 << 16)
            *lines, rest = (before + heard).split(b"\n")
            for line in lines:
                self._answer(line, caller)
        except OSError:
            heard, rest = b"", b""
        if heard:
            self._callers[descriptor] = (caller, rest)
            return
        self._epoll.unregister(descriptor)
        del self._callers[descriptor]
        caller.close()

    def _answer(self, line: bytes, caller: socket.socket) -> None:
        try:
            request = json.loads(line)
            result = self._commands[request.pop("do")](**request)
        except (ValueError, KeyError, TypeError, AttributeError, OSError, TierwiseError) as error:
            _reply(caller, {"error": str(error) if isinstance(error, TierwiseError) else f"{type(error).__name__}: {error}"})
            return
        if isinstance(result, DeferredAnswer):
            result.answer = lambda found: _reply(caller, {"result": found})
        else:
            _reply(caller, {"result": result})


def _reply(caller: socket.socket, answer: dict[str, Any]) -> None:
    with suppress(OSError):  # the caller has gone
        caller.sendall(json.dumps(answer).encode() + b"\n")


class Control:
    def __init__(self, path: Path, *, timeout_s: float = 30.0):
        """Connect to the daemon that listens at `path`; `OSError` where nobody does."""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(timeout_s)
        try:
            with _reachable(path) as address:
                self._socket.connect(address)
        except OSError:
            self._socket.close()
            raise
        self._answers = self._socket.makefile("rb")

    def call(self, do: str, **arguments: Any) -> Any:
        try:
            self._socket.sendall(json.dumps({"do": do, **arguments}).encode() + b"\n")
            answer = json.loads(self._answers.readline() or '{"error": "it ended"}')
        except OSError as error:
            answer = {"error": str(error)}
        if "error" in answer:
            raise TierwiseError(f"the emulated mounts' daemon did not do {do!r}: {answer['error']}")
        return answer["result"]

    def close(self) -> None:
        self._answers.close()
        self._socket.close()


_NAME = "daemon.json"


class Record(Strict):
    """One daemon: `pid` and `started_s` together name a process for good."""

    pid: int
    started_s: float

    @classmethod
    def mine(cls) -> Self:
        return cls(pid=os.getpid(), started_s=psutil.Process().create_time())

    @staticmethod
    def all_below(folder: Path) -> dict[Path, "Record"]:
        """Return folder -> record, of every daemon that runs or was killed below `folder`; follows no mount and no link."""
        found = {}
        for inner, folders, files in os.walk(folder):
            folders[:] = [name for name in folders if name not in {"backing", "mount"}]
            if _NAME in files:
                with suppress(FileNotFoundError):  # it has just ended by itself
                    found[Path(inner)] = Record.model_validate_json(Path(inner, _NAME).read_text(encoding="utf-8"))
        return found

    @staticmethod
    def control(folder: Path) -> Path:
        return folder / "control"

    @staticmethod
    def forget(folder: Path) -> None:
        (folder / _NAME).unlink(missing_ok=True)
        Record.control(folder).unlink(missing_ok=True)

    def save(self, folder: Path) -> None:
        write_whole(folder / _NAME, self.model_dump_json() + "\n")

    def process(self) -> psutil.Process | None:
        try:
            process = psutil.Process(self.pid)
            same = abs(process.create_time() - self.started_s) < 0.01 and process.status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return None
        return process if same else None
