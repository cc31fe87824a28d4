"""PostgreSQL's shared_buffers over recorded page requests: the clock sweep, and the rings of large scans.

Sources: freelist.c and bufmgr.c of PostgreSQL 18, and `initscan` of heapam.c. A scan of more pages than a quarter of the buffers gets a
ring of 256 KiB, at most an eighth of the buffers; `effective_io_concurrency`, which enlarges a ring, is taken as 0. Not modelled: pinned
buffers, which the sweep passes by, and buffers that a dropped relation frees.

A scan with a ring reads by a stream (read_stream.c), which reads missed pages that follow each other together. Other requests read one
page. Not modelled: the stream's first reads, which double from one page, and bitmap scans, which read by a stream without a ring.
"""

from collections.abc import Container
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tierwise.core.compiled import compiled
from tierwise.core.units import PAGE_BYTES
from tierwise.devices.protocol import Operation
from tierwise.simulate.replay import EXTENT_BYTES, Access
from tierwise.simulate.trace_formats import PAGE_BITS
from tierwise.simulate.trace_stream import Stream

POLICY: Final = "postgresql"
RING_BUFFERS: Final = 32
MOST_USES: Final = 5  # the most uses that a buffer counts: BM_MAX_USAGE_COUNT of PostgreSQL's buf_internals.h
COMBINED: Final = 16  # pages of one read at most: the default of io_combine_limit
PROCESSES: Final = 100 + 16 + 8 + 10 + 2 + 38
"""Among which the server divides its buffers (`GetPinLimit`), by its defaults: sessions, autovacuum, workers, senders, auxiliary."""
HELD: Final = 8  # buffers of this share that a session is taken to hold already (`GetAdditionalPinLimit`)


def misses(stream: Stream, buffers: int) -> NDArray[np.bool_]:
    """Return which requests of `stream` miss in `buffers` empty buffers; a relation is as large as its pages in the stream."""
    sizes = np.bincount(stream.relation, minlength=len(stream.relations))
    scanned = np.zeros(len(stream.pages), np.bool_)
    if stream.rings is not None:
        scanned = stream.rings & (sizes > buffers // 4)[stream.relation[stream.pages]]
    rings = np.full((len(sizes), max(1, min(buffers // 8, RING_BUFFERS))), -1)
    return sweep(stream.pages, np.zeros(0, np.bool_), 0, Scans(scanned, stream.relation, rings), buffers)[0]


def reads(stream: Stream, missed: NDArray[np.bool_], buffers: int, relations: Container[str]) -> list[Access]:
    """Return the reads that bring the `missed` pages of `relations`, each after the one before. `page` counts through all files."""
    own = np.array([name in relations for name in stream.relations])
    at = np.flatnonzero(missed & own[stream.relation[stream.pages]])
    places = stream.places[stream.pages[at]]
    order = np.argsort(places >> PAGE_BITS, kind="stable")  # the requests of each file in their order
    joins = np.diff(places[order], prepend=-2) == 1
    joins &= stream.rings[at[order]] if stream.rings is not None else False
    number = np.arange(len(at))
    in_run = number - np.maximum.accumulate(np.where(joins, 0, number))
    begins = number[in_run % max(1, min(COMBINED, buffers // PROCESSES - HELD)) == 0]
    first, pages = order[begins], np.diff(begins, append=len(at))
    in_time = np.argsort(first)
    extent_pages = EXTENT_BYTES // PAGE_BYTES
    extents = np.unique(stream.places // extent_pages)
    page = np.searchsorted(extents, places // extent_pages) * extent_pages + places % extent_pages
    names = [stream.relations[each] for each in stream.relation[stream.pages[at[first[in_time]]]]]
    columns = (names, page[first[in_time]].tolist(), (pages[in_time] * PAGE_BYTES).tolist(), [None, *range(len(names))])
    return [Access(name, place, size, Operation.READ, 0.0, after) for name, place, size, after in zip(*columns, strict=False)]


class Scans(NamedTuple):
    """Which requests are of a scan with a ring, the relation of each page, and the buffers in each relation's ring (-1: none yet)."""

    scanned: NDArray[np.bool_]
    relation: NDArray[np.int32]
    rings: NDArray[np.int64]


@compiled
def sweep(
    pages: NDArray[Any], changed: NDArray[np.bool_], clean: int, scans: Scans, buffers: int
) -> tuple[NDArray[np.bool_], NDArray[np.int64], NDArray[np.int64]]:
    """Replay the clock sweep in empty buffers. Return which requests miss, which page each must write to make space (-1: none), and the
    pages, in order, that are written before the request `clean`. `changed` may be empty: then no page is written.

    Each relation has one ring, and begins another when its scan is back at the page where it began.
    """
    scanned, relation, rings = scans
    relations, ring_buffers = rings.shape
    place, held, uses = np.full(len(relation), -1), np.full(buffers, -1), np.zeros(buffers, np.int64)
    current, first = np.zeros(relations, np.int64), np.full(relations, -1)
    dirty, cleaned, writing = np.zeros(buffers, np.bool_), np.zeros(0, np.int64), len(changed) > 0
    missed, evicted = np.zeros(len(pages), np.bool_), np.full(len(changed), -1)
    hand = 0
    for at in range(len(pages)):
        if at == clean:
            cleaned = np.sort(held[dirty])
            dirty[:] = False
        page, scan = pages[at], scanned[at]
        own = relation[page] if scan else 0
        if scan:
            if first[own] < 0:
                first[own] = page
            elif page == first[own]:
                rings[own, :] = -1
        buffer = place[page]
        if buffer >= 0:
            uses[buffer] = max(uses[buffer], 1) if scan else min(uses[buffer] + 1, MOST_USES)
            dirty[buffer] |= writing and changed[at]
            continue
        missed[at] = True
        if scan:
            current[own] = (current[own] + 1) % ring_buffers
            buffer = rings[own, current[own]]
        if buffer < 0 or uses[buffer] > 1:
            while uses[hand]:
                uses[hand] -= 1
                hand = (hand + 1) % buffers
            buffer = hand
            hand = (hand + 1) % buffers
        if scan:
            rings[own, current[own]] = buffer
        if held[buffer] >= 0:
            place[held[buffer]] = -1
            if dirty[buffer]:
                evicted[at] = held[buffer]
        held[buffer], place[page], uses[buffer], dirty[buffer] = page, buffer, 1, writing and changed[at]
    return missed, evicted, cleaned
