"""How much of the sessions' processor time a window charges: without the mount's part, and at the reference processor's pace."""

import mmap
import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tierwise.bench.stopwatch import REFERENCE_S, Reading, reference_s
from tierwise.core.units import PAGE_BYTES
from tierwise.postgres.cluster import Cluster
from tierwise.tiers.clock import Charge

PROBE: Final = ".tierwise-processor-time"
"""A file on the first tier that stays there: a new one for each window would move the files that are made after it."""
BATCHES: Final = 7
BATCH: Final = 24  # requests of each kind that are timed together; the batches' median counts
REFERENCES: Final = 15  # a window has nothing but its own reference work, which scatters, so it does more of it than a single query


def measured_charge(mount: Path, cluster: Cluster) -> Charge:
    """Measure what a request on `mount` costs its caller beyond one in memory, and how fast a session of `cluster` computes now."""
    with _file_in_memory() as memory, _file_on(mount) as emulated:
        read_s, write_s, other_s = (
            max(0.0, _request_s(request, emulated) - _request_s(request, memory)) for request in (_read, _write, _flush)
        )
    with cluster.connect() as connection:
        return Charge(read_s, write_s, other_s, pace=REFERENCE_S / reference_s(connection, REFERENCES))


def processor_shares(begun: Reading, ended: Reading, charge: Charge) -> dict[str, float]:
    """Return what a window in virtual time keeps of processor time. `share`: charged, of the window's time; `used_s`: by all its processes;
    `mount_share`: of that, free as the mount's part.
    """
    now_s, computed_s, used_s, mount_s = (
        getattr(ended.clock, name) - getattr(begun.clock, name) for name in ("now_s", "computed_s", "used_s", "mount_s")
    )
    if not used_s:
        return {}
    return {"share": computed_s / now_s, "used_s": used_s, "mount_share": mount_s / used_s, **charge.as_dict()}


def _read(file: int, page: int, buffer: mmap.mmap) -> None:
    os.preadv(file, [buffer], page * PAGE_BYTES)


def _write(file: int, page: int, buffer: mmap.mmap) -> None:
    os.pwritev(file, [buffer], page * PAGE_BYTES)


def _flush(file: int, page: int, buffer: mmap.mmap) -> None:  # noqa: ARG001 - has no data
    os.fdatasync(file)


def _request_s(request: Callable[[int, int, mmap.mmap], None], file: int) -> float:
    took_s = []
    with mmap.mmap(-1, PAGE_BYTES) as buffer:
        for _ in range(BATCHES):
            begun_s = time.thread_time()
            for page in range(BATCH):
                request(file, page, buffer)
            took_s.append((time.thread_time() - begun_s) / BATCH)
    return statistics.median(took_s)


@contextmanager
def _file_on(mount: Path) -> Iterator[int]:
    path = mount / PROBE
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_DIRECT | os.O_CLOEXEC, 0o600)
    try:
        yield _filled(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _file_in_memory() -> Iterator[int]:
    descriptor = os.memfd_create(PROBE)
    try:
        yield _filled(descriptor)
    finally:
        os.close(descriptor)


def _filled(descriptor: int) -> int:
    with mmap.mmap(-1, BATCH * PAGE_BYTES) as pages:
        os.pwritev(descriptor, [pages], 0)
    return descriptor
