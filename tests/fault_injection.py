"""File systems with faults, as an emulated mount; ``python fault_injection.py FAULT... FOLDER`` is the daemon of `FaultyDaemon`."""

import os
import shutil
import stat
import sys
from pathlib import Path
from typing import Any, ClassVar, Final

from tierwise.tiers import fuse_abi as abi
from tierwise.tiers.daemon import Daemon
from tierwise.tiers.fuse_abi import Init, Opcode
from tierwise.tiers.nodes import Nodes
from tierwise.tiers.server import Server, serve
from tierwise.tiers.volume import Volume

NO_LOCKS: Final = "no locks"
NO_MAPPINGS: Final = "no shared mappings"
POWER_CUT: Final = "power cut"
FLOCK_LOCKS: Final = 1 << 10  # a capability of FUSE (fuse.h): the file system takes over flock(2)


class FaultyDaemon(Daemon):
    def __init__(self, folder: Path, *faults: str):
        super().__init__(folder)
        self.program = (__file__, *faults)

    def mount_faulty(self, backing: Path, mountpoint: Path) -> None:
        folders = {"backing": str(backing), "mountpoint": str(mountpoint)}
        self.mount("faulty", device="mtron-3025", **folders, seed=1, stretch=1.0, cache=False)

    def cut_power(self, target: Path) -> None:
        """Make the new folder `target` as the backing directory would be found after a power cut now."""
        self.call("cut", tier="faulty", target=str(target))


class FaultyVolume(Volume):
    """A mount with `faults`.

    A file system that takes over locks (`flock`) and does not know that request has none. Without the leave for it, none of its files is
    mapped by several.
    """

    faults: ClassVar[tuple[str, ...]] = ()

    def __init__(self, device: str, backing: Path, mountpoint: Path, **named: Any):
        super().__init__(device, backing, mountpoint, **named)
        self._accepted |= FLOCK_LOCKS if NO_LOCKS in self.faults else 0
        self._accepted &= ~Init.DIRECT_IO_ALLOW_MMAP if NO_MAPPINGS in self.faults else ~0
        self.flushed = Flushed(self._nodes, backing, backing.with_name(f"{backing.name}.flushed"))
        self._transfer[Opcode.FSYNC] = self._flush
        self._operations[Opcode.FSYNCDIR] = self.flushed.flush_folder

    def close(self) -> None:
        self.flushed.close()
        super().close()

    def _flush(self, unique: int, number: int, body: memoryview, pid: int) -> None:
        self.flushed.flush_file(abi.FSYNC_IN.unpack_from(body)[0])
        self.transfers.flush(unique, number, body, pid)


class FaultyServer(Server):
    volume_type = FaultyVolume

    def __init__(self) -> None:
        super().__init__()
        self.commands["cut"] = self._cut

    def _cut(self, *, tier: str, target: str) -> None:
        volume = self._volumes[tier]
        assert isinstance(volume, FaultyVolume)
        volume.flushed.restore(Path(target))


class Flushed:
    """What a power cut leaves of a mount: flushed content by inode, each of which is held open, and flushed names in folders."""

    def __init__(self, nodes: Nodes, backing: Path, store: Path):
        self._nodes, self._store = nodes, store
        self._names: dict[int, dict[str, os.stat_result]] = {}  # of each folder that was flushed, by inode
        self._held: dict[int, int] = {}
        self._root = backing.stat().st_ino
        shutil.rmtree(store, ignore_errors=True)
        store.mkdir()
        for folder, _, files in os.walk(backing):
            self._flush_names(folder)
            for name in files:
                self._flush_content(f"{folder}/{name}")

    def flush_file(self, handle: int) -> None:
        self._flush_content(f"/proc/self/fd/{handle}")

    def flush_folder(self, number: int, *_: object) -> bytes:
        """Take note that the names in the folder of the node `number` were flushed; return the answer to the kernel."""
        self._flush_names(self._nodes.where(self._nodes.by_id[number]))
        return b""

    def restore(self, target: Path) -> None:
        self._restore(self._root, target)

    def close(self) -> None:
        for descriptor in self._held.values():
            os.close(descriptor)
        self._held.clear()

    def _flush_content(self, path: str) -> None:
        inode = self._hold(path)
        if Path(path).is_file():
            shutil.copyfile(path, self._store / str(inode))

    def _flush_names(self, folder: str) -> None:
        with os.scandir(folder) as entries:
            found = {entry.name: entry.stat(follow_symlinks=False) for entry in entries}
        for name in found:
            self._hold(f"{folder}/{name}", os.O_NOFOLLOW)
        self._names[self._hold(folder)] = found

    def _hold(self, path: str, flags: int = 0) -> int:
        descriptor = os.open(path, os.O_PATH | flags)
        inode = os.fstat(descriptor).st_ino
        if inode in self._held:
            os.close(descriptor)
        else:
            self._held[inode] = descriptor
        return inode

    def _restore(self, folder: int, target: Path) -> None:
        target.mkdir()
        for name, of in self._names.get(folder, {}).items():
            there = target / name
            if stat.S_ISDIR(of.st_mode):
                self._restore(of.st_ino, there)
            elif stat.S_ISLNK(of.st_mode):
                there.symlink_to(os.readlink("", dir_fd=self._held[of.st_ino]))
            else:
                content = self._store / str(of.st_ino)
                there.touch()
                if content.exists():
                    shutil.copyfile(content, there)
            os.chown(there, of.st_uid, of.st_gid, follow_symlinks=False)
            if not there.is_symlink():
                there.chmod(stat.S_IMODE(of.st_mode))


if __name__ == "__main__":
    FaultyVolume.faults = tuple(sys.argv[1:-1])
    sys.exit(serve(FaultyServer, Path(sys.argv[-1])))
