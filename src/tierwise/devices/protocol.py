"""What every device model can do."""

from enum import IntEnum
from typing import Protocol, runtime_checkable


class Operation(IntEnum):
    READ = 0
    WRITE = 1
    FLUSH = 2


class DeviceModel(Protocol):
    """A device as a machine of events; time is whatever clock the driver goes by, in seconds.

    The driver submits requests, looks up the next event and advances to it. A request may be submitted a little
    before the time of the last advance (an emulator learns of requests late); it is then served as if it had come in time,
    where what was served since allows that.
    """

    capacity_bytes: int

    def submit(self, now_s: float, tag: int, operation: Operation, address_bytes: int, size_bytes: int) -> None:
        """Take a request; `tag`, unique among the outstanding ones, is zero or more (below zero between the layers of a device)."""

    def next_event_s(self) -> float:
        """Return when something will happen next; `math.inf` when idle. Not every event completes a request."""

    def advance(self, now_s: float) -> list[tuple[int, float]]:
        """Return (tag, completion in seconds) of what completed up to `now_s`, in time order."""

    def reset(self) -> None:
        """Bring the device to where it stood after `build`; outstanding requests are forgotten."""


@runtime_checkable
class CountsHits(Protocol):
    """A device with a cache that counts."""

    def hits(self) -> tuple[int, int]:
        """Return (reads that its flash served, reads) since the last reset."""
