"""What the kernel asks of a mount besides transfers: names, attributes, open files, directories; done at once, on the backing directory."""

# System calls by their own names, on paths that are no more than handles.
# ruff: noqa: PTH101, PTH102, PTH104, PTH115, PTH211

import errno
import os
import stat
import time
from collections.abc import Callable
from functools import partialmethod
from typing import Final

from tierwise.tiers import fuse_abi as abi
from tierwise.tiers.fuse_abi import Fattr, Opcode
from tierwise.tiers.nodes import Node, Nodes

_STRIPPED: Final = os.O_DIRECT | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_TRUNC | os.O_NOCTTY
"""Open flags that the backing file must not see: the model waits, not the disk, and the kernel has done the rest."""

_DIRECTORY: Final = stat.S_IFDIR >> 12  # a directory's type in a directory entry; so for the others


class Filesystem:
    """The operations on `nodes`, named after their opcodes; a failure is an `OSError`, an unknown node a `KeyError`."""

    def __init__(self, nodes: Nodes, *, open_flags: int):
        self._nodes = nodes
        self._open_flags = open_flags
        self._listings: dict[int, list[bytes]] = {}  # of open directories
        self._opened_directories = 0
        self.operations: dict[int, Callable[[int, memoryview, int, int], bytes]] = {
            opcode: getattr(self, name) for opcode in Opcode if hasattr(self, name := f"_{opcode.name.lower()}")
        }

    # Names

    def _child(self, number: int, name: str) -> str:
        return f"{self._nodes.where(self._nodes.by_id[number])}/{name}"

    def _entry(self, parent: int, name: str) -> bytes:
        node, found = self._nodes.enter(parent, name, self._child(parent, name))
        return abi.ENTRY_OUT.pack(node.id, 0, abi.VALID_S, abi.VALID_S, 0, 0) + abi.pack_attr(found)

    def _made(self, parent: int, name: str, uid: int, gid: int) -> bytes:
        path = self._child(parent, name)
        made, directory = os.lstat(path), self._nodes.stat(self._nodes.by_id[parent])
        group = directory.st_gid if directory.st_mode & stat.S_ISGID else gid
        if (made.st_uid, made.st_gid) != (uid, group):
            os.chown(path, uid, group, follow_symlinks=False)
        return self._entry(parent, name)

    def _lookup(self, number: int, body: memoryview, _uid: int, _gid: int) -> bytes:
        (name,) = _names(body)
        return self._entry(number, name)

    def _symlink(self, number: int, body: memoryview, uid: int, gid: int) -> bytes:
        name, target = _names(body)
        os.symlink(target, self._child(number, name))
        return self._made(number, name, uid, gid)

    def _mknod(self, number: int, body: memoryview, uid: int, gid: int) -> bytes:
        mode, device, _, _ = abi.MKNOD_IN.unpack_from(body)
        (name,) = _names(body[abi.MKNOD_IN.size :])
        os.mknod(self._child(number, name), mode, device)
        return self._made(number, name, uid, gid)

    def _mkdir(self, number: int, body: memoryview, uid: int, gid: int) -> bytes:
        mode, _ = abi.MKDIR_IN.unpack_from(body)
        (name,) = _names(body[abi.MKDIR_IN.size :])
        os.mkdir(self._child(number, name), mode)
        return self._made(number, name, uid, gid)

    def _link(self, number: int, body: memoryview, _uid: int, _gid: int) -> bytes:
        (linked,) = abi.LINK_IN.unpack_from(body)
        (name,) = _names(body[abi.LINK_IN.size :])
        # Only with a directory descriptor does Python follow the link that a handle's path is; the path is absolute, so it is not used.
        os.link(self._nodes.where(self._nodes.by_id[linked]), self._child(number, name), src_dir_fd=self._nodes.root.descriptor)
        return self._entry(number, name)

    def _removed(self, remove: Callable[[str], None], number: int, body: memoryview, _uid: int, _gid: int) -> bytes:
        (name,) = _names(body)
        path = self._child(number, name)
        gone = os.lstat(path)
        remove(path)
        self._nodes.lost_name(gone)
        return b""

    _unlink, _rmdir = partialmethod(_removed, os.unlink), partialmethod(_removed, os.rmdir)

    def _rename(self, number: int, body: memoryview, _uid: int, _gid: int) -> bytes:
        (target,) = abi.RENAME_IN.unpack_from(body)
        old, new = _names(body[abi.RENAME_IN.size :])
        source, path = self._child(number, old), self._child(target, new)
        moved = os.lstat(source)
        replaced = os.lstat(path) if os.path.lexists(path) else None
        os.rename(source, path)
        if replaced is not None and replaced.st_ino != moved.st_ino:
            self._nodes.lost_name(replaced)
        if node := self._nodes.by_inode.get(moved.st_ino):
            node.parent, node.name = target, new
        return b""

    # Attributes

    def _getattr(self, number: int, body: memoryview, _uid: int, _gid: int) -> bytes:
        flags, _, handle = abi.GETATTR_IN.unpack_from(body)
        node = self._nodes.by_id[number]
        return _attributes(os.fstat(handle) if flags & abi.GETATTR_FH and handle in node.handles else self._nodes.stat(node))

    def _setattr(self, number: int, body: memoryview, _uid: int, _gid: int) -> bytes:
        valid, _, handle, size, _, atime_s, mtime_s, _, atime_ns, mtime_ns, _, mode, _, uid, gid, _ = abi.SETATTR_IN.unpack_from(body)
        node = self._nodes.by_id[number]
        path = f"/proc/self/fd/{handle}" if valid & Fattr.FH and handle in node.handles else self._nodes.where(node)
        if valid & (Fattr.UID | Fattr.GID):
            os.chown(path, uid if valid & Fattr.UID else -1, gid if valid & Fattr.GID else -1)
        if valid & Fattr.MODE:
            os.chmod(path, stat.S_IMODE(mode))
        if valid & Fattr.SIZE:
            os.truncate(path, size)
        if valid & (Fattr.ATIME | Fattr.MTIME):
            was = self._nodes.stat(node)
            access_ns = _time_ns(valid, Fattr.ATIME, Fattr.ATIME_NOW, atime_s * 10**9 + atime_ns, was.st_atime_ns)
            change_ns = _time_ns(valid, Fattr.MTIME, Fattr.MTIME_NOW, mtime_s * 10**9 + mtime_ns, was.st_mtime_ns)
            os.utime(path, ns=(access_ns, change_ns))
        return _attributes(self._nodes.stat(node))

    def _readlink(self, number: int, _body: memoryview, _uid: int, _gid: int) -> bytes:
        node = self._nodes.by_id[number]
        if node.descriptor >= 0:
            return os.fsencode(os.readlink("", dir_fd=node.descriptor))
        return os.fsencode(os.readlink(self._nodes.where(node)))

    def _statfs(self, _number: int, _body: memoryview, _uid: int, _gid: int) -> bytes:
        found = os.statvfs(self._nodes.root.descriptor)
        blocks = (found.f_blocks, found.f_bfree, found.f_bavail, found.f_files, found.f_ffree)
        return abi.STATFS_OUT.pack(*blocks, found.f_bsize, found.f_namemax, found.f_frsize, 0)

    # Open files

    def _open(self, number: int, body: memoryview, _uid: int, _gid: int) -> bytes:
        flags, _ = abi.OPEN_IN.unpack_from(body)
        node = self._nodes.by_id[number]
        return self._opened(node, os.open(self._nodes.where(node), (flags & ~(_STRIPPED | os.O_NOFOLLOW)) | os.O_CLOEXEC))

    def _create(self, number: int, body: memoryview, uid: int, gid: int) -> bytes:
        flags, mode, _, _ = abi.CREATE_IN.unpack_from(body)
        (name,) = _names(body[abi.CREATE_IN.size :])
        kept = (flags & ~_STRIPPED) | (flags & os.O_EXCL)
        handle = os.open(self._child(number, name), kept | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
        try:
            entry = self._made(number, name, uid, gid)
        except OSError:
            os.close(handle)
            raise
        return entry + self._opened(self._nodes.by_inode[os.fstat(handle).st_ino], handle)

    def _opened(self, node: Node, handle: int) -> bytes:
        node.handles.add(handle)
        return abi.OPEN_OUT.pack(handle, self._open_flags, 0)

    def _release(self, number: int, body: memoryview, _uid: int, _gid: int) -> bytes:
        self._nodes.closed(self._nodes.by_id[number], abi.RELEASE_IN.unpack_from(body)[0])
        return b""

    def _fallocate(self, _number: int, body: memoryview, _uid: int, _gid: int) -> bytes:
        handle, offset, length, mode, _ = abi.FALLOCATE_IN.unpack_from(body)
        if mode:
            raise OSError(errno.EOPNOTSUPP, "only plain allocation is emulated")
        os.posix_fallocate(handle, offset, length)
        return b""

    def _lseek(self, _number: int, body: memoryview, _uid: int, _gid: int) -> bytes:
        handle, offset, how, _ = abi.LSEEK_IN.unpack_from(body)
        return abi.LSEEK_OUT.pack(os.lseek(handle, offset, how))

    # Directories

    def _opendir(self, number: int, _body: memoryview, _uid: int, _gid: int) -> bytes:
        node = self._nodes.by_id[number]
        parent = self._nodes.by_id.get(node.parent, node)
        found = [(node.inode, _DIRECTORY, b"."), (parent.inode, _DIRECTORY, b"..")]
        with os.scandir(self._nodes.where(node)) as entries:
            found += [(entry.inode(), _kind(entry), os.fsencode(entry.name)) for entry in entries]
        self._opened_directories += 1
        self._listings[self._opened_directories] = [abi.pack_dirent(*entry, following) for following, entry in enumerate(found, start=1)]
        return abi.OPEN_OUT.pack(self._opened_directories, 0, 0)

    def _readdir(self, _number: int, body: memoryview, _uid: int, _gid: int) -> bytes:
        handle, offset, size, _, _, _, _ = abi.READ_IN.unpack_from(body)
        answer = bytearray()
        for entry in self._listings[handle][offset:]:
            if len(answer) + len(entry) > size:
                break
            answer += entry
        return bytes(answer)

    def _releasedir(self, _number: int, body: memoryview, _uid: int, _gid: int) -> bytes:
        del self._listings[abi.RELEASE_IN.unpack_from(body)[0]]
        return b""

    def _fsyncdir(self, _number: int, _body: memoryview, _uid: int, _gid: int) -> bytes:
        return b""


def _names(body: memoryview) -> list[str]:
    return [os.fsdecode(name) for name in bytes(body).split(b"\0")[:-1]]


def _attributes(found: os.stat_result) -> bytes:
    return abi.ATTR_OUT.pack(abi.VALID_S, 0, 0) + abi.pack_attr(found)


def _time_ns(valid: int, meant: int, now: int, given_ns: int, was_ns: int) -> int:
    if not valid & meant:
        return was_ns
    return time.time_ns() if valid & now else given_ns


def _kind(entry: os.DirEntry[str]) -> int:
    if entry.is_symlink():
        return stat.S_IFLNK >> 12
    if entry.is_dir(follow_symlinks=False):
        return _DIRECTORY
    return stat.S_IFREG >> 12 if entry.is_file(follow_symlinks=False) else 0
