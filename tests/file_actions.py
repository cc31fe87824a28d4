"""What programs do to files, at random, and the comparison of a mount with a plain directory to which the same is done."""

import errno
import mmap
import os
import random
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tierwise.core.units import KIB, MIB


@dataclass
class Place:
    root: Path
    opened: list[int] = field(default_factory=list)

    def close(self) -> None:
        for descriptor in self.opened:
            os.close(descriptor)

    def tree(self) -> dict[str, tuple[object, ...]]:
        found: dict[str, tuple[object, ...]] = {}
        for path in sorted(self.root.rglob("*")):
            at = path.lstat()
            content = path.readlink() if path.is_symlink() else path.read_bytes() if path.is_file() else None
            size = at.st_size if stat.S_ISREG(at.st_mode) else 0
            found[str(path.relative_to(self.root))] = (at.st_mode, at.st_uid, at.st_gid, at.st_nlink, size, content)
        return found


@dataclass(frozen=True)
class Drawn:
    """What an action is done with: names of two files and of a folder, a place in a file, a size and a seed of content."""

    first: str
    second: str
    folder: str
    offset: int
    size: int
    seed: int


Action = Callable[[Place], object]


def random_actions(chance: random.Random, count: int) -> Iterator[tuple[str, Action]]:
    """Yield (description, action): what programs do to files, successful or not."""
    names = [f"{folder}f{number}" for folder in ("", "d0/", "d1/", "d0/d2/") for number in range(4)]
    sizes = [1, 100, 8 * KIB, 70_001, MIB + 5]
    for _ in range(count):
        kind, first, second = chance.choice(KINDS), chance.choice(names), chance.choice(names)
        folder, offset = chance.choice(["d0", "d1", "d0/d2", "d3"]), chance.randrange(200 * KIB)
        drawn = Drawn(first, second, folder, offset, chance.choice(sizes), chance.randrange(1 << 30))
        yield f"{kind} {drawn}", partial(ACTIONS[kind], drawn)


def _write(its: Drawn, at: Place) -> int:
    with (at.root / its.first).open("r+b", buffering=0) as file:
        file.seek(its.offset)
        return file.write(random.Random(its.seed).randbytes(its.size))


def _append(its: Drawn, at: Place) -> int:
    descriptor = os.open(at.root / its.first, os.O_WRONLY | os.O_APPEND)
    try:
        return os.write(descriptor, random.Random(its.seed).randbytes(its.size))
    finally:
        os.close(descriptor)


def _read(its: Drawn, at: Place) -> bytes:
    with (at.root / its.first).open("rb", buffering=0) as file:
        return os.pread(file.fileno(), its.size, its.offset)


def _map(its: Drawn, at: Place) -> bytes:
    with (at.root / its.first).open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
        return mapped[:]


def _map_and_write(its: Drawn, at: Place) -> None:
    with (at.root / its.first).open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[its.offset % len(mapped)] = its.seed % 256
        mapped.flush()


def _unlink_open(its: Drawn, at: Place) -> tuple[int, bytes]:
    descriptor = os.open(at.root / its.first, os.O_RDWR)
    at.opened.append(descriptor)
    (at.root / its.first).unlink()
    os.pwrite(descriptor, b"still here", 3)
    return os.fstat(descriptor).st_size, os.pread(descriptor, 1000, 0)


def _allocate(its: Drawn, at: Place) -> None:
    with (at.root / its.first).open("r+b") as file:
        os.posix_fallocate(file.fileno(), its.offset, its.size)


def _sync(its: Drawn, at: Place) -> None:
    with (at.root / its.first).open("r+b") as file:
        (os.fsync if its.offset % 2 else os.fdatasync)(file.fileno())


def _list(its: Drawn, at: Place) -> list[tuple[str, bool, bool]]:
    with os.scandir(at.root / its.folder) as entries:
        return sorted((entry.name, entry.is_dir(follow_symlinks=False), entry.is_symlink()) for entry in entries)


def _touch(its: Drawn, at: Place) -> tuple[int, int]:
    os.utime(at.root / its.first, ns=(its.offset * 10**9 + 5, its.offset * 10**9 + 7))
    found = (at.root / its.first).stat()
    return found.st_atime_ns, found.st_mtime_ns


def _seek_hole(its: Drawn, at: Place) -> tuple[int, int]:
    with (at.root / its.first).open("rb") as file:
        return os.lseek(file.fileno(), 0, os.SEEK_END), os.lseek(file.fileno(), its.offset, os.SEEK_HOLE)


ACTIONS: dict[str, Callable[[Drawn, Place], object]] = {
    "create": lambda its, at: os.close(os.open(at.root / its.first, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o640)),
    "write": _write,
    "append": _append,
    "read": _read,
    "map": _map,
    "map and write": _map_and_write,
    "rename": lambda its, at: (at.root / its.first).rename(at.root / its.second) and None,
    "rename folder": lambda its, at: (at.root / its.folder).rename(at.root / ("d3" if its.offset % 2 else "d1")) and None,
    "unlink": lambda its, at: (at.root / its.first).unlink(),
    "unlink open": _unlink_open,
    "truncate": lambda its, at: os.truncate(at.root / its.first, its.offset),
    "allocate": _allocate,
    "sync": _sync,
    "mkdir": lambda its, at: (at.root / its.folder).mkdir(mode=0o750),
    "rmdir": lambda its, at: (at.root / its.folder).rmdir(),
    "list": _list,
    "chmod": lambda its, at: (at.root / its.first).chmod(its.offset % 0o1000 | 0o600),
    "touch": _touch,
    "link": lambda its, at: (at.root / its.second).hardlink_to(at.root / its.first),
    "symlink": lambda its, at: (at.root / its.second).symlink_to(Path(its.first).name),
    "seek hole": _seek_hole,
}
KINDS = [*ACTIONS, "write", "write", "read", "mkdir"]  # these are drawn more often


def outcome(action: Action, place: Place) -> object:
    try:
        return action(place)
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    except ValueError as error:  # an empty file cannot be mapped
        return str(error)


def do_to_both(mounted: Place, plain: Place, actions: Iterable[tuple[str, Action]]) -> None:
    try:
        for number, (what, action) in enumerate(actions):
            assert outcome(action, mounted) == outcome(action, plain), f"{number}: {what}"
            if number % 100 == 0:
                assert mounted.tree() == plain.tree(), f"after {number}: {what}"
        assert mounted.tree() == plain.tree()
    finally:
        mounted.close()
        plain.close()
