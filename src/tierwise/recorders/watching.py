"""A tracing program beside a running server: it ends by itself or with whoever started it, and leaves no file."""

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import IO, Final

from tierwise.core.errors import EvidenceError, TierwiseError

START_S: Final = 60.0  # how long a tracing program may take to attach: compiling for bpftrace took over 20 s on a busy machine
PATIENCE_S: Final = 60.0  # how long the program may take to print its results: bpftrace took over 10 s on a busy machine
AGAIN_S: Final = 2.0  # seconds until it is signalled again: bpftrace (up to 0.17) misses a signal while it is not waiting for events
FATAL: Final = {signal.SIGKILL, signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGPIPE}


class Watcher:
    """A tracing program whose output goes to a nameless file, so that nothing is left however it ends."""

    def __init__(self, process: subprocess.Popen[bytes], said: IO[bytes], complained: IO[bytes]):
        self._process, self.said, self.complained = process, said, complained

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    @property
    def size_bytes(self) -> int:
        return os.fstat(self.said.fileno()).st_size

    @property
    def complaint(self) -> str:
        self.complained.seek(0)
        return " ".join(self.complained.read().decode("utf-8", "replace").split())

    def wait_until_ready(self, sign: bytes, where: IO[bytes]) -> None:
        """Wait until `sign` appears in `where`; raise a `TierwiseError` with the program's complaint if it ends or takes too long."""
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
        """Make it print the rest and end; a second SIGINT would kill bpftrace while it prints its maps, so SIGTERM follows."""
        request, deadline_s = signal.SIGINT, time.monotonic() + PATIENCE_S
        while not self.ended:
            if time.monotonic() > deadline_s:
                self._process.kill()
                self._process.wait()
                raise EvidenceError(f"the tracing program did not end within {PATIENCE_S:g} s: what it saw is lost")
            self._process.send_signal(request)
            request = signal.SIGTERM
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(AGAIN_S)

    def last_words(self, most_bytes: int = -1) -> bytes:
        """Stop it and return its output, at most `most_bytes` (-1: all); raise `EvidenceError` if it was killed, since output is lost."""
        self.stop()
        code = self._process.returncode
        if (-code if code < 0 else code - 128) in FATAL:
            raise EvidenceError(f"the tracing program was killed (it ended with {code}): what it saw is lost")
        self.said.seek(0)
        return self.said.read(most_bytes)


@contextmanager
def watching(command: Sequence[str], *, rights: Sequence[str] = (), account: tuple[int, int] | None = None) -> Iterator[Watcher]:
    """Run `command`, which ends with this process; root keeps only `rights` (setpriv's names), or becomes `account` (uid, gid)."""
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
    """Options of setpriv that keep only `rights`: root needs the bounding set, another account ambient capabilities."""
    kept = ",".join(["-all", *(f"+{right}" for right in rights)])
    if account is None:
        return [f"--bounding-set={kept}", "--inh-caps=-all"]
    uid, gid = account
    become = [f"--reuid={uid}", f"--regid={gid}", "--clear-groups"]
    return [f"--bounding-set={kept}", f"--inh-caps={kept}", f"--ambient-caps={kept}", *become]
