"""The kernel's FUSE protocol, as far as the emulator speaks it: structures and numbers of ``linux/fuse.h``, version 7.39."""

import os
from enum import IntEnum
from struct import Struct
from typing import Final

MAJOR: Final = 7
MINOR: Final = 39
ROOT_ID: Final = 1


class Opcode(IntEnum):
    """What the kernel asks; whatever is missing here is answered by ENOSYS."""

    LOOKUP = 1
    FORGET = 2
    GETATTR = 3
    SETATTR = 4
    READLINK = 5
    SYMLINK = 6
    MKNOD = 8
    MKDIR = 9
    UNLINK = 10
    RMDIR = 11
    RENAME = 12
    LINK = 13
    OPEN = 14
    READ = 15
    WRITE = 16
    STATFS = 17
    RELEASE = 18
    FSYNC = 20
    INIT = 26
    OPENDIR = 27
    READDIR = 28
    RELEASEDIR = 29
    FSYNCDIR = 30
    CREATE = 35
    INTERRUPT = 36
    BATCH_FORGET = 42
    FALLOCATE = 43
    LSEEK = 46


class Init:
    ASYNC_READ: Final = 1 << 0
    BIG_WRITES: Final = 1 << 5
    ASYNC_DIO: Final = 1 << 15
    PARALLEL_DIROPS: Final = 1 << 18
    MAX_PAGES: Final = 1 << 22
    EXT: Final = 1 << 30
    DIRECT_IO_ALLOW_MMAP: Final = 1 << 36

    WANTED: Final = ASYNC_READ | BIG_WRITES | ASYNC_DIO | PARALLEL_DIROPS | MAX_PAGES | EXT | DIRECT_IO_ALLOW_MMAP


class Fopen:
    DIRECT_IO: Final = 1 << 0
    KEEP_CACHE: Final = 1 << 1
    PARALLEL_DIRECT_WRITES: Final = 1 << 6


class Fattr:
    MODE: Final = 1 << 0
    UID: Final = 1 << 1
    GID: Final = 1 << 2
    SIZE: Final = 1 << 3
    ATIME: Final = 1 << 4
    MTIME: Final = 1 << 5
    FH: Final = 1 << 6
    ATIME_NOW: Final = 1 << 7
    MTIME_NOW: Final = 1 << 8


def _layout(fields: str, size_bytes: int) -> Struct:
    layout = Struct("=" + fields)
    assert layout.size == size_bytes, (fields, layout.size, size_bytes)
    return layout


IN_HEADER: Final = _layout("IIQQIIIHH", 40)  # len, opcode, unique, nodeid, uid, gid, pid, total_extlen, padding
OUT_HEADER: Final = _layout("IiQ", 16)  # len, error, unique

ATTR: Final = _layout("QQQQQQIIIIIIIIII", 88)  # ino, size, blocks, a/m/ctime, a/m/ctimensec, mode, nlink, uid, gid, rdev, blksize, flags
ENTRY_OUT: Final = _layout("QQQQII", 40)  # nodeid, generation, entry_valid, attr_valid, the two in ns; then ATTR
ATTR_OUT: Final = _layout("QII", 16)  # attr_valid, attr_valid_nsec, dummy; then ATTR
DIRENT: Final = _layout("QQII", 24)  # ino, off, namelen, type; then the name, padded to 8 bytes

INIT_IN: Final = _layout("IIIII44x", 64)  # major, minor, max_readahead, flags, flags2
INIT_OUT: Final = _layout("IIIIHHIIHHI28x", 64)  # major, minor, max_readahead, flags, max_background, congestion_threshold, max_write, ...
FORGET_IN: Final = _layout("Q", 8)  # nlookup
FORGET_ONE: Final = _layout("QQ", 16)  # nodeid, nlookup
BATCH_FORGET_IN: Final = _layout("I4x", 8)  # count
GETATTR_IN: Final = _layout("IIQ", 16)  # getattr_flags, dummy, fh
SETATTR_IN: Final = _layout("IIQQQQQQIIIIIIII", 88)  # valid, .., fh, size, lock_owner, a/m/ctime, a/m/ctimensec, mode, .., uid, gid, ..
MKNOD_IN: Final = _layout("IIII", 16)  # mode, rdev, umask, padding
MKDIR_IN: Final = _layout("II", 8)  # mode, umask
RENAME_IN: Final = _layout("Q", 8)  # newdir
LINK_IN: Final = _layout("Q", 8)  # oldnodeid
OPEN_IN: Final = _layout("II", 8)  # flags, open_flags
OPEN_OUT: Final = _layout("QII", 16)  # fh, open_flags, padding
CREATE_IN: Final = _layout("IIII", 16)  # flags, mode, umask, open_flags
RELEASE_IN: Final = _layout("QIIQ", 24)  # fh, flags, release_flags, lock_owner
READ_IN: Final = _layout("QQIIQII", 40)  # fh, offset, size, read_flags, lock_owner, flags, padding
WRITE_IN: Final = READ_IN  # fh, offset, size, write_flags, lock_owner, flags, padding
WRITE_OUT: Final = _layout("II", 8)  # size, padding
FSYNC_IN: Final = _layout("QII", 16)  # fh, fsync_flags, padding
STATFS_OUT: Final = _layout("QQQQQIIII24x", 80)  # blocks, bfree, bavail, files, ffree, bsize, namelen, frsize, padding
FALLOCATE_IN: Final = _layout("QQQII", 32)  # fh, offset, length, mode, padding
LSEEK_IN: Final = _layout("QQII", 24)  # fh, offset, origin, padding
LSEEK_OUT: Final = _layout("Q", 8)  # offset

GETATTR_FH: Final = 1 << 0

REQUEST_BYTES: Final = 1 << 20  # most bytes of one READ or WRITE

PAYLOAD_OFFSET: Final = IN_HEADER.size + WRITE_IN.size  # where the data of a WRITE begin in its message

VALID_S: Final = 3600  # how long the kernel may remember names and attributes; nobody else changes them


def pack_attr(stat: os.stat_result) -> bytes:
    (atime_s, atime_ns), (mtime_s, mtime_ns), (ctime_s, ctime_ns) = (
        divmod(time_ns, 10**9) for time_ns in (stat.st_atime_ns, stat.st_mtime_ns, stat.st_ctime_ns)
    )
    times = (atime_s, mtime_s, ctime_s, atime_ns, mtime_ns, ctime_ns)
    owner = (stat.st_mode, stat.st_nlink, stat.st_uid, stat.st_gid)
    return ATTR.pack(stat.st_ino, stat.st_size, stat.st_blocks, *times, *owner, stat.st_rdev, stat.st_blksize, 0)


def pack_dirent(inode: int, kind: int, name: bytes, following: int) -> bytes:
    """Return one name of a directory; `kind` as in ``d_type``, `following` is the offset of the next one."""
    entry = DIRENT.pack(inode, following, len(name), kind) + name
    return entry + bytes(-len(entry) % 8)
