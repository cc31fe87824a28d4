"""What an unfinished download has brought so far: it never bears the name of the whole file, and outlives a kill."""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from tierwise.core.errors import TierwiseError
from tierwise.core.files import write_whole
from tierwise.core.paths import short


class Partial:
    """The first bytes of a file, in `path`.

    `validator` is the server's mark of the file that they are of, if it gives one; `pieced` says that they came with more than one answer.
    """

    def __init__(self, path: Path, stream: BinaryIO, identity: str):
        self.path, self._stream, self._identity = path, stream, identity
        self._note = path.with_name(f"{path.name}.json")
        self.size_bytes = stream.seek(0, os.SEEK_END)
        self.validator: str | None = None
        self.pieced = self.size_bytes > 0
        try:
            note = json.loads(self._note.read_text(encoding="utf-8"))
            known, self.validator = note["identity"], note["validator"]
        except (OSError, ValueError, KeyError, TypeError):
            known = None
        if known != identity:
            self.clear()

    def append(self, piece: bytes) -> None:
        """Add `piece`, and have the operating system hold it: a kill loses nothing."""
        self._stream.write(piece)
        self._stream.flush()
        self.size_bytes += len(piece)

    def restart(self, validator: str | None) -> None:
        """Begin anew, of the file that `validator` marks."""
        self.clear()
        self.validator = validator
        write_whole(self._note, json.dumps({"identity": self._identity, "validator": validator}) + "\n")

    def clear(self) -> None:
        """Forget what came so far: the file is empty and its note is gone."""
        self._note.unlink(missing_ok=True)
        self._stream.truncate(0)
        self.size_bytes, self.validator, self.pieced = 0, None, False

    def remove(self) -> None:
        """Leave no file behind."""
        self._note.unlink(missing_ok=True)
        self.path.unlink(missing_ok=True)


@contextmanager
def open_partial(path: Path, identity: str) -> Iterator[Partial]:
    """Open what there is of the file that will be `path`, held by this process alone; what was begun of another `identity` is forgotten.

    It goes when the block ends well, and when nothing came.

    Raises:
        TierwiseError: another process fetches it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    with part.open("a+b") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            held = part.exists() and part.stat().st_ino == os.fstat(stream.fileno()).st_ino  # not the whole file that it has just become
        except BlockingIOError:
            held = False
        if not held:
            raise TierwiseError(f"{short(path)}: another process is fetching this file. Remedy: wait for it")
        partial, done = Partial(part, stream, identity), False
        try:
            yield partial
            done = True
        finally:
            if done or not partial.size_bytes:
                partial.remove()
