"""What machine a number came from: enough to compare runs, nothing that names a person or a network; and the lock of a measurement."""

import fcntl
import hashlib
import os
import platform
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import psutil

from tierwise.core.progress import say
from tierwise.core.toml import Strict

BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
LOCK: Final = "tierwise-host.lock"


class Host(Strict):
    """Fingerprint of the machine; no host name, no user name, no path."""

    system: str
    kernel: str
    distribution: str
    architecture: str
    cpu: str
    cores: int
    memory_bytes: int
    virtualized: bool
    python: str


def _field(path: str, key: str) -> str:
    try:
        text = Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "unknown"
    found = re.search(rf'^{re.escape(key)}\s*[:=]\s*"?([^"\n]*)', text, flags=re.MULTILINE)
    return found.group(1).strip() if found else "unknown"


def mark() -> str:
    """Return what tells this machine from others, and does not name it: twelve digits of a hash of its machine id, else of its boot."""
    for path in (Path("/etc/machine-id"), BOOT):
        if path.exists() and (found := path.read_bytes()):
            return hashlib.sha256(found).hexdigest()[:12]
    return ""


def fingerprint() -> Host:
    flags = _field("/proc/cpuinfo", "flags")
    return Host(
        system=platform.system(),
        kernel=platform.release(),
        distribution=_field("/etc/os-release", "PRETTY_NAME"),
        architecture=platform.machine(),
        cpu=_field("/proc/cpuinfo", "model name"),
        cores=len(os.sched_getaffinity(0)),
        memory_bytes=psutil.virtual_memory().total,
        virtualized="hypervisor" in flags.split(),
        python=platform.python_version(),
    )


def machine_id() -> str:
    """Return a name of this machine that discloses nothing: containers on one kernel have the same name, clones of one image have not."""
    boot = BOOT.read_text(encoding="ascii").strip() if BOOT.exists() else os.uname().nodename
    return hashlib.sha256(f"tierwise machine {boot}".encode()).hexdigest()[:8]


@contextmanager
def host_lock() -> Iterator[None]:
    """Keep other work away from this machine while a replicate is measured."""
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
