"""The kernel's page cache: which pages of files it holds, how to be rid of them, and whether direct I/O really leaves none."""

import ctypes
import mmap
import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

import numpy as np

from tierwise.core.files import closing_fd
from tierwise.core.units import KIB

PROBE_BYTES: Final = 64 * KIB
_LIBC: Final = ctypes.CDLL(None, use_errno=True)


def residency(paths: Iterable[Path]) -> int:
    """Return how many pages (of `mmap.PAGESIZE` bytes) of all `paths` are in the page cache, by mincore(2)."""
    return sum(_resident(path) for path in paths)


def evict(paths: Iterable[Path]) -> None:
    """Write each file out and advise the kernel to drop its pages; `residency` shows whether it did."""
    for path in paths:
        with closing_fd(os.open(path, os.O_RDONLY)) as descriptor:
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


def direct_io_probe(directory: Path) -> bool:
    """Return whether a direct read of a file in `directory` works and leaves none of its pages in the page cache."""
    with tempfile.NamedTemporaryFile(dir=directory, prefix=".direct-io-probe-") as probe, mmap.mmap(-1, PROBE_BYTES) as buffer:
        probe.write(os.urandom(PROBE_BYTES))
        probe.flush()
        path = Path(probe.name)
        evict([path])
        if residency([path]):
            return False
        with suppress(OSError), closing_fd(os.open(path, os.O_RDONLY | os.O_DIRECT)) as descriptor:
            return os.preadv(descriptor, [buffer], 0) == PROBE_BYTES and residency([path]) == 0
    return False


def _resident(path: Path) -> int:
    size_bytes = path.stat().st_size
    if size_bytes == 0:
        return 0
    # a private mapping, because a file opened for direct I/O on a FUSE mount may refuse a shared one; mincore sees the same pages
    with path.open("rb") as file, mmap.mmap(file.fileno(), size_bytes, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ) as mapping:
        pages = np.zeros(-(-size_bytes // mmap.PAGESIZE), dtype=np.uint8)
        window = np.frombuffer(mapping, dtype=np.uint8)
        failed = _LIBC.mincore(ctypes.c_void_p(window.ctypes.data), ctypes.c_size_t(size_bytes), ctypes.c_void_p(pages.ctypes.data))
        del window  # the mapping cannot be closed while an array looks into it
        if failed:
            error = ctypes.get_errno()
            raise OSError(error, os.strerror(error), str(path))
    return int(np.count_nonzero(pages & 1))
