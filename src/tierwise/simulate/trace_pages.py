"""Requests of a trace as single pages, and the limits of what a request may be."""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from tierwise.core.compiled import Floats, Ints
from tierwise.core.units import GIB
from tierwise.simulate.trace_fields import Flags

PAGE_BITS: Final = 40  # a page number has these bits; above them stands the number of its device
MOST_REQUEST_BYTES: Final = GIB
_CHUNK_PAGES: Final = 2**22


class Requests(NamedTuple):
    """Requests of single pages; the device's number stands above `PAGE_BITS` of a page's. Objects have 64 bits of their own."""

    pages: Ints
    writes: Flags
    times: Floats | None = None  # of the trace's own unit, where they are wanted
    rings: Flags | None = None  # read by one of PostgreSQL's buffer rings, where the trace says so


def pages_of(start: Ints, size: Ints, units: tuple[int, int], page_bytes: int) -> tuple[Ints, Ints, Flags]:
    """Return the first page of each request, how many it has, and which requests lie beyond the limits."""
    start_bytes, size_bytes = units
    if not start_bytes:  # blocks are pages
        first, blocks, bytes_each = start, size, page_bytes
        far = start > (1 << PAGE_BITS) - size
    else:
        bytes_each = size_bytes
        far = (start > (1 << PAGE_BITS) * page_bytes // start_bytes) | (start < 0) | (size < 0)
        begin = np.where(far, 0, start) * start_bytes
        first = begin // page_bytes
        blocks = (begin + np.clip(size, 1, MOST_REQUEST_BYTES) * size_bytes - 1) // page_bytes - first + 1
        far |= first + blocks > 1 << PAGE_BITS
    return first, blocks, far | (size > MOST_REQUEST_BYTES // bytes_each)


def single_pages(requests: Requests, blocks: Ints) -> Iterator[Requests]:
    first, writes, times, rings = requests
    until, begin = np.cumsum(blocks), 0
    while begin < len(first):
        end = max(begin + 1, int(np.searchsorted(until, (until[begin - 1] if begin else 0) + _CHUNK_PAGES, side="right")))
        starts, counts = first[begin:end], blocks[begin:end]
        # The pages are counted through, from each request's start on.
        pages = np.arange(counts.sum()) + np.repeat(starts + counts - counts.cumsum(), counts)
        yield Requests(
            pages,
            np.repeat(writes[begin:end], counts),
            None if times is None else np.repeat(times[begin:end], counts),
            None if rings is None else np.repeat(rings[begin:end], counts),
        )
        begin = end
