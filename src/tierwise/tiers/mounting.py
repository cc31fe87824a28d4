"""Mounting and unmounting: by mount(2) as root, through fusermount3 as anybody else."""

import ctypes
import errno
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import psutil

from tierwise.core.errors import InputError, MissingError, TierwiseError

DEVICE: Final = Path("/dev/fuse")
NUMBER: Final = os.makedev(10, 229)  # the number of FUSE's device on every Linux: another file of that name is none
KIND: Final = "fuse.tierwise"  # file system type of every mount of this study, as /proc/self/mounts shows it

CAP_SYS_ADMIN: Final = 21

_NOSUID_NODEV: Final = 2 | 4
_DETACH: Final = 2
_libc = ctypes.CDLL(None, use_errno=True)


def require_fuse() -> None:
    if not DEVICE.exists() or DEVICE.stat().st_rdev != NUMBER:
        remedy = "modprobe fuse (a container needs --device /dev/fuse --cap-add SYS_ADMIN)"
        raise MissingError(str(DEVICE), why="emulated tiers are FUSE mounts", remedy=remedy)
    try:
        os.close(os.open(DEVICE, os.O_RDWR | os.O_CLOEXEC))
    except OSError as error:
        raise MissingError(f"access to {DEVICE}", why=error.strerror or str(error), remedy=f"chmod 666 {DEVICE} as root") from error
    if os.geteuid() and not shutil.which("fusermount3"):
        raise MissingError("fusermount3", why="an ordinary user mounts emulated tiers through it", remedy="apt-get install fuse3")
    if not os.geteuid() and not _may_mount():
        remedy = "docker run --device /dev/fuse --cap-add SYS_ADMIN"
        raise MissingError("permission to mount", why="this root has no CAP_SYS_ADMIN", remedy=remedy)


def mount(mountpoint: Path) -> int:
    """Mount an emulated tier at `mountpoint`; returns the descriptor through which the kernel speaks, non-blocking."""
    require_fuse()
    descriptor = _mount_as_root(mountpoint) if os.geteuid() == 0 else _mount_as_user(mountpoint)
    os.set_blocking(descriptor, False)
    return descriptor


def unmount(mountpoint: Path, *, lazily: bool = False) -> None:
    """Unmount `mountpoint`; `lazily` takes it out of the tree even while files of it are open. `OSError`: no mount, or not ours."""
    if os.geteuid() == 0:
        if _libc.umount2(os.fsencode(mountpoint), _DETACH if lazily else 0) == 0:
            return
        failed = ctypes.get_errno()
        if failed != errno.EBUSY:
            raise OSError(failed, os.strerror(failed), str(mountpoint))
    else:
        command = ["fusermount3", "-u", *(["-z"] if lazily else []), "--", str(mountpoint)]
        said = subprocess.run(command, check=False, capture_output=True, text=True)
        if said.returncode == 0:
            return
        if "busy" not in said.stderr:
            raise OSError(errno.EINVAL, said.stderr.strip(), str(mountpoint))
    rule = f"cannot be unmounted while in use by {', '.join(holders(mountpoint)) or 'a process that may not be looked into'}"
    raise InputError(str(mountpoint), rule=rule, remedy="end these processes, or leave the folder")


def mounts_below(folder: Path) -> list[Path]:
    """Return the mountpoints of emulated tiers at or below `folder`, innermost first."""
    ours = [Path(mount.mountpoint) for mount in psutil.disk_partitions(all=True) if mount.fstype == KIND]
    return sorted((path for path in ours if path.is_relative_to(folder)), key=lambda path: len(path.parts), reverse=True)


def holders(mountpoint: Path) -> list[str]:
    """Return who has what open below `mountpoint`, as far as this user may see; asks the mount itself nothing."""
    found = []
    for process in psutil.process_iter(["name"]):
        used = {target.relative_to(mountpoint) for target in _used_by(process.pid) if target.is_relative_to(mountpoint)}
        found += [f"{process.info['name']} (pid {process.pid}: {path})" for path in sorted(used)[:3]]
    return found


def _may_mount() -> bool:
    """Whether this process has CAP_SYS_ADMIN (capabilities(7)): mount(2) asks for it, and containers withhold it."""
    status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    effective = next(line.split()[1] for line in status.splitlines() if line.startswith("CapEff:"))
    return bool(int(effective, 16) >> CAP_SYS_ADMIN & 1)


def _used_by(pid: int) -> Iterator[Path]:
    folder = Path("/proc", str(pid))
    links = [folder / "cwd", folder / "root"]
    for listing in (folder / "fd", folder / "map_files"):
        with suppress(OSError):
            links += listing.iterdir()
    for link in links:
        with suppress(OSError):
            yield link.readlink()


def _mount_as_root(mountpoint: Path) -> int:
    descriptor = os.open(DEVICE, os.O_RDWR | os.O_CLOEXEC)
    options = f"fd={descriptor},rootmode=40000,user_id=0,group_id=0,allow_other,default_permissions"
    if _libc.mount(b"tierwise", os.fsencode(mountpoint), KIND.encode(), _NOSUID_NODEV, options.encode()):
        failed = ctypes.get_errno()
        os.close(descriptor)
        remedy = "mounting needs CAP_SYS_ADMIN, which containers withhold"
        raise TierwiseError(f"{mountpoint}: cannot be mounted: {os.strerror(failed)}. Remedy: {remedy}")
    return descriptor


def _mount_as_user(mountpoint: Path) -> int:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        command = ["fusermount3", "-o", "fsname=tierwise,subtype=tierwise,default_permissions", "--", str(mountpoint)]
        environment = {**os.environ, "_FUSE_COMMFD": str(theirs.fileno())}
        said = subprocess.run(command, check=False, capture_output=True, text=True, env=environment, pass_fds=[theirs.fileno()])
        if said.returncode:
            raise TierwiseError(f"{mountpoint}: cannot be mounted: {said.stderr.strip()}")
        _, passed, _, _ = socket.recv_fds(ours, 1, 1)  # fusermount3 sends it the kernel's descriptor
    return passed[0]
