"""What programs do to files, at random, and the comparison of a mount with a plain directory to which the same is done."""

import errno
import mmap
import os
import random
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
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


Action = Callable[[Place], object]


def random_actions(chance: random.Random, count: int) -> Iterator[tuple[str, Action]]:
    """Yield (description, action): what programs do to files, successful or not."""
    names = [f"{folder}f{number}" for folder in ("", "d0/", "d1/", "d0/d2/") for number in range(4)]
    folders = ["d0", "d1", "d0/d2", "d3"]
    for _ in range(count):
        kind = chance.choice(ACTIONS)
        first, second, folder = chance.choice(names), chance.choice(names), chance.choice(folders)
        offset, size, seed = chance.randrange(200 * KIB), chance.choice([1, 100, 8 * KIB, 70_001, MIB + 5]), chance.randrange(1 << 30)
        yield f"{kind.__name__} {first} {second} {folder} {offset} {size}", kind(first, second, folder, offset, size, seed)


def _create(first: str, *_: object) -> Action:
    return lambda at: os.close(os.open(at.root / first, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o640))


def _write(first: str, _second: str, _folder: str, offset: int, size: int, seed: int) -> Action:
    def action(at: Place) -> int:
        with (at.root / first).open("r+b", buffering=0) as file:
            file.seek(offset)
            return file.write(random.Random(seed).randbytes(size))

    return action


def _append(first: str, _second: str, _folder: str, _offset: int, size: int, seed: int) -> Action:
    def action(at: Place) -> int:
        descriptor = os.open(at.root / first, os.O_WRONLY | os.O_APPEND)
        try:
            return os.write(descriptor, random.Random(seed).randbytes(size))
        finally:
            os.close(descriptor)

    return action


def _read(first: str, _second: str, _folder: str, offset: int, size: int, _seed: int) -> Action:
    def action(at: Place) -> bytes:
        with (at.root / first).open("rb", buffering=0) as file:
            return os.pread(file.fileno(), size, offset)

    return action


def _map(first: str, *_: object) -> Action:
    def action(at: Place) -> bytes:
        with (at.root / first).open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
            return mapped[:]

    return action


def _map_and_write(first: str, _second: str, _folder: str, offset: int, _size: int, seed: int) -> Action:
    def action(at: Place) -> None:
        with (at.root / first).open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
            mapped[offset % len(mapped)] = seed % 256
            mapped.flush()

    return action


def _rename(first: str, second: str, *_: object) -> Action:
    return lambda at: (at.root / first).rename(at.root / second) and None


def _rename_folder(_first: str, _second: str, folder: str, offset: int, *_: object) -> Action:
    return lambda at: (at.root / folder).rename(at.root / ("d3" if offset % 2 else "d1")) and None


def _unlink(first: str, *_: object) -> Action:
    return lambda at: (at.root / first).unlink()


def _unlink_open(first: str, *_: object) -> Action:

    def action(at: Place) -> tuple[int, bytes]:
        descriptor = os.open(at.root / first, os.O_RDWR)
        at.opened.append(descriptor)
        (at.root / first).unlink()
        os.pwrite(descriptor, b"still here", 3)
        return os.fstat(descriptor).st_size, os.pread(descriptor, 1000, 0)

    return action


def _truncate(first: str, _second: str, _folder: str, offset: int, *_: object) -> Action:
    return lambda at: os.truncate(at.root / first, offset)


def _allocate(first: str, _second: str, _folder: str, offset: int, size: int, _seed: int) -> Action:
    def action(at: Place) -> None:
        with (at.root / first).open("r+b") as file:
            os.posix_fallocate(file.fileno(), offset, size)

    return action


def _sync(first: str, _second: str, _folder: str, offset: int, *_: object) -> Action:
    def action(at: Place) -> None:
        with (at.root / first).open("r+b") as file:
            (os.fsync if offset % 2 else os.fdatasync)(file.fileno())

    return action


def _mkdir(_first: str, _second: str, folder: str, *_: object) -> Action:
    return lambda at: (at.root / folder).mkdir(mode=0o750)


def _rmdir(_first: str, _second: str, folder: str, *_: object) -> Action:
    return lambda at: (at.root / folder).rmdir()


def _list(_first: str, _second: str, folder: str, *_: object) -> Action:
    def action(at: Place) -> list[tuple[str, bool, bool]]:
        with os.scandir(at.root / folder) as entries:
            return sorted((entry.name, entry.is_dir(follow_symlinks=False), entry.is_symlink()) for entry in entries)

    return action


def _chmod(first: str, _second: str, _folder: str, offset: int, *_: object) -> Action:
    return lambda at: (at.root / first).chmod(offset % 0o1000 | 0o600)


def _touch(first: str, _second: str, _folder: str, offset: int, *_: object) -> Action:
    def action(at: Place) -> tuple[int, int]:
        os.utime(at.root / first, ns=(offset * 10**9 + 5, offset * 10**9 + 7))
        found = (at.root / first).stat()
        return found.st_atime_ns, found.st_mtime_ns

    return action


def _link(first: str, second: str, *_: object) -> Action:
    return lambda at: (at.root / second).hardlink_to(at.root / first)


def _symlink(first: str, second: str, *_: object) -> Action:
    return lambda at: (at.root / second).symlink_to(Path(first).name)


def _seek_hole(first: str, _second: str, _folder: str, offset: int, *_: object) -> Action:
    def action(at: Place) -> tuple[int, int]:
        with (at.root / first).open("rb") as file:
            return os.lseek(file.fileno(), 0, os.SEEK_END), os.lseek(file.fileno(), offset, os.SEEK_HOLE)

    return action


ACTIONS: list[Callable[..., Action]] = [
    _create, _write, _write, _write, _append, _read, _read, _map, _map_and_write, _rename, _rename_folder, _unlink, _unlink_open,
    _truncate, _allocate, _sync, _mkdir, _mkdir, _rmdir, _list, _chmod, _touch, _link, _symlink, _seek_hole,
]  # fmt: skip


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
