"""A tracing program beside a running server: it ends by itself, ends with whoever started it, and leaves no file."""

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import IO, Final

from tierwise.core.errors import EvidenceError, TierwiseError

START_S: Final = 60.0
"""A tracing program may take so long to attach: a busy machine took over 20 s to compile one for bpftrace."""
PATIENCE_S: Final = 60.0
"""How long the program may take to say what it has, in seconds: ending bpftrace took over 10 s on a busy machine."""
AGAIN_S: Final = 2.0
"""Seconds after which it is asked again: bpftrace overhears a signal that comes while it is not waiting for events (up to 0.17)."""
FATAL: Final = {signal.SIGKILL, signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGPIPE}


class Watcher:
    """A tracing program; what it says goes to a file that has no name, so that nothing is left however it ends."""

    def __init__(self, process: subprocess.Popen[bytes], said: IO[bytes], complained: IO[bytes]):
        self._process, self.said, self._complained = process, said, complained

    @property
    def ended(self) -> bool:
        """Return whether the program has ended, of itself or otherwise."""
        return self._process.poll() is not None

    @property
    def size_bytes(self) -> int:
        """Return how many bytes the program has written so far."""
        return os.fstat(self.said.fileno()).st_size

    @property
    def complaint(self) -> str:
        """Return what the program said on standard error, on one line."""
        self._complained.seek(0)
        return " ".join(self._complained.read().decode("utf-8", "replace").split())

    def wait_until_ready(self, sign: bytes, where: IO[bytes]) -> None:
        """Wait until `sign` stands in `where`; raise a `TierwiseError` with the program's complaint where it ends before or takes too
        long."""
        deadline_s = time.monotonic() + START_S
        while time.monotonic() < deadline_s:
            where.seek(0)
            if sign in where.read(1 << 16):
                return
            if self.ended:
                raise TierwiseError(self.complaint or f"it ended with {self._process.returncode}")
            time.sleep(0.02)
        raise TierwiseError(f"it was not ready after {START_S:.0f} s: {self.complaint}")

    def stop(self) -> None:
        """Have it say the rest and end; `EvidenceError` if it does not.

        It is asked again by SIGTERM: while bpftrace prints its maps a second SIGINT would kill it.
        """
        asked, deadline_s = signal.SIGINT, time.monotonic() + PATIENCE_S
        while not self.ended:
            if time.monotonic() > deadline_s:
                self._process.kill()
                self._process.wait()
                raise EvidenceError(f"the tracing program did not end within {PATIENCE_S:g} s of being asked to: what it saw is lost")
            self._process.send_signal(asked)
            asked = signal.SIGTERM
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(AGAIN_S)

    def last_words(self, most_bytes: int = -1) -> bytes:
        """Return what it said, but no more than `most_bytes` (-1: all); it has been stopped then.

        Raises:
            EvidenceError: it did not end of itself, nor because it was asked to: what it said is not all that it saw.
        """
        self.stop()
        code = self._process.returncode
        if (-code if code < 0 else code - 128) in FATAL:
            raise EvidenceError(f"the tracing program was killed (it ended with {code}): what it saw is lost")
        self.said.seek(0)
        return self.said.read(most_bytes)

    @property
    def complained(self) -> IO[bytes]:
        """Return the file of the program's standard error."""
        return self._complained


@contextmanager
def watching(command: Sequence[str], *, rights: Sequence[str] = (), account: tuple[int, int] | None = None) -> Iterator[Watcher]:
    """Run `command`, which gets SIGKILL when this process dies, however that comes about (bpftrace overhears other signals), and SIGINT at
    the end of the block.

    Started by root it keeps of root's rights only the capabilities `rights` (as setpriv calls them), and runs as `account` (uid, gid)
    where one is named. Nothing that it starts can gain others.
    """
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as complained:
        if account is not None and os.geteuid() == 0:
            os.fchown(said.fileno(), *account)  # /dev/stdout is opened anew
        process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "--no-new-privs", *(() if os.geteuid() else _kept(rights, account)), *command],
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


def _kept(rights: Sequence[str], account: tuple[int, int] | None) -> list[str]:
    """Options of setpriv that keep `rights` alone: root has what is in the bounding set, another account its ambient capabilities."""
    kept = ",".join(["-all", *(f"+{right}" for right in rights)])
    if account is None:
        return [f"--bounding-set={kept}", "--inh-caps=-all"]
    uid, gid = account
    become = [f"--reuid={uid}", f"--regid={gid}", "--clear-groups"]
    return [f"--bounding-set={kept}", f"--inh-caps={kept}", f"--ambient-caps={kept}", *become]
