"""Files that are whole or absent, and folders for what nobody keeps.

What is kept is written in one order, so that neither a kill nor a power cut leaves half of it, or a claim of what is not there: a file or
folder is written beside its place, flushed to disk and renamed, then each folder that holds a new name is flushed, and last comes what
speaks of it (docs/development.md). A removed file may come back by a power cut: whoever reads parts counts each row once.
"""

import errno
import fcntl
import glob
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import psutil

YOUNG_S: Final = 10.0  # a folder of the name that scratch folders have at first may be one whose maker is about to lock it
UNLOCKED: Final = ".new-"  # how the name of a scratch folder begins until it is locked
NO_LOCKS: Final = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}  # how a file system refuses that knows no locks


def digest(path: Path) -> str:
    """Return the SHA-256 of a file, or of the names and digests of all files of a folder."""
    if path.is_dir():
        parts = (f"{part.relative_to(path)} {digest(part)}\n" for part in sorted(path.rglob("*")) if part.is_file())
        return hashlib.sha256("".join(parts).encode()).hexdigest()
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


@contextmanager
def closing_fd(descriptor: int) -> Iterator[int]:
    """Yield an open file descriptor, and close it at the end."""
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a sibling ``*.part`` path, which on success is flushed and takes `path`'s place: a reader never sees half of it."""
    make_folder(path.parent)
    _forget_parts(path)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    part.unlink(missing_ok=True)
    part.touch(exist_ok=False)  # new: a link of that name, which somebody planted, is not written through
    try:
        yield part
        put(part, path)
    finally:
        part.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")


def put(made: Path, path: Path) -> None:
    """Have the file or folder `made` take the place of `path`, on the same file system, once all of it is flushed to disk."""
    flush_all(made)
    made.replace(path)
    _flush(path.parent)


def make_folder(folder: Path) -> None:
    """Make `folder` with those above it that are missing, each flushed to disk with the one that holds it."""
    missing = [one for one in (folder, *folder.parents) if not one.is_dir()]
    for one in reversed(missing):
        one.mkdir(exist_ok=True)
        _flush(one.parent)


def flush_all(made: Path) -> None:
    if made.is_symlink():
        return
    for one in made.iterdir() if made.is_dir() else ():
        flush_all(one)
    _flush(made)


def lock(handle: int) -> bool | None:
    """Take the lock (`flock`) of the open file or folder `handle`; False: another has it, None: its file system knows no locks."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno in NO_LOCKS:
            return None
        raise
    return True


@contextmanager
def scratch_folder(prefix: str, *, within: Path | None = None) -> Iterator[Path]:
    """Make a private folder that is gone at the end; what a killed process of the same user left there goes first."""
    parent = within or Path(tempfile.gettempdir())
    for left in parent.glob(f"{prefix}*/"):
        _remove_unused(left, older_s=0.0)
    for left in parent.glob(f"{UNLOCKED}{prefix}*/"):
        _remove_unused(left, older_s=YOUNG_S)
    made = Path(tempfile.mkdtemp(prefix=f"{UNLOCKED}{prefix}", dir=parent))
    with _locking(made):
        try:
            made = made.rename(made.with_name(made.name.removeprefix(UNLOCKED)))
            yield made
        finally:
            shutil.rmtree(made)  # still locked: else another one's maker may take it for a killed process's


def _remove_unused(left: Path, *, older_s: float) -> None:
    with suppress(FileNotFoundError, NotADirectoryError):  # gone meanwhile, or a link
        of = left.lstat()
        if of.st_uid == os.geteuid() and time.time() - of.st_ctime >= older_s:
            with _locking(left) as free:
                if free:
                    shutil.rmtree(left, ignore_errors=True)


def _forget_parts(path: Path) -> None:
    for part in path.parent.glob(f".{glob.escape(path.name)}.*.part"):
        process = part.name.removesuffix(".part").rpartition(".")[2]
        if process.isdigit() and not psutil.pid_exists(int(process)):
            part.unlink(missing_ok=True)


def _flush(path: Path) -> None:
    with closing_fd(os.open(path, os.O_RDONLY)) as handle:
        os.fsync(handle)


@contextmanager
def _locking(folder: Path) -> Iterator[bool | None]:
    with closing_fd(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)) as handle:
        yield lock(handle)
