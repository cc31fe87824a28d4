"""The processes of a server, found by what they do: PostgreSQL's processes work inside their data folder."""

import time
from contextlib import suppress
from pathlib import Path
from typing import Final

import psutil

PID_FILE: Final = "postmaster.pid"
READY: Final = "ready"
APPEARS_S: Final = 2.0
"""Until then a server that was started may not have gone into its folder yet."""
NAMES: Final = ("postgres", "postmaster")


def serving(data: Path) -> list[psutil.Process]:
    """Every living server process whose working directory is `data`: the postmaster, its children, and orphans of a killed one."""
    there = str(data.resolve())  # where a process works is read the quickest: few others work there
    return [process for process in psutil.process_iter(["cwd"]) if process.info["cwd"] == there and _serves(process)]


def postmaster(data: Path) -> psutil.Process | None:
    """The living postmaster of `data`: named by its pid file and seen to work there (a pid alone may be somebody else's by now)."""
    try:
        process = psutil.Process(int((data / PID_FILE).read_text(encoding="utf-8").split()[0]))
    except (FileNotFoundError, IndexError, ValueError, psutil.NoSuchProcess):
        return None
    return process if _works_in(process, data) else None


def wait_down(data: Path, timeout_s: float, *, kill: bool = False) -> bool:
    """Wait until nothing serves `data`; True once that is so. With `kill`, every process that does gets a SIGKILL."""
    deadline_s = time.monotonic() + timeout_s
    while still := serving(data):
        if time.monotonic() > deadline_s:
            return False
        for process in still if kill else ():
            with suppress(psutil.NoSuchProcess):
                process.kill()
        time.sleep(0.02)
    return True


def wait_ready(data: Path, timeout_s: float) -> bool:
    """Wait until the server of `data`, which was just started, takes connections; False once it is gone, or too late.

    It says so in the last line of its pid file, which `pg_ctl` would look at only ten times a second.
    """
    begun_s = time.monotonic()
    while time.monotonic() < begun_s + timeout_s:
        with suppress(FileNotFoundError):
            if (data / PID_FILE).read_text(encoding="utf-8").rstrip().endswith(READY):
                return True
        if time.monotonic() > begun_s + APPEARS_S and not serving(data):
            return False
        time.sleep(0.005)
    return False


def _serves(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE and process.name() in NAMES
    except psutil.Error:  # gone meanwhile
        return False


def _works_in(process: psutil.Process, data: Path) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE and Path(process.cwd()) == data.resolve()
    except psutil.Error:  # gone meanwhile, or not ours to look at
        return False
