"""A memory cgroup of either version: processes that together may hold so much, the page cache of what they read included."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from tierwise.core.errors import MissingError

ROOT: Final = Path("/sys/fs/cgroup")
OWN: Final = Path("/proc/self/cgroup")
LEAVE_S: Final = 10.0
"""How long the kernel may take to see that a group is empty."""


@dataclass(frozen=True)
class MemoryGroup:
    """One group; `version` 1 or 2 decides how its files are called."""

    folder: Path
    version: int

    def take_in(self, process: int) -> None:
        """Count what `process` (its id) takes from now on; what it has already stays with whoever it was counted for."""
        (self.folder / "cgroup.procs").write_text(f"{process}\n", encoding="ascii")

    def limit(self, size_bytes: int) -> None:
        """Hold at most so much from now on."""
        name = "memory.limit_in_bytes" if self.version == 1 else "memory.max"
        (self.folder / name).write_text(f"{size_bytes}\n", encoding="ascii")

    def used_bytes(self) -> tuple[int, int]:
        """(all, of it pages of files)."""
        whole, files = ("memory.usage_in_bytes", "cache") if self.version == 1 else ("memory.current", "file")
        counted = dict(line.split() for line in (self.folder / "memory.stat").read_text(encoding="ascii").splitlines())
        return int((self.folder / whole).read_text(encoding="ascii")), int(counted[files])


def obstacle() -> str | None:
    """Why this process can make no memory group; None: it can."""
    parent, version = _parent()
    if version == 2 and not _hands_memory_on(parent):
        return f"no cgroup from {parent} up hands memory on to groups that this process may make"
    return None if parent.is_dir() and os.access(parent, os.W_OK) else f"no memory cgroup can be made in {parent}"


@contextmanager
def memory_group(name: str) -> Iterator[MemoryGroup]:
    """A new, empty group without a limit; its processes must have ended before the end.

    Raises:
        MissingError: none can be made.
    """
    if why := obstacle():
        raise MissingError("a memory cgroup", why=why, remedy="systemd-run --user --scope -p Delegate=yes make report")
    parent, version = _parent()
    _sweep(parent)
    group = MemoryGroup(parent / f"tierwise-{name}-{os.getpid()}", version)
    group.folder.mkdir()
    try:
        yield group
    finally:
        _remove(group.folder)


def _parent() -> tuple[Path, int]:
    """(group in which others can be made, version): one's own in version 1; in 2 the nearest that hands memory on to its children."""
    own = [line.split(":", 2) for line in OWN.read_text(encoding="utf-8").splitlines()]
    for _, controllers, path in own:
        if "memory" in controllers.split(","):
            there = ROOT / "memory" / path.lstrip("/")
            return (there if there.is_dir() else ROOT / "memory"), 1
    mine = ROOT.joinpath(*(path.lstrip("/") for _, controllers, path in own if not controllers))
    for folder in (mine, *mine.parents):
        if _hands_memory_on(folder):
            return folder, 2
    return mine, 2


def _hands_memory_on(folder: Path) -> bool:
    """Whether groups made in `folder`, of version 2, can limit memory, and this process may make them."""
    with suppress(OSError):
        return "memory" in (folder / "cgroup.subtree_control").read_text(encoding="ascii").split() and os.access(folder, os.W_OK)
    return False


def _sweep(parent: Path) -> None:
    """Remove the groups of runs that were killed."""
    for folder in parent.glob("tierwise-*-*"):
        process = folder.name.rpartition("-")[2]
        if process.isdigit() and not psutil.pid_exists(int(process)):
            with suppress(OSError):
                folder.rmdir()


def _remove(folder: Path) -> None:
    deadline_s = time.monotonic() + LEAVE_S
    while folder.exists() and time.monotonic() < deadline_s:
        with suppress(OSError):
            folder.rmdir()
            return
        time.sleep(0.05)
