"""Folders that other users can neither enter nor lead astray: opened step by step, so that no link is followed that somebody planted."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from tierwise.core.files import closing_fd

MOST_LINKS: Final = 40  # the most links that Linux follows in one path
_STEP: Final = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class UnsafeFolderError(OSError):
    """A folder that another user can fill or put another in the place of; `strerror` says which, and why."""


@contextmanager
def reached(path: Path, *, start: Path = Path("/")) -> Iterator[int]:
    """Open the folder `path`, made where absent, by a way that no other user can bend; yield its descriptor.

    The way begins at `start`, which is trusted. Whoever owns a folder on it is trusted as well: as root one may name the folder of a user.
    """
    with ExitStack() as opened:

        def kept(descriptor: int) -> int:
            opened.callback(os.close, descriptor)
            return descriptor

        here, links = kept(os.open(start, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)), 0
        ahead = [*reversed(path.relative_to(start).parts)]
        while ahead:
            there = kept(_step(ahead.pop(), here))
            found = os.fstat(there)
            if stat.S_ISLNK(found.st_mode):
                links += 1
                if found.st_uid not in {0, os.geteuid()}:
                    raise UnsafeFolderError(errno.EPERM, f"{_named(there)} is a link that another user owns")
                if links > MOST_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
                ahead += reversed(Path(os.readlink("", dir_fd=there)).parts)  # the first part of an absolute one is /
                continue
            if not stat.S_ISDIR(found.st_mode):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
            if found.st_mode & stat.S_IWOTH and not found.st_mode & stat.S_ISVTX:
                raise UnsafeFolderError(errno.EPERM, f"every user can write in {_named(there)}, which has no sticky bit")
            here = there
        yield here


def close_off(name: str, *, above: int, owner: tuple[int, int], mode: int = 0o700) -> None:
    """Have a folder `name` in the folder whose descriptor is `above`, made where absent, that belongs to `owner` (uid, gid)."""
    with suppress(FileExistsError):
        os.mkdir(name, 0o700, dir_fd=above)
    with closing_fd(os.open(name, _FOLDER, dir_fd=above)) as folder:
        if os.fstat(folder).st_uid not in {os.geteuid(), owner[0]}:
            raise UnsafeFolderError(errno.EPERM, f"{_named(folder)} belongs to another user")
        os.fchown(folder, *owner)
        os.fchmod(folder, mode)


def closed_folder(path: Path, *, owner: tuple[int, int] | None = None, mode: int = 0o700) -> None:
    """Have the folder `path`, below one that is ours, belong to `owner` (without: to the user of this process) and be closed to others."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing_fd(os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)) as above:
        close_off(path.name, above=above, owner=owner or (os.geteuid(), os.getegid()), mode=mode)


def write_new(path: Path, text: str) -> None:
    """Write `text` to a new file in the place of whatever `path` names, in a folder where another account may have planted a link."""
    path.unlink(missing_ok=True)
    with path.open("x", encoding="utf-8") as file:
        file.write(text)


def _step(part: str, here: int) -> int:
    try:
        return os.open(part, _STEP, dir_fd=here)
    except FileNotFoundError:
        os.mkdir(part, dir_fd=here)
        return os.open(part, _STEP, dir_fd=here)


def _named(descriptor: int) -> str:
    return str(Path(f"/proc/self/fd/{descriptor}").readlink())
