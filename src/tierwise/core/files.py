"""Files that are whole or absent, and folders for what nobody keeps."""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

YOUNG_S: Final = 10.0
"""A scratch folder without a lock may be one whose maker is about to lock it."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a sibling ``*.part`` path; on success it is flushed to disk and takes `path`'s place, on error it goes.

    A reader of `path` sees the old file or the new one, never half of one, even after a power cut.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    part.unlink(missing_ok=True)
    part.touch(exist_ok=False)  # new: a link of that name, which somebody planted, is not written through
    try:
        yield part
        with part.open("rb") as handle:
            os.fsync(handle.fileno())
        part.replace(path)
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    finally:
        part.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    """Write `text` to `path` so that it is never seen half written."""
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")


@contextmanager
def scratch_folder(prefix: str, *, within: Path | None = None) -> Iterator[Path]:
    """Make a private folder, which is gone at the end; below `within`, else among the system's temporary files, where a socket's path is
    short enough.

    While it is used it is locked (`flock`, which keeps systemd-tmpfiles away too). What a killed process of the same user left
    there with that prefix goes first.
    """
    parent = within or Path(tempfile.gettempdir())
    for left in parent.glob(f"{prefix}*/"):
        with suppress(FileNotFoundError, NotADirectoryError):  # gone meanwhile, or a link
            of = left.lstat()
            if of.st_uid == os.geteuid() and time.time() - of.st_ctime > YOUNG_S:
                with _locking(left) as free:
                    if free:
                        shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=prefix, dir=parent) as name, _locking(Path(name)):
        yield Path(name)


@contextmanager
def _locking(folder: Path) -> Iterator[bool]:
    """Hold the lock of `folder`; whether it was free."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield True
    except BlockingIOError:
        yield False
    finally:
        os.close(handle)
