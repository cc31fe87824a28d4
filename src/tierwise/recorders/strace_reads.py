"""Every read of a server's processes, by strace: needs the server's own user, and stops a process twice at each read.

The stops lie outside the reported latency but for a few microseconds: it tells memory from a disk, but not how fast memory is.
"""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from math import ceil
from pathlib import Path
from typing import Final

import polars as pl
import psutil

from tierwise.core.errors import InputError
from tierwise.recorders import strace
from tierwise.recorders.reads import CALLS, MOST_READS, SEEN, Recording, Server, count_reads, data_files, with_names

NAME: Final = "strace"
LINE: Final = re.compile(r"(?P<pid>\d+) +(?P<at_s>[\d.]+) (?P<call>.*)")
RESUMED: Final = re.compile(r"<\.\.\. \w+ resumed>(?P<rest>.*)")
UNFINISHED: Final = " <unfinished ...>"
LINE_BYTES: Final = 150  # approximate bytes of output per read; recording ends where `MOST_READS` of them would be exceeded


@contextmanager
def recorded(server: Server, *, seconds: float) -> Iterator[Recording]:
    """Record every read of `server` for at most `seconds`; `reads` holds them on exit."""
    strace.require()
    before = data_files(server.data)
    pids, account = _processes(server)
    options = ["-f", "-e", f"trace={','.join(CALLS)}", "-y", "-T", "-ttt", "-s", "0", "-o", "/dev/stdout"]
    bounded = ["timeout", "--signal=INT", str(ceil(seconds)), "setpriv", "--pdeathsig", "INT"]  # it ends with timeout, too
    attach = [option for pid in pids for option in ("-p", str(pid))]
    with strace.attached([*bounded, "strace", *options, *attach], account) as watcher:
        epoch_s = time.time() - time.monotonic()
        recording = Recording(lambda: watcher.ended or watcher.size_bytes > MOST_READS * LINE_BYTES)
        yield recording
        text = watcher.last_words(MOST_READS * LINE_BYTES).decode("utf-8", "replace")
        seen = pl.DataFrame(list(parse(text, epoch_s)), schema=SEEN, orient="row")
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


def parse(text: str, epoch_s: float) -> Iterator[tuple[int, int, int, int, int, int, int]]:
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
        for read in strace.parse(call):
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
