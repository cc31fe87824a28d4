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
    """`require` raises `MissingError` where it cannot record; `counting`, if any, keeps no single reads."""

    require: Callable[[], None]
    recorded: Recorded
    counting: Recorded | None

    def obstacle(self) -> str | None:
        try:
            self.require()
        except MissingError as missing:
            return str(missing)
        return None


RECORDERS: Final = {
    bpftrace.NAME: ReadRecorder(bpftrace.require, bpftrace.recorded, bpftrace.counting),
    strace.NAME: ReadRecorder(strace.require, strace.recorded_reads, None),
}
"""The best one first."""


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
