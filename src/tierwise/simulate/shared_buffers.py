"""PostgreSQL's buffer replacement: the clock sweep of `StrategyGetBuffer` (freelist.c) and the use counts of `PinBuffer` (bufmgr.c)."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tierwise.core.compiled import compiled

MOST_USES: Final = 5  # the most uses that a buffer counts: BM_MAX_USAGE_COUNT of PostgreSQL's buf_internals.h


@compiled
def shared_buffers(
    trace: NDArray[np.int64], updated: NDArray[np.bool_], clean: int, pages: int, buffers: int
) -> tuple[NDArray[np.bool_], NDArray[np.int64], NDArray[np.int64]]:
    """Replay PostgreSQL's clock sweep over page numbers below `pages`. Returns which accesses miss, which page each must write to make
    space (-1: none), and the pages, in order, that are written before the access `clean`.
    """
    place, held, uses = np.full(pages, -1), np.full(buffers, -1), np.zeros(buffers, np.int64)
    dirty = np.zeros(buffers, np.bool_)
    missed, evicted = np.zeros(len(trace), np.bool_), np.full(len(trace), -1)
    cleaned = np.zeros(0, np.int64)
    hand = 0
    for at in range(len(trace)):
        if at == clean:
            cleaned = np.sort(held[dirty])
            dirty[:] = False
        page = trace[at]
        buffer = place[page]
        if buffer >= 0:
            uses[buffer] = min(uses[buffer] + 1, MOST_USES)
            dirty[buffer] |= updated[at]
            continue
        missed[at] = True
        while uses[hand]:
            uses[hand] -= 1
            hand = (hand + 1) % buffers
        if held[hand] >= 0:
            place[held[hand]] = -1
            if dirty[hand]:
                evicted[at] = held[hand]
        held[hand], place[page], uses[hand], dirty[hand] = page, hand, 1, updated[at]
        hand = (hand + 1) % buffers
    return missed, evicted, cleaned
