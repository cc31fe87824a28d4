"""The processes of a server, found by what they do: PostgreSQL's processes work inside their data folder."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import psutil

from tierwise.core.errors import TierwiseError

PID_FILE: Final = "postmaster.pid"
READY: Final = "ready"
APPEARS_S: Final = 2.0  # how long a server that was started may take to enter its folder
NAMES: Final = ("postgres", "postmaster")
SOCKET_PARENT: Final = Path("/tmp")  # noqa: S108 - a private 0700 folder is made in it
SOCKET_PREFIX: Final = "tierwise-pg-"
PATIENCE_S: Final = 10.0  # how long a server may take to end by itself (SIGQUIT: without a checkpoint) before it is killed


class ServerError(TierwiseError):
    """A failed start or stop; the message ends with the last lines of the server's log."""


def server_processes(data: Path) -> list[psutil.Process]:
    """Return every living server process of `data`, orphans of a killed postmaster included."""
    there = data.resolve()
    return [process for pid, folder in _working_folders() if folder == there and (process := _server(pid))]


def servers_on(folder: Path) -> list[Path]:
    """Return the data folders of visible servers with a data folder or tablespace on the file system of `folder`."""
    device = folder.stat().st_dev
    found = set()
    for pid, data in _working_folders():
        with suppress(OSError):  # gone meanwhile, or not ours to look at
            devices = {place.stat().st_dev for place in (data, *data.glob("pg_tblspc/*"))}
            if device in devices and (data / "PG_VERSION").is_file() and _server(pid):
                found.add(data)
    return sorted(found)


def postmaster(data: Path) -> psutil.Process | None:
    """Return the living postmaster of `data`, named by its pid file and seen to work there, since a pid may be reused."""
    with suppress(FileNotFoundError, IndexError, ValueError):
        pid = int((data / PID_FILE).read_text(encoding="utf-8").split()[0])
        return next((process for process in server_processes(data) if process.pid == pid), None)
    return None


def signalled(data: Path, number: signal.Signals) -> bool:
    server = postmaster(data)
    if server is not None:
        with suppress(psutil.NoSuchProcess):
            server.send_signal(number)
    return server is not None


def wait_down(data: Path, timeout_s: float, *, kill: bool = False) -> bool:
    deadline_s = time.monotonic() + timeout_s
    while still := server_processes(data):
        if time.monotonic() > deadline_s:
            return False
        for process in still if kill else ():
            with suppress(psutil.NoSuchProcess):
                process.kill()
        time.sleep(0.005)
    return True


def wait_ready(data: Path, timeout_s: float) -> bool:
    """Wait until the server that was just started takes connections (the last line of its pid file); False once it is gone, or too late."""
    begun_s = time.monotonic()
    while time.monotonic() < begun_s + timeout_s:
        with suppress(FileNotFoundError):
            if (data / PID_FILE).read_text(encoding="utf-8").rstrip().endswith(READY):
                return True
        if time.monotonic() > begun_s + APPEARS_S and not server_processes(data):
            return False
        time.sleep(0.005)
    return False


def socket_folder(folder: Path) -> Path | None:
    with suppress(FileNotFoundError):
        return Path((folder / "socket").read_text(encoding="utf-8").strip())
    return None


def remove_socket(folder: Path) -> None:
    """Remove the socket folder that the cluster in `folder` recorded, if we made it and it holds nothing but sockets."""
    socket = socket_folder(folder)
    if socket is None:
        return
    if socket.parent == SOCKET_PARENT and socket.name.startswith(SOCKET_PREFIX) and socket.is_dir() and not socket.is_symlink():
        for entry in socket.glob(".s.PGSQL.*"):
            entry.unlink()
        with suppress(OSError):
            socket.rmdir()
    (folder / "socket").unlink()


def reclaim(work: Path) -> list[str]:
    reports = []
    for data in _data_folders(work):
        if found := server_processes(data):
            if not (signalled(data, signal.SIGQUIT) and wait_down(data, PATIENCE_S)) and not wait_down(data, PATIENCE_S, kill=True):
                raise ServerError(f"{data}: a server survives SIGKILL")
            reports.append(f"ended a PostgreSQL server that a killed run left in {data.relative_to(work)}")
        if (data / PID_FILE).exists():
            (data / PID_FILE).unlink()
            if not found:
                reports.append(f"removed the pid file of a server that was killed in {data.relative_to(work)}")
        remove_socket(data.parent)
    return reports


def _working_folders() -> Iterator[tuple[int, Path]]:
    """Read the links alone: psutil's iterator makes an object for every pid and takes three times as long."""
    for pid in psutil.pids():
        with suppress(OSError):  # gone meanwhile, or not ours to look at
            yield pid, Path(f"/proc/{pid}/cwd").readlink()


def _server(pid: int) -> psutil.Process | None:
    with suppress(psutil.Error):  # gone meanwhile
        process = psutil.Process(pid)
        if process.status() != psutil.STATUS_ZOMBIE and process.name() in NAMES:
            return process
    return None


def _data_folders(work: Path) -> Iterator[Path]:
    for folder, inside, files in os.walk(work.resolve()):
        if "PG_VERSION" in files and "global" in inside:
            inside.clear()
            yield Path(folder)
