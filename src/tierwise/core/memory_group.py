"""A memory cgroup of either version: processes that together may hold so much, the page cache of what they read included."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tierwise.core import control_groups
from tierwise.core.errors import MissingError

REMEDY: Final = "systemd-run --user --scope -p Delegate=yes make report"


@dataclass(frozen=True)
class MemoryGroup:
    """One group; `version` 1 or 2 decides how its files are called."""

    folder: Path
    version: int

    def take_in(self, process: int) -> None:
        """Count what `process` (its id) takes from now on; what it has already stays with whoever it was counted for."""
        control_groups.take_in(self.folder, process)

    def limit(self, size_bytes: int) -> None:
        name = "memory.limit_in_bytes" if self.version == 1 else "memory.max"
        (self.folder / name).write_text(f"{size_bytes}\n", encoding="ascii")

    def used_bytes(self) -> tuple[int, int]:
        whole, files = ("memory.usage_in_bytes", "cache") if self.version == 1 else ("memory.current", "file")
        counted = dict(line.split() for line in (self.folder / "memory.stat").read_text(encoding="ascii").splitlines())
        return int((self.folder / whole).read_text(encoding="ascii")), int(counted[files])


def obstacle() -> str | None:
    parent, version = _parent()
    if version == 2 and not _hands_memory_on(parent):
        return f"no cgroup from {parent} up hands memory on to groups that this process may make"
    return None if parent.is_dir() and os.access(parent, os.W_OK) else f"no memory cgroup can be made in {parent}"


@contextmanager
def memory_group(name: str) -> Iterator[MemoryGroup]:
    """Make a new, empty group without a limit; its processes must have ended before the end."""
    if why := obstacle():
        raise MissingError("a memory cgroup", why=why, remedy=REMEDY)
    parent, version = _parent()
    group = MemoryGroup(control_groups.make(parent, name), version)
    try:
        yield group
    finally:
        control_groups.remove(group.folder)


def _parent() -> tuple[Path, int]:
    """(group in which others can be made, version): one's own in version 1; in 2 the nearest that hands memory on to its children."""
    if own := control_groups.own("memory"):
        return own, 1
    mine = control_groups.own_unified()
    for folder in (mine, *mine.parents):
        if _hands_memory_on(folder):
            return folder, 2
    return mine, 2


def _hands_memory_on(folder: Path) -> bool:
    with suppress(OSError):
        return "memory" in (folder / "cgroup.subtree_control").read_text(encoding="ascii").split() and os.access(folder, os.W_OK)
    return False
