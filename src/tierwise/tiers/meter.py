"""What the emulator counts: requests by file, and a log of the latest ones."""

import mmap
from array import array
from pathlib import Path
from struct import Struct
from typing import Final

from tierwise.devices.protocol import Operation

RECORD: Final = Struct("=dqqIIffB7x")  # one request in the log: `COLUMNS`, and bytes that pad it to 48

COLUMNS: Final = {  # the same as NumPy names it
    "time_s": "f8",  # when it reached the device, CLOCK_MONOTONIC
    "offset_bytes": "i8",  # in the file
    "address_bytes": "i8",  # on the device
    "file": "u4",
    "size_bytes": "u4",
    "intended_s": "f4",
    "actual_s": "f4",
    "operation": "u1",
    "padding": "V7",
}

assert RECORD.size == 48

LOG_REQUESTS: Final = 1 << 20  # requests that the log holds: 48 MiB, taken as it fills


class Counters:
    """Requests of one file since the last reset; seconds are sums."""

    __slots__ = ("actual_s", "intended_s", "read_bytes", "reads", "used", "write_bytes", "writes")

    def __init__(self) -> None:
        self.used = 0  # requests, flushes included: in virtual time one may take no time at all
        self.reads = self.read_bytes = self.writes = self.write_bytes = 0
        self.intended_s = self.actual_s = 0.0

    def count(self, operation: Operation, size_bytes: int, intended_s: float, actual_s: float) -> None:
        """Count one more request; a flush counts neither as a read nor as a write, but its time does."""
        self.used += 1
        if operation is Operation.READ:
            self.reads += 1
            self.read_bytes += size_bytes
        elif operation is Operation.WRITE:
            self.writes += 1
            self.write_bytes += size_bytes
        self.intended_s += intended_s
        self.actual_s += actual_s

    def add(self, other: "Counters") -> None:
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def as_dict(self) -> dict[str, float]:
        return {name: getattr(self, name) for name in self.__slots__ if name != "used"}


class RequestLog:
    """The latest `LOG_REQUESTS` requests, in the `ring`, of bounded memory; `logged`: how many there were."""

    def __init__(self) -> None:
        self.ring = mmap.mmap(-1, LOG_REQUESTS * RECORD.size)
        self.logged = array("q", [0])

    def append(self, record: tuple[float, int, int, int, int, float, float, int]) -> None:
        RECORD.pack_into(self.ring, self.logged[0] % LOG_REQUESTS * RECORD.size, *record)
        self.logged[0] += 1

    def clear(self) -> None:
        self.logged[0] = 0

    def write(self, path: Path) -> None:
        logged = self.logged[0]
        edge = logged % LOG_REQUESTS * RECORD.size if logged > LOG_REQUESTS else 0
        end = min(logged, LOG_REQUESTS) * RECORD.size
        with path.open("wb") as out:
            out.write(self.ring[edge:end])
            out.write(self.ring[:edge])
