"""How long a device takes to read a table's pages in one order or another: a sample is simulated, the rest in proportion."""

import random
from dataclasses import dataclass
from typing import Final

from tierwise.core.units import MIB, PAGE_BYTES
from tierwise.devices.protocol import DeviceModel, Operation
from tierwise.simulate.replay import Access, Trace, lay_out, replay

TABLE: Final = "table"
TIER: Final = "tier"
SAMPLE_BYTES: Final = 16 * MIB  # the least that is read in the sample, in bytes, so that drives that read ahead are seen to do so
WARM: Final = 0.25  # requests before the sample, over those in it: the first seek is not a scan's pace


@dataclass(frozen=True, slots=True)
class Reading:
    """`requests` of `request_bytes`, `depth` of them outstanding at any time.

    `gap` is the mean distance from the beginning of one request to that of the next, in requests; at 1 they follow each other, beyond it
    what lies between is exponential. The share `scattered` lies anywhere in the table instead, and the reading goes on from there.
    """

    requests: float
    request_bytes: int
    depth: int = 1
    gap: float = 1.0
    scattered: float = 0.0


def whole(table_bytes: float, *, request_bytes: int, depth: int = 1) -> Reading:
    return Reading(table_bytes / request_bytes, request_bytes, depth)


def parts_in_order(part_bytes: float, table_bytes: float, *, request_bytes: int, depth: int = 1) -> Reading:
    """Return `part_bytes` of the table in pieces of one request, in their order, evenly spread."""
    return Reading(part_bytes / request_bytes, request_bytes, depth, gap=max(1.0, table_bytes / max(part_bytes, request_bytes)))


def lookups(rows: float, *, depth: int = 1) -> Reading:
    return Reading(rows, PAGE_BYTES, depth, scattered=1.0)


def duration_s(device: DeviceModel, reading: Reading, table_bytes: float, *, requests: int, seed: int) -> float:
    """Return seconds that `device`, as new, takes for `reading` of a table, from at least `requests` at a place that `seed` decides."""
    if table_bytes > device.capacity_bytes:
        raise ValueError(f"a table of {table_bytes:.3g} bytes does not fit on a device of {device.capacity_bytes:.3g}")
    sample = max(requests, SAMPLE_BYTES // reading.request_bytes if not reading.scattered else 0)
    warm = max(reading.depth, round(WARM * sample))
    pages = _pages(reading, int(table_bytes), warm + sample, random.Random(seed))
    addresses = lay_out({TABLE: int(table_bytes) + reading.request_bytes})
    before = replay(_trace(reading, pages[:warm]), {TABLE: TIER}, {TIER: device}, addresses)
    found = replay(_trace(reading, pages[warm:]), {TABLE: TIER}, {TIER: device}, addresses, started_s=before.elapsed_s)
    return found.elapsed_s / sample * reading.requests


def _pages(reading: Reading, table_bytes: int, count: int, draw: random.Random) -> list[int]:
    places = max(1, table_bytes // reading.request_bytes)
    at = draw.randrange(places)
    found = []
    for number in range(count):
        if reading.scattered and draw.random() < reading.scattered:
            at = draw.randrange(places)
        elif number:
            between = round(draw.expovariate(1 / (reading.gap - 1))) if reading.gap > 1 else 0
            at = (at + 1 + between) % places
        found.append(at * (reading.request_bytes // PAGE_BYTES))
    return found


def _trace(reading: Reading, pages: list[int]) -> Trace:
    after = [None] * reading.depth + list(range(len(pages)))
    reads = [Access(TABLE, page, reading.request_bytes, Operation.READ, 0.0, before) for page, before in zip(pages, after, strict=False)]
    return Trace(reads, tail_after=len(reads) - 1)
