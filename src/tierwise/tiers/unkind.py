"""Unkind file systems that a reader may have: without locks, without shared mappings, or cut off from power. A mount can be any of them."""

import os
import shutil
import stat
from pathlib import Path
from typing import Final

from tierwise.tiers.fuse_abi import Init
from tierwise.tiers.nodes import Nodes

NO_LOCKS: Final = "no locks"
NO_MAPPINGS: Final = "no shared mappings"
POWER_CUT: Final = "power cut"
WAYS: Final = (NO_LOCKS, NO_MAPPINGS, POWER_CUT)


def capabilities(ways: tuple[str, ...]) -> int:
    """Return what a mount accepts of the kernel's offers.

    A file system that asks to be told of locks (`flock`) and knows no such request has none; without its leave none of its files is mapped
    by several.
    """
    flags = Init.WANTED | (Init.FLOCK_LOCKS if NO_LOCKS in ways else 0)
    return flags & ~Init.DIRECT_IO_ALLOW_MMAP if NO_MAPPINGS in ways else flags


class Flushed:
    """What a power cut leaves of a mount: the content of files that was flushed, and the names in folders that were.

    What lay in the backing directory at the beginning is on disk. `store` keeps the flushed content of files, by inode; no inode is used
    again, because each is held open.
    """

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
        """Take note that the open file `handle` was flushed."""
        self._flush_content(f"/proc/self/fd/{handle}")

    def flush_folder(self, number: int, *_: object) -> bytes:
        """Take note that the names in the folder of the node `number` were flushed; return the answer to the kernel."""
        self._flush_names(self._nodes.where(self._nodes.by_id[number]))
        return b""

    def restore(self, target: Path) -> None:
        """Make the new folder `target` as the backing directory would be found after a power cut now."""
        self._restore(self._root, target)

    def close(self) -> None:
        """Give up what it holds open."""
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
