"""How long a relation's copy from one device to another takes."""

from functools import cache
from itertools import count
from math import ceil, inf
from typing import Final

from tierwise.advisor.service import REQUESTS, Build, pace_s
from tierwise.core.units import KIB, PAGE_BYTES
from tierwise.core.vocabulary import Way
from tierwise.devices.protocol import DeviceModel, Operation

BATCH_PAGES: Final = 32
"""Pages that PostgreSQL 18 collects before it writes them (src/backend/storage/smgr/bulk_write.c: MAX_PENDING_WRITES)."""
REQUEST_BYTES: Final = 128 * KIB  # the size of one request of a copy at bandwidth, in bytes: the kernel's read-ahead by default
AHEAD: Final = 4
"""Requests of a copy at bandwidth that wait at a time: the kernel reads on while a page is used, and writes several back (assumed)."""
SAMPLE_REQUESTS: Final = 2048  # how many reads of a copy are simulated; what is beyond goes on at the pace of their second half (assumed)


def copy_s(size_bytes: int, source: Build, target: Build, way: Way = Way.SERVER) -> float:
    """Return seconds to copy a relation of `size_bytes` between new devices, until it is durable on the target (simulated)."""
    if size_bytes <= 0:
        return 0.0
    copy = _page_by_page if way is Way.SERVER else _at_bandwidth
    sample = min(size_bytes, SAMPLE_REQUESTS * (PAGE_BYTES if way is Way.SERVER else REQUEST_BYTES))
    whole_s = copy(source, target, sample)
    if sample == size_bytes:
        return whole_s
    return whole_s + (size_bytes - sample) * (whole_s - copy(source, target, sample // 2)) / (sample - sample // 2)


@cache
def _page_by_page(source: Build, target: Build, size_bytes: int) -> float:
    """Copy as the server does: `BATCH_PAGES` pages read one by one, then written one by one; a flush at the end."""
    reader, writer = source(), target()
    now_s, pages = 0.0, ceil(size_bytes / PAGE_BYTES)
    for first in range(0, pages, BATCH_PAGES):
        batch = range(first, min(first + BATCH_PAGES, pages))
        for page in batch:
            now_s = _served_s(reader, now_s, Operation.READ, page * PAGE_BYTES)
        for page in batch:
            now_s = _served_s(writer, now_s, Operation.WRITE, page * PAGE_BYTES)
    return _served_s(writer, now_s, Operation.FLUSH, 0)


def _served_s(device: DeviceModel, now_s: float, operation: Operation, address_bytes: int) -> float:
    device.submit(now_s, 0, operation, address_bytes, 0 if operation is Operation.FLUSH else PAGE_BYTES)
    while (event_s := device.next_event_s()) < inf:
        for _, end_s in device.advance(event_s):
            return end_s
    raise AssertionError("a device completes every request")


@cache
def _at_bandwidth(source: Build, target: Build, size_bytes: int) -> float:
    requests = ceil(size_bytes / REQUEST_BYTES)
    return requests * max(in_order_s(source, Operation.READ, requests), in_order_s(target, Operation.WRITE, requests))


def in_order_s(device: Build, operation: Operation, requests: int = REQUESTS) -> float:
    """Return mean seconds from one request of a copy at bandwidth to the next."""
    places = (number * REQUEST_BYTES for number in count())
    return pace_s(device(), (operation,), places, REQUEST_BYTES, depth=AHEAD, requests=requests)
