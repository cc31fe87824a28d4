"""Single reads of a running server, as a recorder saw them, and which tablespace and file each was of."""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

import polars as pl

from tierwise.core.errors import InputError, MissingError
from tierwise.core.units import GIB, PAGE_BYTES
from tierwise.timings.reads import READS, buckets

SEEN: Final[dict[str, Any]] = {
    "latency_ns": pl.Int64,
    "pid": pl.Int32,
    "device": pl.Int64,  # as os.stat reports it
    "inode": pl.Int64,
    "offset_bytes": pl.Int64,
    "size_bytes": pl.Int64,  # of what was read
    "ended_ns": pl.Int64,  # CLOCK_MONOTONIC
}

COUNTS: Final[dict[str, Any]] = {"tablespace": pl.String, "bucket": pl.Int32, "reads": pl.Int64}

MOST_READS: Final = 300_000
"""A recorder keeps no more: what it keeps (some 200 bytes each, in the kernel or in a scratch file) stays bounded."""

FIRST_VERSION: Final = 12  # the first major version of PostgreSQL that reads pages by pread
CALLS: Final = ("pread64", "preadv", "preadv2")

FILE: Final = re.compile(r"(?P<relation>\d+(_(fsm|vm|init))?)(\.(?P<segment>\d+))?")
PARTS: Final = ("pg_xact", "pg_multixact/members", "pg_multixact/offsets", "pg_subtrans")
"""Folders of the data folder that hold pages of 8 KiB and no relations."""
FILES: Final = pl.Schema({"device": pl.Int64, "inode": pl.Int64, "tablespace": pl.String, "relation": pl.String, "first_page": pl.Int64})


@dataclass
class Recording:
    """A recording; after it closes, `counts` and, unless it only counts, `reads` (`READS`, by time) are filled.

    `ended`: it ended by itself. `full`: there were more reads than it keeps. `most_for_one`: the most reads for which a sampled one stands.
    """

    ended: Callable[[], bool]
    full: bool = False
    most_for_one: int = 1
    reads: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=READS))
    counts: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=COUNTS))


class Server(NamedTuple):
    data: Path
    postmaster: int
    only: int | None = None  # this process alone


def find_server(*, cluster: Path | None = None, pid: int | None = None) -> Server:
    if cluster is not None and pid is None:
        server = Server(cluster.resolve(), _postmaster(cluster))
    elif cluster is not None or pid is None:
        rule = "needs either the data folder of a server or one of its processes"
        raise InputError("trace", rule=rule, remedy="give --cluster DIR or --pid N")
    else:
        try:
            data = Path(f"/proc/{pid}/cwd").readlink()
        except OSError as error:
            rule, remedy = f"cannot be read ({error.strerror})", "name a running process, as root or as the owner of the process"
            raise InputError("--pid", value=pid, rule=rule, remedy=remedy) from error
        if not (data / "PG_VERSION").exists():
            rule, remedy = "is not a process of a PostgreSQL server", "find the process id in pg_stat_activity"
            raise InputError("--pid", value=pid, rule=rule, remedy=remedy)
        server = Server(data, _postmaster(data), pid)
    version = (server.data / "PG_VERSION").read_text(encoding="ascii").strip()
    if int(version.split(".")[0]) < FIRST_VERSION:
        rule, remedy = "reads with lseek and read, which tierwise cannot record", f"trace PostgreSQL {FIRST_VERSION} or later"
        raise InputError(str(server.data), field="PG_VERSION", value=version, rule=rule, remedy=remedy)
    if _uses_io_uring(server.postmaster):
        rule = "reads with io_uring, which makes no system calls that tierwise could record"
        remedy = "look at pg_stat_io, or set io_method=worker"
        raise InputError(str(server.data), field="io_method", value="io_uring", rule=rule, remedy=remedy)
    return server


def _postmaster(data: Path) -> int:
    try:
        pid = int((data / "postmaster.pid").read_text(encoding="utf-8").split()[0])
    except PermissionError as error:
        why, remedy = f"{data} belongs to another user", "run it as root or as the server's user"
        raise MissingError("permission to read", why=why, remedy=remedy) from error
    except (OSError, ValueError, IndexError):
        pid = 0
    if not Path(f"/proc/{pid}").exists():
        rule, remedy = "no server runs in this data folder", "find the folder with SHOW data_directory"
        raise InputError("--cluster", value=str(data), rule=rule, remedy=remedy)
    return pid


def _uses_io_uring(pid: int) -> bool:
    with suppress(OSError):
        for link in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):  # closed meanwhile
                if "io_uring" in str(link.readlink()):
                    return True
    return False


def data_files(data: Path, before: pl.DataFrame | None = None) -> pl.DataFrame:
    """Return every file of pages of the data folder and its tablespaces, by device and inode (`FILES`), and those of `before`.

    Tablespaces are numbers; `base`, `global` and others are parts of the data folder. A relation is database/file node, with its
    fork unless that is the main one.
    """
    found = pl.DataFrame(list(_files(data)), schema=FILES, orient="row")
    return found if before is None else pl.concat([before, found]).unique(["device", "inode"], keep="last")


def _files(data: Path) -> Iterator[tuple[int, int, str, str, int]]:
    for tablespace, folder, database in _folders(data):
        with suppress(OSError), os.scandir(folder) as entries:  # dropped meanwhile
            for entry in entries:
                found = FILE.fullmatch(entry.name)
                if found is None:
                    continue
                with suppress(OSError):
                    status = entry.stat()
                    first_page = int(found["segment"] or 0) * GIB // PAGE_BYTES
                    yield status.st_dev, status.st_ino, tablespace, f"{database}/{found['relation']}", first_page
    for part in PARTS:
        for path in sorted((data / part).glob("*")):
            with suppress(OSError):
                status = path.stat()
                yield status.st_dev, status.st_ino, part, path.name, 0


def _folders(data: Path) -> Iterator[tuple[str, Path, str]]:
    yield "global", data / "global", "0"
    bases = [("base", data / "base")]
    bases += [(link.name, place) for link in sorted((data / "pg_tblspc").glob("*")) for place in link.glob("PG_*")]
    for tablespace, base in bases:
        yield from ((tablespace, folder, folder.name) for folder in sorted(base.glob("*")) if folder.name.isdigit())


def with_names(seen: pl.DataFrame, files: pl.DataFrame, *, recorder: str, epoch_s: float) -> pl.DataFrame:
    """Return the reads of `seen` that were of `files`, in `READS`'s columns, by time; `epoch_s` is CLOCK_MONOTONIC's zero."""
    return (
        seen.join(files, on=["device", "inode"])
        .sort("ended_ns")
        .select(
            time_s=pl.col("ended_ns") / 1e9 + epoch_s,
            pid="pid",
            tablespace="tablespace",
            relation="relation",
            page=pl.col("first_page") + pl.col("offset_bytes") // PAGE_BYTES,
            size_bytes="size_bytes",
            latency_s=pl.col("latency_ns") / 1e9,
            recorder=pl.lit(recorder),
        )
        .cast(pl.Schema(READS))
    )


def count_reads(reads: pl.DataFrame) -> pl.DataFrame:
    return reads.group_by("tablespace", bucket=buckets(pl.col("latency_s"))).agg(reads=pl.len()).cast(pl.Schema(COUNTS))
