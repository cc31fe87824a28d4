"""Control groups of either version: where this process may make one, and how one goes again."""

import os
import time
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Final

import psutil

ROOT: Final = Path("/sys/fs/cgroup")
OWN: Final = Path("/proc/self/cgroup")
_NUMBERS: Final = count()  # one process may have several groups at a time, each of which goes by itself
LEAVE_S: Final = 10.0  # how long the kernel may take to see that a group is empty


def own(controller: str) -> Path | None:
    """Return this process's group in the hierarchy of version 1 that has `controller`; None where no such hierarchy has it."""
    for controllers, path in _lines():
        if controller in controllers.split(","):
            there = ROOT / controller / path.lstrip("/")
            return there if there.is_dir() else ROOT / controller
    return None


def own_unified() -> Path:
    """Return this process's group in the hierarchy of version 2, which beside version 1 is mounted in its own folder."""
    root = ROOT / "unified" if (ROOT / "unified").is_dir() else ROOT
    return root.joinpath(*(path.lstrip("/") for controllers, path in _lines() if not controllers))


def make(parent: Path, name: str) -> Path:
    folder = parent / f"tierwise-{name}-{next(_NUMBERS)}-{os.getpid()}"
    folder.mkdir(exist_ok=True)
    return folder


def sweep() -> None:
    unified = own_unified()
    parents = {own(controller) for controllers, _ in _lines() for controller in controllers.split(",") if controller}
    parents |= {folder for folder in (unified, *unified.parents) if folder.is_relative_to(ROOT)}
    for folder in (folder for parent in parents if parent for folder in parent.glob("tierwise-*-*")):
        process = folder.name.rpartition("-")[2]
        if process.isdigit() and not psutil.pid_exists(int(process)):
            with suppress(OSError):
                folder.rmdir()


def remove(folder: Path) -> None:
    deadline_s = time.monotonic() + LEAVE_S
    while folder.exists() and time.monotonic() < deadline_s:
        with suppress(OSError):
            folder.rmdir()
            return
        time.sleep(0.05)


def take_in(folder: Path, process: int) -> None:
    (folder / "cgroup.procs").write_text(f"{process}\n", encoding="ascii")


def _lines() -> list[tuple[str, str]]:
    lines = (line.split(":", 2) for line in OWN.read_text(encoding="utf-8").splitlines())
    return [(controllers, path) for _, controllers, path in lines]
