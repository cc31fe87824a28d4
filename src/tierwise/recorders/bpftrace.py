"""Every read of a server's processes, by bpftrace on the system calls: seen by the kernel, no process is stopped. Needs root.

The reads of PostgreSQL 18's I/O workers are those of processes like any other, and a read of several pages (preadv) is one read.
"""

import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import ceil
from pathlib import Path
from typing import Any, Final

import polars as pl

from tierwise.core.errors import MissingError, TierwiseError
from tierwise.core.text_template import render
from tierwise.recorders.reads import CALLS, COUNTS, MOST_READS, SEEN, Recording, Server, count_reads, data_files, with_names
from tierwise.recorders.watching import Watcher, watching

NAME: Final = "bpftrace"
FIRST_PIDS: Final = "pid:[4026531836]"  # the kernel's first namespace of process numbers (PROC_PID_INIT_INO), in which bpftrace counts
READY: Final = b"ready"
PRINTED: Final = ("ended_ns", "pid", "latency_ns", "device", "inode", "offset_bytes", "size_bytes")
MOST_COUNTS: Final = 1 << 16  # pairs of file and power of two; each takes eight bytes for every processor

ENOUGH_READS: Final = 1000
"""Reads per 0.1 s above which counting samples them, since a probe costs the server about as much as reading a page from memory."""

PROGRAM: Final = "reads.bt"
RIGHTS: Final = ("sys_admin", "sys_resource")  # capabilities: to inspect the kernel and mount debugfs, and to lock memory before Linux 5.11
SAYS_READY: Final = 'interval:ms:100 /!@call[0].0/ { @call[0] = ((uint64)1, (uint64)0, (uint64)0); printf("ready\\n"); }'
"""Printed once every probe is attached (`BEGIN` runs earlier); no process is 0, and another map would take as much memory."""


def require() -> None:
    for program, package in ((NAME, NAME), ("unshare", "util-linux"), ("setpriv", "util-linux")):
        if shutil.which(program) is None:
            raise MissingError(program, why="it is not on PATH", remedy=f"apt-get install {package}")
    if os.geteuid() != 0:
        raise MissingError("permission to trace", why="bpftrace needs root", remedy="run it as root, or use strace: --recorder strace")
    if not Path("/sys/kernel/btf/vmlinux").exists():
        why = "there is no /sys/kernel/btf/vmlinux"
        raise MissingError("type information of the kernel", why=why, remedy="use strace: --recorder strace")
    if Path("/proc/self/ns/pid").readlink() != Path(FIRST_PIDS):
        why = "the process ids of this container differ from those of the kernel"
        raise MissingError("the kernel's process numbers", why=why, remedy="run it on the host, or in a container with --pid=host")
    try:
        with started(f"tracepoint:syscalls:sys_enter_pread64 /pid == 0/ {{ }} {SAYS_READY} interval:s:5 {{ exit(); }}", most=2):
            pass
    except TierwiseError as error:
        remedy = "run it on the host as root, or use strace: --recorder strace"
        raise MissingError("permission to trace", why=str(error), remedy=remedy) from error


def program(server: Server, seconds: float, *, counting: bool) -> str:
    children = f"curtask->real_parent->tgid == {server.postmaster} || pid == {server.postmaster}"
    ours = children if server.only is None else f"pid == {server.only}"
    places = {call: "pos" if call == "pread64" else "pos_l" for call in CALLS}
    known = {"ours": ours, "places": places, "seconds": ceil(seconds), "ready": SAYS_READY, "enough": ENOUGH_READS}
    return render(f"recorders/{PROGRAM}", counting=counting, **known)


@contextmanager
def recorded(server: Server, *, seconds: float) -> Iterator[Recording]:
    """Record every read of `server` for at most `seconds`; `reads` holds the first `MOST_READS` on exit."""
    before = data_files(server.data)
    epoch_s = time.time() - time.monotonic()
    with started(program(server, seconds, counting=False), most=MOST_READS) as watcher:
        recording = Recording(lambda: watcher.ended)
        yield recording
        seen = _parsed(watcher.last_words())
        recording.full = len(seen) >= MOST_READS
        recording.reads = with_names(seen, data_files(server.data, before), recorder=NAME, epoch_s=epoch_s)
        recording.counts = count_reads(recording.reads)


@contextmanager
def counting(server: Server, *, seconds: float) -> Iterator[Recording]:
    """Count reads in the kernel by file and power of two; above `ENOUGH_READS` per 0.1 s a sample, each for at most `most_for_one`."""
    before = data_files(server.data)
    with started(program(server, seconds, counting=True), most=MOST_COUNTS, form="json") as watcher:
        recording = Recording(lambda: watcher.ended)
        yield recording
        seen = _parsed_counts(watcher.last_words())
        recording.full = len(seen) >= MOST_COUNTS
        weighed = seen.with_columns(pl.col("reads") * pl.col("each")).join(data_files(server.data, before), on=["device", "inode"])
        recording.counts = weighed.group_by("tablespace", "bucket").agg(pl.col("reads").sum()).cast(pl.Schema(COUNTS))
        recording.most_for_one = int(seen.select(pl.col("each").max().fill_null(1)).item())


@contextmanager
def started(text: str, *, most: int, form: str = "text") -> Iterator[Watcher]:
    mounted = 'mount -t debugfs none /sys/kernel/debug 2>/dev/null; exec env BPFTRACE_MAP_KEYS_MAX="$2" bpftrace -q -B line -f "$3" -e "$1"'
    with watching(["unshare", "--mount", "sh", "-c", mounted, "sh", text, str(most), form], rights=RIGHTS) as watcher:
        watcher.wait_until_ready(READY, watcher.said)
        yield watcher


def _parsed(said: bytes) -> pl.DataFrame:
    """Parse lines like ``@read[ended_ns, pid]: (latency_ns, device, inode, offset, size)`` to `SEEN`'s columns."""
    return entries(said, b"@read[", {name: SEEN[name] for name in PRINTED}).with_columns(_device()).select(list(SEEN))


def entries(said: bytes, begin: bytes, schema: Mapping[str, Any]) -> pl.DataFrame:
    """Return the numbers of the printed map whose lines begin with `begin`: keys, then values."""
    lines = [line.removeprefix(begin) for line in said.splitlines() if line.startswith(begin)]
    numbers = b"\n".join(lines).replace(b"]: (", b",").translate(None, b"() ")
    return pl.read_csv(numbers, has_header=False, schema=schema) if lines else pl.DataFrame(schema=schema)


def _parsed_counts(said: bytes) -> pl.DataFrame:
    """Parse JSON histograms keyed by "device,inode,mask" to counts, and the number of reads that each stands for (`each`)."""
    rows = [
        (int(device), int(inode), max(1, bar["min"]).bit_length() - 1, bar["count"], int(mask) + 1)
        for line in said.splitlines()
        if line.startswith(b'{"type": "hist"')
        for (device, inode, mask), bars in ((file.split(","), bars) for file, bars in json.loads(line)["data"]["@read"].items())
        for bar in bars
        if bar["count"]
    ]
    columns = {"device": pl.Int64, "inode": pl.Int64, "bucket": pl.Int32, "reads": pl.Int64, "each": pl.Int64}
    return pl.DataFrame(rows, schema=columns, orient="row").with_columns(_device())


def _device() -> pl.Expr:
    """Convert the kernel's device number to that of os.stat (gnu_dev_makedev)."""
    major, minor = pl.col("device") // (1 << 20), pl.col("device") % (1 << 20)
    return ((minor % 256) + (major % 4096) * 256 + (minor // 256) * (1 << 20)).alias("device")
