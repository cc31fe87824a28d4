"""The files and directories that the kernel knows of a mount, and how system calls reach them.

A node holds an O_PATH descriptor, through which its file stays reachable whatever becomes of its name. Where descriptors run
low, a new node holds none and is reached through its own open file, or by its path.

Where on the device a file's bytes lie is a persistent map of 16 MiB extents. One line of the map file gives an extent: inode, number of the
extent in the file, number of the extent on the device; ``inode - -`` gives all extents of an inode back. Lines are appended as extents are
given out, so a killed daemon loses none, and the file is written anew whenever it is opened.
"""

import errno
import os
import resource
import stat
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from tierwise.core.errors import InputError
from tierwise.core.files import write_whole
from tierwise.core.paths import short
from tierwise.core.units import MIB
from tierwise.tiers import fuse_abi as abi
from tierwise.tiers.meter import Counters

EXTENT_BYTES: Final = 16 * MIB


class Extents:
    """The map in `path`, for a device of `capacity_bytes`; what is written one after the other lies one after the other."""

    def __init__(self, path: Path, capacity_bytes: int):
        self._path = path
        self._count = capacity_bytes // EXTENT_BYTES
        self._files: dict[int, dict[int, int]] = {}
        self._used: set[int] = set()
        self._last = -1
        if path.exists():
            self._read()
        self._log = path.open("a", encoding="ascii", buffering=1)

    def keep(self, inodes: Iterable[int]) -> None:
        """Give back what belongs to no inode of `inodes`, and write the map anew."""
        living = set(inodes)
        for inode in [inode for inode in self._files if inode not in living]:
            self._used.difference_update(self._files.pop(inode).values())
        lines = (f"{inode} {number} {extent}\n" for inode, extents in self._files.items() for number, extent in extents.items())
        self._log.close()
        write_whole(self._path, "".join(lines))
        self._log = self._path.open("a", encoding="ascii", buffering=1)

    def address(self, inode: int, offset_bytes: int) -> int:
        """Return the address on the device of `offset_bytes` in the file `inode`. A full device is an `OSError`."""
        number, rest = divmod(offset_bytes, EXTENT_BYTES)
        try:
            return self._files[inode][number] * EXTENT_BYTES + rest
        except KeyError:
            return self._grow(inode, number) * EXTENT_BYTES + rest

    def free(self, inode: int) -> None:
        if extents := self._files.pop(inode, None):
            self._used.difference_update(extents.values())
            self._log.write(f"{inode} - -\n")

    def close(self) -> None:
        self._log.close()

    def _grow(self, inode: int, number: int) -> int:
        if len(self._used) >= self._count:
            raise OSError(28, "the emulated device is full")
        extents = self._files.setdefault(inode, {})
        extent = extents.get(number - 1, self._last) + 1
        if extent in self._used or extent >= self._count:
            extent = self._last + 1
        while extent in self._used or extent >= self._count:
            extent = 0 if extent >= self._count else extent + 1
        extents[number] = self._last = extent
        self._used.add(extent)
        self._log.write(f"{inode} {number} {extent}\n")
        return extent

    def _read(self) -> None:
        for line, text in enumerate(self._path.read_text(encoding="ascii").splitlines(), start=1):
            match text.split():
                case [inode, "-", "-"]:
                    self._used.difference_update(self._files.pop(int(inode), {}).values())
                case [inode, number, extent] if (inode + number + extent).isdigit():
                    self._files.setdefault(int(inode), {})[int(number)] = self._last = int(extent)
                    self._used.add(int(extent))
                case _:
                    where, rule = f"{short(self._path)} line {line}", "must be `inode number extent` or `inode - -`"
                    raise InputError(where, value=text, rule=rule, remedy="remove the file: tierwise then assigns new addresses")


SPARE: Final = 0.5  # share of the descriptors that is left for open files


class Node:
    __slots__ = ("descriptor", "handles", "id", "inode", "io", "lookups", "name", "parent", "unlinked")

    def __init__(self, number: int, parent: int, name: str, inode: int, descriptor: int):
        self.id, self.parent, self.name, self.inode = number, parent, name, inode
        self.descriptor = descriptor  # O_PATH, or -1
        self.handles: set[int] = set()  # open descriptors of the backing file; the kernel names open files by them too
        self.lookups = 0  # how often the kernel has looked it up
        self.unlinked = False
        self.io = Counters()


class Nodes:
    def __init__(self, backing: Path, extents: Extents):
        self.extents = extents
        self.retired: dict[int, tuple[str, Counters]] = {}  # nodes that the kernel has forgotten: path, counters
        self.hand_in: Callable[[], None] = lambda: None  # has whoever counts requests elsewhere count them with the nodes
        self._spare = int(_descriptors() * (1 - SPARE))
        self._number = abi.ROOT_ID
        root = Node(abi.ROOT_ID, abi.ROOT_ID, "", backing.stat().st_ino, os.open(backing, os.O_PATH | os.O_DIRECTORY))
        self.root = root
        self.by_id: dict[int, Node] = {root.id: root}
        self.by_inode: dict[int, Node] = {root.inode: root}
        extents.keep(entry.lstat().st_ino for entry in backing.rglob("*"))

    def close(self) -> None:
        for node in self.by_id.values():
            for descriptor in (node.descriptor, *node.handles):
                if descriptor >= 0:
                    os.close(descriptor)
        self.by_id.clear()

    def where(self, node: Node) -> str:
        if node.descriptor >= 0:
            return f"/proc/self/fd/{node.descriptor}"
        if node.handles:
            return f"/proc/self/fd/{next(iter(node.handles))}"
        parent = self.by_id.get(node.parent)
        if parent is None:
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
        return f"{self.where(parent)}/{node.name}"

    def stat(self, node: Node) -> os.stat_result:
        if node.descriptor >= 0:
            return os.fstat(node.descriptor)
        return os.fstat(next(iter(node.handles))) if node.handles else os.lstat(self.where(node))

    def path_of(self, node: Node) -> str:
        names = [node.name]
        while (node := self.by_id.get(node.parent, self.root)) is not self.root:
            names.append(node.name)
        return "/".join(reversed(names))

    def enter(self, parent: int, name: str, path: str) -> tuple[Node, os.stat_result]:
        found = os.lstat(path)
        node = self.by_inode.get(found.st_ino)
        if node is None:
            self._number += 1
            node = Node(self._number, parent, name, found.st_ino, self._hold(path))
            self.by_id[node.id] = self.by_inode[found.st_ino] = node
        node.parent, node.name = parent, name
        node.lookups += 1
        return node, found

    def forget(self, number: int, count: int) -> None:
        node = self.by_id[number]
        node.lookups -= count
        if node.lookups > 0 or node is self.root:
            return
        self.hand_in()
        if node.io.used:
            self.retired[number] = self.path_of(node), node.io
        if node.descriptor >= 0:
            os.close(node.descriptor)
            self._spare += 1
        if self.by_inode.get(node.inode) is node:
            del self.by_inode[node.inode]
        del self.by_id[number]

    def lost_name(self, gone: os.stat_result) -> None:
        """Note that a name of `gone` was removed. Its inode may be used again after the last name, once nobody has it open."""
        if gone.st_nlink > 1 and not stat.S_ISDIR(gone.st_mode):
            return
        node = self.by_inode.pop(gone.st_ino, None)
        if node is not None and node.handles:
            node.unlinked = True
        else:
            self.extents.free(gone.st_ino)

    def closed(self, node: Node, handle: int) -> None:
        node.handles.remove(handle)
        os.close(handle)
        if node.unlinked and not node.handles:
            self.extents.free(node.inode)

    def used(self) -> list[tuple[int, str, Counters]]:
        """Return (id, path, counters) of every node with a request since the last reset, forgotten ones included."""
        self.hand_in()
        living = [(node.id, self.path_of(node), node.io) for node in self.by_id.values() if node.io.used]
        return [*living, *((number, path, io) for number, (path, io) in self.retired.items())]

    def reset_io(self) -> None:
        self.hand_in()
        self.retired.clear()
        for node in self.by_id.values():
            if node.io.used:
                node.io = Counters()

    def _hold(self, path: str) -> int:
        if self._spare <= 0:
            return -1
        self._spare -= 1
        return os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)


def _descriptors() -> int:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return most
