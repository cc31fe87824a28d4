"""Reads and writes of one process, in order, by strace. Stopping a process at each call disturbs times: no scored one is taken here."""

import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final, Literal, NamedTuple

import psutil

from tierwise.core.errors import MissingError, TierwiseError
from tierwise.recorders.watching import Watcher, watching

Operation = Literal["read", "write", "flush"]

OPERATIONS: Final[dict[Operation, str]] = {
    "read": "pread64 preadv preadv2",
    "write": "pwrite64 pwritev pwritev2",
    "flush": "fsync fdatasync",
}
CALLS: Final = {call: operation for operation, calls in OPERATIONS.items() for call in calls.split()}

CALL: Final = re.compile(r"(?P<call>\w+)\(\d+<(?P<path>[^>]*)>(?P<arguments>.*)\) += (?P<result>\d+)( <(?P<took_s>[\d.]+)>)?")
"""A call that did something: ``pread64(5</folder/file>, ""..., 8192, 16384) = 8192 <0.000061>``."""

PATIENCE_S: Final = 10.0
RIGHTS: Final = ("sys_ptrace",)  # capability kept beside the account, since a kernel may let nobody else attach (Yama)


class Transfer(NamedTuple):
    operation: Operation
    path: Path
    offset_bytes: int
    size_bytes: int
    traced_s: float | None = None  # what the call took, its two stops included


def require() -> None:
    for program, package in (("strace", "strace"), ("setpriv", "util-linux")):
        if shutil.which(program) is None:
            raise MissingError(program, why="it is not on PATH", remedy=f"apt-get install {package}")
    with subprocess.Popen(["sleep", str(PATIENCE_S)]) as other:
        try:
            with recorded(other.pid):
                pass
        finally:
            other.kill()


def obstacle() -> str | None:
    try:
        require()
    except MissingError as missing:
        return str(missing)
    return None


@contextmanager
def attached(command: Sequence[str], account: tuple[int, int] | None = None) -> Iterator[Watcher]:
    """Run `command`, which starts strace, as `account` (uid, gid) and wait until it has attached; it may not: `MissingError`."""
    with ExitStack() as stack:
        try:
            watcher = stack.enter_context(watching(command, rights=RIGHTS, account=account))
            watcher.wait_until_ready(b"attached", watcher.complained)
        except TierwiseError as error:
            remedy = "run it as the process's own user with kernel.yama.ptrace_scope=0, or as root (a container needs --cap-add SYS_PTRACE)"
            raise MissingError("permission to trace", why=f"strace may not attach to a process ({error})", remedy=remedy) from error
        yield watcher


@contextmanager
def recorded(pid: int) -> Iterator[list[Transfer]]:
    """Record what process `pid` reads and writes by position, while open; the list is filled on exit. strace runs as the process's user."""
    transfers: list[Transfer] = []
    account = None
    with suppress(psutil.NoSuchProcess):  # strace reports that it is gone
        account = (psutil.Process(pid).uids().real, psutil.Process(pid).gids().real)
    command = ["strace", "-p", str(pid), "-e", f"trace={','.join(CALLS)}", "-y", "-T", "-s", "0", "-o", "/dev/stdout"]
    with attached(command, account) as watcher:
        yield transfers
        transfers += parse(watcher.last_words().decode("utf-8", "replace"))


def parse(text: str) -> Iterator[Transfer]:
    for line in text.splitlines():
        found = CALL.match(line)
        if found is None or found["call"] not in CALLS:
            continue
        path = Path(found["path"].encode("latin-1", "replace").decode("unicode_escape").encode("latin-1").decode("utf-8", "replace"))
        operation, offset, size = CALLS[found["call"]], 0, 0
        if operation != "flush":
            behind = 2 if found["call"].endswith("v2") else 1  # flags follow the offset
            offset, size = int(found["arguments"].split(", ")[-behind]), int(found["result"])
        yield Transfer(operation, path, offset, size, float(found["took_s"]) if found["took_s"] else None)
