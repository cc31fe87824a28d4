"""Which recorder: by name, or the best one that may record here."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Final, NamedTuple, Protocol

from tierwise.core.errors import InputError, MissingError, suggesting
from tierwise.recorders import bpftrace, strace
from tierwise.recorders.reads import Recording, Server


class Recorded(Protocol):
    def __call__(self, server: Server, *, seconds: float) -> AbstractContextManager[Recording]: ...


class ReadRecorder(NamedTuple):
    """`require` raises `MissingError` where it cannot record; `overhead` is shown before use; `counting`, if any, keeps no single reads."""

    require: Callable[[], None]
    recorded: Recorded
    counting: Recorded | None
    overhead: str

    def obstacle(self) -> str | None:
        try:
            self.require()
        except MissingError as missing:
            return str(missing)
        return None


RECORDERS: Final = {
    bpftrace.NAME: ReadRecorder(
        bpftrace.require,
        bpftrace.recorded,
        bpftrace.counting,
        "recording takes 0.5 to 4 us of processor time per read, and up to 200 MB of memory. Single rows from memory take 1.03 times "
        "as long, a load on disks at most 1.02 times, and a whole table from memory 1.3 times (1.1 times if reads are only counted)",
    ),
    strace.NAME: ReadRecorder(
        strace.require,
        strace.recorded_reads,
        None,
        "strace stops the process twice per read. Single rows from memory take 2.7 times as long, whole tables 10 to 65 times, and a "
        "load on disks 1.6 times",
    ),
}
"""The best one first. Overheads as ``benchmarks/recorders.py`` found them on an idle machine of two cores; strace's on whole tables was
10 times there, where an emulated tier keeps the processors awake, and 65 for the same load without one, where they sleep at each stop;
memory of bpftrace (about 115 MB) and of its maps (75 MB, counting 15 MB), as the kernel reports it."""


def choose(name: str) -> str:
    """Return `name` if it can record here, or for ``auto`` the first recorder that can; else raise `MissingError` with the reasons."""
    if name != "auto" and name not in RECORDERS:
        remedy = suggesting(name, ["auto", *RECORDERS])
        raise InputError("--recorder", value=name, rule=f"must be auto, {' or '.join(RECORDERS)}", remedy=remedy)
    obstacles = {one: RECORDERS[one].obstacle() for one in ([name] if name != "auto" else RECORDERS)}
    for one, why in obstacles.items():
        if why is None:
            return one
    reasons = "; ".join(f"{one}: {why}" for one, why in obstacles.items())
    raise MissingError("a recorder", why=reasons, remedy="install bpftrace and run as root, or install strace and run as the server's user")
