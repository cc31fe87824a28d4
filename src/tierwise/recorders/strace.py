"""Reads and writes of one process, in order, by strace. Stopping a process at each call disturbs times: no scored one is taken here."""

import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from math import ceil
from pathlib import Path
from typing import Final, Literal, NamedTuple

import polars as pl
import psutil

from tierwise.core.errors import InputError, MissingError, TierwiseError
from tierwise.recorders.reads import CALLS, MOST_READS, SEEN, Recording, Server, count_reads, data_files, with_names
from tierwise.recorders.watching import Watcher, watching

Operation = Literal["read", "write", "flush"]

OPERATIONS: Final[dict[Operation, str]] = {
    "read": "pread64 preadv preadv2",
    "write": "pwrite64 pwritev pwritev2",
    "flush": "fsync fdatasync",
}
OPERATION_OF: Final = {call: operation for operation, calls in OPERATIONS.items() for call in calls.split()}

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
    command = ["strace", "-p", str(pid), "-e", f"trace={','.join(OPERATION_OF)}", "-y", "-T", "-s", "0", "-o", "/dev/stdout"]
    with attached(command, account) as watcher:
        yield transfers
        transfers += parse(watcher.last_words().decode("utf-8", "replace"))


def parse(text: str) -> Iterator[Transfer]:
    for line in text.splitlines():
        found = CALL.match(line)
        if found is None or found["call"] not in OPERATION_OF:
            continue
        path = Path(found["path"].encode("latin-1", "replace").decode("unicode_escape").encode("latin-1").decode("utf-8", "replace"))
        operation, offset, size = OPERATION_OF[found["call"]], 0, 0
        if operation != "flush":
            behind = 2 if found["call"].endswith("v2") else 1  # flags follow the offset
            offset, size = int(found["arguments"].split(", ")[-behind]), int(found["result"])
        yield Transfer(operation, path, offset, size, float(found["took_s"]) if found["took_s"] else None)


NAME: Final = "strace"
LINE: Final = re.compile(r"(?P<pid>\d+) +(?P<at_s>[\d.]+) (?P<call>.*)")
RESUMED: Final = re.compile(r"<\.\.\. \w+ resumed>(?P<rest>.*)")
UNFINISHED: Final = " <unfinished ...>"
LINE_BYTES: Final = 150  # approximate bytes of output per read; recording ends where `MOST_READS` of them would be exceeded


@contextmanager
def recorded_reads(server: Server, *, seconds: float) -> Iterator[Recording]:
    """Record every read of `server`: a latency leaves out the two stops of the process, but for a few microseconds.

    It tells memory from a disk, but not how fast memory is.
    """
    require()
    before = data_files(server.data)
    pids, account = _processes(server)
    options = ["-f", "-e", f"trace={','.join(CALLS)}", "-y", "-T", "-ttt", "-s", "0", "-o", "/dev/stdout"]
    bounded = ["timeout", "--signal=INT", str(ceil(seconds)), "setpriv", "--pdeathsig", "INT"]  # it ends with timeout, too
    attach = [option for pid in pids for option in ("-p", str(pid))]
    with attached([*bounded, "strace", *options, *attach], account) as watcher:
        epoch_s = time.time() - time.monotonic()
        recording = Recording(lambda: watcher.ended or watcher.size_bytes > MOST_READS * LINE_BYTES)
        yield recording
        text = watcher.last_words(MOST_READS * LINE_BYTES).decode("utf-8", "replace")
        seen = pl.DataFrame(list(parse_reads(text, epoch_s)), schema=SEEN, orient="row")
        recording.full = watcher.size_bytes > MOST_READS * LINE_BYTES
        recording.reads = with_names(seen, data_files(server.data, before), recorder=NAME, epoch_s=epoch_s)
        recording.counts = count_reads(recording.reads)


def _processes(server: Server) -> tuple[list[int], tuple[int, int]]:
    try:
        first = psutil.Process(server.postmaster)
        pids = [first.pid, *(child.pid for child in first.children())] if server.only is None else [server.only]
        return pids, (first.uids().real, first.gids().real)
    except psutil.NoSuchProcess as error:
        raise InputError("--pid", value=server.postmaster, rule="the server has stopped", remedy="start the server") from error


def parse_reads(text: str, epoch_s: float) -> Iterator[tuple[int, int, int, int, int, int, int]]:
    """Yield the reads of strace's output (``-f -y -T -ttt``), in which processes interlace, in `SEEN`'s columns."""
    begun: dict[str, tuple[str, str]] = {}
    for line in text.splitlines():
        found = LINE.match(line)
        if found is None:
            continue
        pid, at_s, call = found.groups()
        if call.endswith(UNFINISHED):
            begun[pid] = at_s, call.removesuffix(UNFINISHED)
            continue
        if resumed := RESUMED.match(call):
            at_s, head = begun.pop(pid, (at_s, ""))
            call = head + resumed["rest"]
        for read in parse(call):
            place = _identity(read.path)
            if place is not None and read.size_bytes > 0 and read.traced_s is not None:
                ended_ns = round((float(at_s) - epoch_s + read.traced_s) * 1e9)
                yield round(read.traced_s * 1e9), int(pid), *place, read.offset_bytes, read.size_bytes, ended_ns


@cache
def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
