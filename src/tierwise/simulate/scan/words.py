"""What may be asked of a scan."""

from enum import StrEnum


class ScanMethod(StrEnum):
    """How the rows of the range are found."""

    SEQUENTIAL = "sequential"
    INDEX = "index"
    BITMAP = "bitmap"


class IoMethod(StrEnum):
    """Who reads for a session: itself, other processes, or the kernel."""

    SYNC = "sync"
    WORKER = "worker"
    IO_URING = "io_uring"


class Cache(StrEnum):
    """What is in memory beforehand: nothing, or all in shared buffers."""

    COLD = "cold"
    WARM = "warm"
