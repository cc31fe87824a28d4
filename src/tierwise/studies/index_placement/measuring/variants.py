"""Variants: ways in which a trial departs from its source's protocol, one factor each."""

from dataclasses import dataclass
from typing import Final

from tierwise.core.units import MIB
from tierwise.core.words import IoArm

PUBLISHED: Final = "published"
"""The variant that departs in nothing, and the build that it uses."""
CATALOGUES_BYTES: Final = 4 * MIB
"""More than a session reads of the catalogues."""


@dataclass(frozen=True, slots=True)
class Scan:
    """A way to answer a query, and the switches that make the planner choose it."""

    switches: tuple[str, ...]
    nodes: tuple[str, ...]  # as EXPLAIN prints them
    asks: str  # what it reads beside the index: the table, or its visibility map


@dataclass(frozen=True, slots=True)
class Variant:
    """What stays of the protocol, and the one thing that does not (`factor`; a side effect that it needs is seen here as well)."""

    scan: Scan
    factor: str = "none"
    build: str = PUBLISHED
    memory_fraction: float | None = None  # of table + index; None: the profile's
    cached: tuple[str, ...] = ()  # tables whose heap is in shared_buffers when the cold query begins
    arms: tuple[IoArm, ...] = (IoArm.DIRECT,)  # in which it is asked: one factor at a time, past the page cache unless it is about that

    def memory_bytes(self, memory_fraction: float, size_bytes: int) -> int:
        """Bytes of shared_buffers, for a table and index of `size_bytes`; a heap that is to stay cached has room beside the catalogues."""
        wanted_bytes = round((self.memory_fraction or memory_fraction) * size_bytes)
        return max(wanted_bytes, size_bytes + CATALOGUES_BYTES) if self.cached else wanted_bytes
