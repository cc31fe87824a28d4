"""A limit on all the memory of a server, the page cache of what it reads included: a memory cgroup, of either version."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from tierwise.core.errors import MissingError
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.processes import serving

ROOT: Final = Path("/sys/fs/cgroup")
LEAVE_S: Final = 10.0


def obstacle() -> str | None:
    """Why this process cannot limit a server's memory; None: it can."""
    group, _ = _parent()
    if group.is_dir() and os.access(group, os.W_OK):
        return None
    return f"no memory cgroup can be made in {group}"


@contextmanager
def memory_limited(cluster: Cluster, size_bytes: int) -> Iterator[None]:
    """While open, the running server of `cluster` and its sessions to come have `size_bytes` of memory; stop it before the end.

    Pages of the page cache count for who reads them first, so the server's files should not be cached before.

    Raises:
        MissingError: no memory cgroup can be made.
    """
    if why := obstacle():
        raise MissingError("a memory cgroup", why=why, remedy="systemd-run --user --scope -p Delegate=yes make report")
    parent, limit = _parent()
    group = parent / f"tierwise-{os.getpid()}"
    group.mkdir(exist_ok=True)
    try:
        (group / limit).write_text(f"{size_bytes}\n", encoding="ascii")
        for process in serving(cluster.data):
            (group / "cgroup.procs").write_text(f"{process.pid}\n", encoding="ascii")
        yield
    finally:
        cluster.stop("immediate")
        _remove(group)


def _parent() -> tuple[Path, str]:
    """(folder to make a group in, name of its limit's file)."""
    own = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()]
    for _, controllers, path in own:
        if "memory" in controllers.split(","):
            there = ROOT / "memory" / path.lstrip("/")
            return (there if there.is_dir() else ROOT / "memory"), "memory.limit_in_bytes"
    paths = [path for _, controllers, path in own if not controllers]
    return ROOT.joinpath(*(path.lstrip("/") for path in paths)), "memory.max"


def _remove(group: Path) -> None:
    """Once its processes have left it."""
    deadline_s = time.monotonic() + LEAVE_S
    while group.exists() and time.monotonic() < deadline_s:
        with suppress(OSError):
            group.rmdir()
            return
        time.sleep(0.05)
