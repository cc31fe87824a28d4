"""PostgreSQL's shared_buffers over recorded page requests: the clock sweep, and the rings of large scans.

Sources: freelist.c and bufmgr.c of PostgreSQL 18, and `initscan` of heapam.c. A scan of more pages than a quarter of the buffers gets a
ring of 256 KiB, at most an eighth of the buffers; `effective_io_concurrency`, which enlarges a ring, is taken as 0. Not modelled: pinned
buffers, which the sweep passes by, and buffers that a dropped relation frees.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tierwise.core.compiled import compiled
from tierwise.simulate.trace_stream import Stream

POLICY: Final = "postgresql"
RING_BUFFERS: Final = 32
MOST_USES: Final = 5


def misses_by_relation(stream: Stream, buffers: int) -> NDArray[np.int64]:
    """Return the misses of each relation of `stream` in `buffers` empty buffers; a relation is as large as its pages in the stream."""
    sizes = np.bincount(stream.relation, minlength=len(stream.relations))
    scanned = np.zeros(len(stream.pages), np.bool_)
    if stream.rings is not None:
        scanned = stream.rings & (sizes > buffers // 4)[stream.relation[stream.pages]]
    ring_buffers = max(1, min(buffers // 8, RING_BUFFERS))
    missed = _missed(stream.pages, scanned, stream.relation, len(sizes), buffers, ring_buffers)
    return np.bincount(stream.relation[stream.pages[missed]], minlength=len(sizes))


@compiled
def _missed(  # noqa: PLR0917
    pages: NDArray[np.int32], scanned: NDArray[np.bool_], relation: NDArray[np.int32], relations: int, buffers: int, ring_buffers: int
) -> NDArray[np.bool_]:
    """Return which requests miss. Each relation has one ring, and begins another when its scan is back at the page where it began."""
    place, held, uses = np.full(len(relation), -1), np.full(buffers, -1), np.zeros(buffers, np.int64)
    rings, current, first = np.full((relations, ring_buffers), -1), np.zeros(relations, np.int64), np.full(relations, -1)
    missed = np.zeros(len(pages), np.bool_)
    hand = 0
    for at in range(len(pages)):
        page, scan, own = pages[at], scanned[at], relation[pages[at]]
        if scan:
            if first[own] < 0:
                first[own] = page
            elif page == first[own]:
                rings[own, :] = -1
        buffer = place[page]
        if buffer >= 0:
            uses[buffer] = max(uses[buffer], 1) if scan else min(uses[buffer] + 1, MOST_USES)
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
        held[buffer], place[page], uses[buffer] = page, buffer, 1
    return missed
