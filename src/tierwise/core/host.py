"""What machine a number came from: enough to compare runs, nothing that names a person or a network."""

import hashlib
import os
import platform
import re
from pathlib import Path

import psutil

from tierwise.core.toml import Strict


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
    for path in (Path("/etc/machine-id"), Path("/proc/sys/kernel/random/boot_id")):
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
