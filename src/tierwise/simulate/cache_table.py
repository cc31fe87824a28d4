"""The numbers that a page cache is kept in: one array, which costs compiled code no counting of references.

A head of `HEAD` numbers, then what is kept of each page (one number), then the policy's own: bits or queues.
"""

import numpy as np
from numpy.typing import NDArray

from tierwise.core.compiled import inlined

Table = NDArray[np.int32]

LRU, CLOCK, TWO_LIST, MAPPED = 0, 1, 2, 3

POLICY, FILE_PAGES, CAPACITY, RESIDENT, SLOTS = 0, 1, 2, 3, 4  # places in the head; SLOTS: of the bits, or of each queue
NOW, OLDEST = 5, 6  # of LRU: the position that the next use gets, the first that a resident page can have
ACTIVE, AGE = 7, 8  # of lists: active pages; evictions and activations so far
FIRST, END = 9, 10  # of the first queue: places of its oldest entry (CLOCK: its hand), and of the next; those of the second follow
INACTIVE_QUEUE, ACTIVE_QUEUE = 0, 1
HEAD = 16

AHEAD = 24  # accesses between the fetching of a page's number and its use: many wait for memory at once, not one after the other

MISS, HIT, MARKED_HIT = 0, 1, 2


@inlined
def begin(table: Table, queue: int) -> int:
    return int(HEAD + table[FILE_PAGES] + queue * table[SLOTS])


@inlined
def append(table: Table, queue: int, page: int) -> int:
    """Put `page` at the new end of a queue that is not full; returns its place."""
    at = int(table[END + 2 * queue])
    table[begin(table, queue) + at] = page
    table[END + 2 * queue] = at + 1 if at + 1 < table[SLOTS] else 0
    return at


@inlined
def take(table: Table, queue: int) -> int:
    at = int(table[FIRST + 2 * queue])
    table[FIRST + 2 * queue] = at + 1 if at + 1 < table[SLOTS] else 0
    return int(table[begin(table, queue) + at])
