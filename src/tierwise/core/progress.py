"""Progress with the time left, on the terminal that ``TIERWISE_PROGRESS`` names, since a notebook kernel swallows what is printed."""

import fcntl
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

INTERVAL_S = 5.0  # a line at most this often; what takes less than this stays silent
ENDS: Final = "TIERWISE_ENDS_S"  # environment variable: when all studies are expected to be measured, on the machine's monotonic clock


def verbose() -> bool:
    return os.environ.get("VERBOSE", "") not in {"", "0"}


def minutes_left(left_s: float) -> str:
    return f"{left_s / 60:.0f} min left" if left_s >= 90 else f"{left_s:.0f} s left"


def say(line: str) -> None:
    """Write one line on the reader's terminal; a terminal that is gone is no error."""
    terminal = os.environ.get("TIERWISE_PROGRESS")
    if terminal is None:
        print(line, file=sys.stderr, flush=True)
        return
    with suppress(OSError), Path(terminal).open("a", encoding="utf-8") as stream:
        stream.write(line + "\n")


@contextmanager
def announcing() -> Iterator[None]:
    """Let child processes (notebook kernels) report to this process's standard error, while open."""
    with suppress(OSError):  # where that is a file, all write at its end, not each over what another wrote
        fcntl.fcntl(2, fcntl.F_SETFL, fcntl.fcntl(2, fcntl.F_GETFL) | os.O_APPEND)
    os.environ["TIERWISE_PROGRESS"] = f"/proc/{os.getpid()}/fd/2"
    try:
        yield
    finally:
        del os.environ["TIERWISE_PROGRESS"]


class Progress:
    """Counts work done out of a total; `already` is what an earlier, interrupted run did and says nothing of speed."""

    def __init__(self, what: str, total: float, *, already: float = 0.0):
        self.what, self.total, self.done, self.already = what, total, already, already
        self.started_s = self.reported_s = time.monotonic()

    def step(self, amount: float = 1.0, note: str = "") -> None:
        self.done += amount
        now_s = time.monotonic()
        fresh = self.done - self.already
        if now_s - self.reported_s < INTERVAL_S or not fresh:
            return
        self.reported_s = now_s
        left_s = (now_s - self.started_s) * (self.total - self.done) / fresh
        if ends_s := float(os.environ.get(ENDS, "0")):
            left_s = max(left_s, ends_s - now_s)
        share = self.done / self.total if self.total else 1.0
        shown = f" ({note})" if note and verbose() else ""
        say(f"{self.what}: {share:.0%}, about {minutes_left(left_s)}{shown}")
