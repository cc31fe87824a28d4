"""Which machine a replicate was measured on, and the lock that keeps other work away from it meanwhile."""

import fcntl
import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from tierwise.core.progress import say

BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
LOCK: Final = "tierwise-host.lock"


def machine_id() -> str:
    """Return a name of this machine that discloses nothing: containers on one kernel have the same name, clones of one image have not."""
    boot = BOOT.read_text(encoding="ascii").strip() if BOOT.exists() else os.uname().nodename
    return hashlib.sha256(f"tierwise machine {boot}".encode()).hexdigest()[:8]


@contextmanager
def host_lock() -> Iterator[None]:
    lock = Path(tempfile.gettempdir()) / LOCK
    with suppress(FileExistsError):
        os.close(os.open(lock, os.O_RDONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644))
    held = os.open(lock, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)  # to lock a file, one need not own it
    try:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another run is measuring on this machine, and this one begins when it has ended")
            fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)
