"""How long a device takes to read a table's pages in one order or another: a sample is simulated, the rest in proportion."""

import random
from dataclasses import dataclass, replace
from typing import Final

from tierwise.core.units import MIB, PAGE_BYTES
from tierwise.devices.protocol import DeviceModel, Operation
from tierwise.simulate.replay import Access, Trace, lay_out, replay

TABLE: Final = "table"
TIER: Final = "tier"
SAMPLE_BYTES: Final = 16 * MIB
"""The least that is read in the sample, in bytes, so that drives that read ahead are seen to do so."""
WARM: Final = 0.25
"""Requests before the sample, over those in it: the first seek is not a scan's pace."""


@dataclass(frozen=True, slots=True)
class Reading:
    """`requests` of `request_bytes`, `depth` of them outstanding at any time.

    `gap` is the mean distance from the beginning of one request to that of the next, in requests; at 1 they follow each other. Of the
    requests the share `scattered` lies anywhere in the table instead, and the reading goes on from there.
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
    """Return seconds that `device`, which is as new, takes for `reading` of a table that lies on it from address 0 on; the host takes none.

    `requests` are simulated (more, where they are small), from a place of the table that `seed` decides.
    """
    if table_bytes > device.capacity_bytes:
        raise ValueError(f"a table of {table_bytes:.3g} bytes does not fit on a device of {device.capacity_bytes:.3g}")
    draw = random.Random(seed)
    sample = max(requests, SAMPLE_BYTES // reading.request_bytes if not reading.scattered else 0)
    warm = max(reading.depth, round(WARM * sample))
    accesses = _accesses(reading, int(table_bytes), warm + sample, draw)
    addresses = lay_out({TABLE: int(table_bytes) + reading.request_bytes})
    before = replay(Trace(accesses[:warm], tail_after=warm - 1), {TABLE: TIER}, {TIER: device}, addresses)
    rest = [replace(access, after=_later(access.after, warm)) for access in accesses[warm:]]
    found = replay(Trace(rest, tail_after=sample - 1), {TABLE: TIER}, {TIER: device}, addresses, started_s=before.elapsed_s)
    return found.elapsed_s / sample * reading.requests


def _later(after: int | None, warm: int) -> int | None:
    return None if after is None or after < warm else after - warm


def _accesses(reading: Reading, table_bytes: int, count: int, draw: random.Random) -> list[Access]:
    places = max(1, table_bytes // reading.request_bytes)
    pages = reading.request_bytes // PAGE_BYTES
    at = draw.randrange(places)
    accesses = []
    for number in range(count):
        if reading.scattered and draw.random() < reading.scattered:
            at = draw.randrange(places)
        elif number:
            at = (at + _step(reading.gap, draw)) % places
        after = number - reading.depth
        accesses.append(Access(TABLE, at * pages, reading.request_bytes, Operation.READ, 0.0, after if after >= 0 else None))
    return accesses


def _step(gap: float, draw: random.Random) -> int:
    """How far it is from one request to the next: exponential beyond the next one, of mean `gap`."""
    return 1 + round(draw.expovariate(1 / (gap - 1))) if gap > 1 else 1
