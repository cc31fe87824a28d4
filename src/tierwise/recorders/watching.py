"""A tracing program beside a running server: it ends by itself, ends with whoever started it, and leaves no file."""

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Final

from tierwise.core.errors import TierwiseError

START_S: Final = 20.0
PATIENCE_S: Final = 10.0


class Watcher:
    """A tracing program; what it says goes to a file that has no name, so that nothing is left however it ends."""

    def __init__(self, process: subprocess.Popen[bytes], said: IO[bytes], complained: IO[bytes]):
        self._process, self.said, self._complained = process, said, complained

    @property
    def ended(self) -> bool:
        """Whether it has ended, of itself or otherwise."""
        return self._process.poll() is not None

    @property
    def size_bytes(self) -> int:
        """Of what it has said so far."""
        return os.fstat(self.said.fileno()).st_size

    @property
    def complaint(self) -> str:
        """What it said on standard error, on one line."""
        self._complained.seek(0)
        return " ".join(self._complained.read().decode("utf-8", "replace").split())

    def wait_until_ready(self, sign: bytes, where: IO[bytes]) -> None:
        """Until `sign` stands in `where`; `TierwiseError` with its complaint where it ends before or takes too long."""
        deadline_s = time.monotonic() + START_S
        while time.monotonic() < deadline_s:
            where.seek(0)
            if sign in where.read(1 << 16):
                return
            if self.ended:
                break
            time.sleep(0.02)
        raise TierwiseError(self.complaint or f"it ended with {self._process.poll()}")

    def stop(self) -> None:
        """Have it say the rest and end."""
        if not self.ended:
            self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    @property
    def complained(self) -> IO[bytes]:
        """Its standard error."""
        return self._complained


@contextmanager
def watching(command: Sequence[str]) -> Iterator[Watcher]:
    """Run `command`, which gets SIGTERM when this process dies, however that comes about, and SIGINT at the end of the block."""
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as complained:
        process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "TERM", *command],
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=complained,
            env={**os.environ, "LC_ALL": "C"},
            start_new_session=True,  # a Ctrl-C at the terminal is for us, who then end it
        )
        watcher = Watcher(process, said, complained)
        try:
            yield watcher
        finally:
            watcher.stop()
