"""Scan methods, I/O methods and buffer states."""

from enum import StrEnum


class ScanMethod(StrEnum):
    SEQUENTIAL = "sequential"
    INDEX = "index"
    BITMAP = "bitmap"


class IoMethod(StrEnum):
    SYNC = "sync"
    WORKER = "worker"
    IO_URING = "io_uring"


class Buffers(StrEnum):
    COLD = "cold"
    WARM = "warm"
