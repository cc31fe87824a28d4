"""Scan methods, I/O methods and buffer states."""

from enum import StrEnum


class ScanMethod(StrEnum):
    SEQUENTIAL = "sequential"
    INDEX = "index"
    BITMAP = "bitmap"


class IoMethod(StrEnum):
    """Who reads for a session: itself, other processes, or the kernel."""

    SYNC = "sync"
    WORKER = "worker"
    IO_URING = "io_uring"


class Buffers(StrEnum):
    """What shared buffers hold before a scan: nothing, or all that it reads."""

    COLD = "cold"
    WARM = "warm"
