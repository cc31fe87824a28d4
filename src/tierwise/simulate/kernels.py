"""The simulator's hot loops, compiled: page caches, and threads that read through one.

They stand in one file because numba keeps compiled code by the file of the outermost function: a loop whose inner parts had
changed in another file would go on as it was. What the caches do is told in `page_cache`, what the threads do in `closed_loop`.
"""

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tierwise.simulate.compiled import compiled, inlined

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LRU, CLOCK, TWO_LIST, MAPPED = 0, 1, 2, 3

Table = NDArray[np.int32]
"""A cache as compiled code sees it (`PageCache` makes one): a row for each page, then five rows, counted from the end below."""

OLDER, NEWER, MARK, EVICTED = 0, 1, 2, 3  # columns: neighbours in the list, bits below, age of the cache at the last eviction
STATE, INACTIVE_QUEUE, ACTIVE_QUEUE = 0, 1, 2  # columns of mapped pages: bits below; pages in order, whatever page the row is of
INACTIVE, ACTIVE, KIND, FILLED, AGE = 5, 4, 3, 2, 1  # rows: ends of the lists (of queues: rows of the oldest and of the next), (policy,
# capacity), (resident, active), (age,)
_REFERENCED, _IS_ACTIVE = 1, 2
_YOUNG, _MARKED = 4, 8  # of a mapped page: its accessed bit; its first use starts a read-ahead
MISS, HIT, MARKED_HIT = 0, 1, 2
ABSENT = NEVER = -1
AGES = 2**31 - 1
_LINUX_PAGES_PER_GIB = 2**18

AHEAD: Final = 64
"""Accesses whose rows are loaded at a time, see `look_ahead`."""


@inlined
def touch(table: Table, page: int) -> int:
    """Is `page` resident? If so, take down that it was used; if not (`MISS`), nothing changes."""
    if table[page, OLDER] == ABSENT:
        return MISS
    policy, inactive = table[len(table) - KIND, 0], len(table) - INACTIVE
    if policy == LRU:
        if table[inactive, OLDER] != page:
            _unlink(table, page)
            _link(table, inactive, page)
    elif policy == MAPPED:
        mark = table[page, STATE]
        table[page, STATE] = (mark | _YOUNG) & ~_MARKED  # by the processor: the kernel learns of it when it looks
        if mark & _MARKED:
            return MARKED_HIT
    elif policy == CLOCK or not table[page, MARK]:
        table[page, MARK] = _REFERENCED
    elif table[page, MARK] == _REFERENCED:  # the second use on the inactive list
        _unlink(table, page)
        _activate(table, page)
        _grow_older(table)
    return HIT


@inlined
def fault(table: Table, page: int, window: int) -> tuple[int, int]:
    """Take in `page`, which is absent, and with `window` above 1 what else is absent around it.

    Returns the first page and the one after the last that the device has to read. As in the kernel's read-around of a
    mapped file the window is centred, and cut at the ends of the file. `page` itself comes last, as the newest.
    """
    first, end = page, page + 1
    policy = table[len(table) - KIND, 0]
    if window > 1:
        begin = max(0, page - window // 2)
        for other in range(begin, min(len(table) - INACTIVE, begin + window)):
            if other != page and table[other, OLDER] == ABSENT:
                _insert(table, other)
                first, end = min(first, other), max(end, other + 1)
                if policy == MAPPED and other == begin + window - window // 4:
                    _set_state(table, other, _MARKED)
    _insert(table, page)
    # The fault is a use; to be read along with another page is none.
    if policy == MAPPED:
        _set_state(table, page, _YOUNG)
    elif policy == TWO_LIST and not table[page, MARK]:
        table[page, MARK] = _REFERENCED
    return first, end


@inlined
def read_ahead(table: Table, page: int, window: int) -> tuple[int, int]:
    """Take in what is absent of the `window` pages that begin at the next absent one, looked for as far; returns as `fault` does.

    The kernel does this without anybody waiting for it, and marks the first page to be next.
    """
    begin, pages = page + 1, len(table) - INACTIVE
    while begin < min(pages, page + window) and table[begin, OLDER] != ABSENT:
        begin += 1
    first = end = begin
    if begin < min(pages, page + window):
        for other in range(begin, min(pages, begin + window)):
            if table[other, OLDER] == ABSENT:
                _insert(table, other)
                end = other + 1
        _set_state(table, begin, _MARKED)
    return first, end


@inlined
def _insert(table: Table, page: int) -> None:
    policy, capacity = table[len(table) - KIND, 0], table[len(table) - KIND, 1]
    if capacity == 0:
        return
    filled = len(table) - FILLED
    if table[filled, 0] == capacity:
        _evict(table)
    table[filled, 0] += 1
    if policy == MAPPED:
        table[page, STATE] = 0
        _append(table, INACTIVE, page)
        return
    if policy != LRU:
        table[page, MARK] = 0
    if policy == TWO_LIST and table[page, EVICTED] != NEVER:
        distance = (table[len(table) - AGE, 0] - table[page, EVICTED]) & AGES
        if distance <= table[filled, 1]:  # it would have stayed, had the active list been shorter
            _activate(table, page)
            return
    _link(table, len(table) - INACTIVE, page)


@inlined
def _evict(table: Table) -> None:
    policy, inactive = table[len(table) - KIND, 0], len(table) - INACTIVE
    if policy == MAPPED:
        _evict_mapped(table)
        return
    if policy == TWO_LIST:
        _shrink_active(table)
    victim = table[inactive, NEWER]
    while policy == CLOCK and table[victim, MARK]:  # a second chance: the hand goes on
        table[victim, MARK] = 0
        _unlink(table, victim)
        _link(table, inactive, victim)
        victim = table[inactive, NEWER]
    _unlink(table, victim)
    table[victim, OLDER] = ABSENT
    table[len(table) - FILLED, 0] -= 1
    if policy == TWO_LIST:
        table[victim, EVICTED] = table[len(table) - AGE, 0]
        _grow_older(table)


@inlined
def _evict_mapped(table: Table) -> None:
    """Look at the oldest inactive pages until one was not used since the last look: that one goes.

    A page found used once is spared for another round, one found used again is activated. Active pages, at most half of all, are
    moved back without regard to their use, which is forgotten. A page moves only from one end to another, so the lists are queues.
    """
    filled = len(table) - FILLED
    while True:
        while 2 * table[filled, 1] > table[filled, 0]:
            page = _take(table, ACTIVE)
            table[filled, 1] -= 1
            table[page, STATE] = _REFERENCED
            _append(table, INACTIVE, page)
        page = _take(table, INACTIVE)
        state = table[page, STATE]
        if not state & _YOUNG:
            table[page, STATE] = ABSENT
            table[filled, 0] -= 1
            return
        if state & _REFERENCED:
            table[page, STATE] = _IS_ACTIVE
            table[filled, 1] += 1
            _append(table, ACTIVE, page)
        else:
            table[page, STATE] = _REFERENCED
            _append(table, INACTIVE, page)


@inlined
def _set_state(table: Table, page: int, state: int) -> None:
    """Of a page that may have gone already, where the cache is as small as the window."""
    if table[page, STATE] != ABSENT:
        table[page, STATE] = state


@inlined
def _append(table: Table, end: int, page: int) -> None:
    """Put `page` at the new end of the queue whose row is `end`."""
    row = len(table) - end
    at = table[row, 1]
    table[at, INACTIVE_QUEUE if end == INACTIVE else ACTIVE_QUEUE] = page
    table[row, 1] = at + 1 if at + 1 < len(table) - INACTIVE else 0


@inlined
def _take(table: Table, end: int) -> int:
    """Take the oldest page from the queue whose row is `end`."""
    row = len(table) - end
    at = table[row, 0]
    table[row, 0] = at + 1 if at + 1 < len(table) - INACTIVE else 0
    return int(table[at, INACTIVE_QUEUE if end == INACTIVE else ACTIVE_QUEUE])


@inlined
def _activate(table: Table, page: int) -> None:
    table[page, MARK] = _IS_ACTIVE
    table[len(table) - FILLED, 1] += 1
    _link(table, len(table) - ACTIVE, page)


@inlined
def _shrink_active(table: Table) -> None:
    """Move the oldest active pages to the inactive list while that one is too short."""
    filled, active = len(table) - FILLED, len(table) - ACTIVE
    resident = table[filled, 0]
    gib = resident // _LINUX_PAGES_PER_GIB
    ratio = int(np.sqrt(10 * gib)) if gib else 1
    while (resident - table[filled, 1]) * ratio < table[filled, 1]:
        page = table[active, NEWER]
        _unlink(table, page)
        table[filled, 1] -= 1
        table[page, MARK] = 0
        _link(table, len(table) - INACTIVE, page)


@inlined
def _grow_older(table: Table) -> None:
    """An eviction or an activation: what the refault distance counts."""
    age = len(table) - AGE
    table[age, 0] = (table[age, 0] + 1) & AGES


@inlined
def _link(table: Table, end: int, page: int) -> None:
    """Put `page` at the new end of the list whose row is `end`."""
    newest = table[end, OLDER]
    table[page, OLDER] = newest
    table[page, NEWER] = end
    table[newest, NEWER] = page
    table[end, OLDER] = page


@inlined
def _unlink(table: Table, page: int) -> None:
    older, newer = table[page, OLDER], table[page, NEWER]
    table[older, NEWER] = newer
    table[newer, OLDER] = older


@inlined
def look_ahead(table: Table, pages: Ints, first: int, end: int) -> None:
    """Load the rows that accesses to `pages[first:end]` will need: memory is waited for once, not for each. Changes nothing but time."""
    seen = 0
    for at in range(first, end):
        seen ^= table[pages[at], OLDER]
    policy = table[len(table) - KIND, 0]
    if policy in (LRU, TWO_LIST):  # the others move a page only where they evict
        for at in range(first, end):
            page = pages[at]
            seen ^= table[table[page, OLDER], OLDER] ^ table[table[page, NEWER], OLDER]
    table[len(table) - AGE, 1] = seen  # stored, or the compiler would leave the loads out


@compiled
def replay(table: Table, trace: Ints, window: int) -> int:
    misses = 0
    for at in range(len(trace)):
        if at % AHEAD == 0:
            look_ahead(table, trace, at, min(at + AHEAD, len(trace)))
        if not touch(table, trace[at]):
            fault(table, trace[at], window)
            misses += 1
    return misses


TURN, BEGAN, DUE = 0, 1, 2  # of a thread: when it goes on, when its operation began, when the read that it asked for is done
FIRST, END, AWAITS = 0, 1, 2  # of a thread: the pages that it last asked the device for, and the thread whose read it waits for
OPERATIONS, MISSES, READS = 0, 1, 2  # columns of the series
GATE, LINK, CHANNELS = 0, 1, 2  # of flash: when its controller, its link and (from there on) its channels are free
NOBODY = -1
_SIEVED = 32  # neighbouring pages that count as of one kind where it is asked what may be on its way
HELPERS = 8  # asynchronous reads of the kernel at a time; where more would begin they are left out
BINS, BINS_PER_OCTAVE, FIRST_EDGE_S = 280, 8, 1e-7


class Loop(NamedTuple):
    """The whole simulation as compiled code sees it."""

    table: Table
    window: int
    clock: Floats
    """(threads, 3), see `TURN`"""
    reads: Ints
    """(threads, 3), see `FIRST`"""
    busy_s: Floats
    """See `GATE`; empty where the device is none of flash, and every read is left to be asked for."""
    times_s: tuple[float, float, float]
    """Of flash: between two reads of the controller, to find a page, to move a page."""
    spent_s: tuple[float, float, float]
    """See `Costs`"""
    interval_s: float
    series: Ints
    """(intervals, 3), see `OPERATIONS`"""
    latencies: Ints


@compiled
def run(loop: Loop, pages: Ints, at: int, until_s: float) -> tuple[int, int]:
    """Go on from `pages[at]` to the end of the pages, to `until_s`, or to a read that is left to be asked for.

    Returns where in `pages` it stopped, and the thread that wants to read.
    """
    table, clock, reads, series, latencies = loop.table, loop.clock, loop.reads, loop.series, loop.latencies
    interval_s, (hit_s, _, think_s) = loop.interval_s, loop.spent_s
    hit_bin, on_way = bin_of(hit_s), _sieve(clock, reads)
    while at < len(pages):
        thread, turn_s, next_s = _next_turn(clock)
        if turn_s >= until_s:
            break
        # As long as no other thread's turn comes, this one goes on.
        while turn_s <= next_s and turn_s < until_s and at < len(pages):
            if at % AHEAD == 0:
                look_ahead(table, pages, at, min(at + AHEAD, len(pages)))
            page = pages[at]
            at += 1
            found = touch(table, page)
            reader = thread
            if found:  # not likely to be on its way: few pages are at a time
                reader = _reader_of(page, turn_s, clock, reads) if on_way >> (page // _SIEVED & 63) & 1 else NOBODY
            if reader == NOBODY:
                turn_s += hit_s
                interval = int(turn_s / interval_s)
                if interval < len(series):
                    series[interval, OPERATIONS] += 1
                    latencies[hit_bin] += 1
                turn_s += think_s
                helper = _read_on(loop, page, turn_s) if found == MARKED_HIT else NOBODY
                if helper != NOBODY:
                    on_way = _sieve(clock, reads)
                    if clock[helper, DUE] == math.inf:
                        clock[thread, TURN] = turn_s
                        return at, helper
                continue
            clock[thread, BEGAN] = turn_s
            reads[thread, AWAITS] = reader
            if not found:
                first, end = fault(table, page, loop.window)
                _ask(loop, thread, first, end, turn_s)
                on_way = _sieve(clock, reads)
            if clock[reader, DUE] < math.inf:
                _finish(loop, thread, clock[reader, DUE])
                turn_s = clock[thread, TURN]
                continue
            clock[thread, TURN] = turn_s = math.inf
            if not found:
                return at, thread
        clock[thread, TURN] = turn_s
    return at, NOBODY


@inlined
def _ask(loop: Loop, reader: int, first: int, end: int, now_s: float) -> None:
    """Have `reader` read pages `first` to `end`: flash says at once when that is done."""
    loop.clock[reader, BEGAN] = now_s
    loop.reads[reader, FIRST], loop.reads[reader, END] = first, end
    loop.series[min(int(now_s / loop.interval_s), len(loop.series) - 1), READS] += 1
    loop.clock[reader, DUE] = _serve(now_s, end - first, loop.busy_s, loop.times_s) if len(loop.busy_s) else math.inf


@inlined
def _read_on(loop: Loop, page: int, now_s: float) -> int:
    """Have an idle one of the kernel's own readers, which stand behind the threads, read on after `page`; returns which, or `NOBODY`."""
    for helper in range(len(loop.clock) - HELPERS, len(loop.clock)):
        if loop.clock[helper, DUE] <= now_s:
            first, end = read_ahead(loop.table, page, loop.window)
            if first < end:
                _ask(loop, helper, first, end, now_s)
                return helper
            break
    return NOBODY


@inlined
def _next_turn(clock: Floats) -> tuple[int, float, float]:
    """The thread whose turn comes first, when that is, and when the next one's comes."""
    thread, turn_s, next_s = 0, math.inf, math.inf
    for candidate in range(len(clock)):
        candidate_s = clock[candidate, TURN]
        if candidate_s < turn_s:
            thread, turn_s, next_s = candidate, candidate_s, turn_s
        else:
            next_s = min(next_s, candidate_s)
    return thread, turn_s, next_s


@inlined
def _sieve(clock: Floats, reads: Ints) -> int:
    """A bit for each of 64 kinds of page, set where one may be on its way."""
    kinds = 0
    for reader in range(len(clock)):
        for part in range(reads[reader, FIRST] // _SIEVED, (reads[reader, END] - 1) // _SIEVED + 1):
            kinds |= 1 << (part & 63)
    return kinds


@inlined
def _reader_of(page: int, now_s: float, clock: Floats, reads: Ints) -> int:
    """The thread whose read is bringing `page`, if it is still on its way."""
    for thread in range(len(clock)):
        # No short circuit: half of these branches would be guessed wrong.
        if (clock[thread, DUE] > now_s) & (page >= reads[thread, FIRST]) & (page < reads[thread, END]):
            return thread
    return NOBODY


@inlined
def _serve(now_s: float, pages: int, busy_s: Floats, times_s: tuple[float, float, float]) -> float:
    """When flash has read `pages` pages: through the controller's gate, in the first channel that is free, then over the link."""
    gap_s, latency_s, page_s = times_s
    channel = CHANNELS
    for other in range(CHANNELS + 1, len(busy_s)):
        if busy_s[other] < busy_s[channel]:
            channel = other
    enter_s = max(now_s, busy_s[GATE])
    busy_s[GATE] = enter_s + gap_s
    busy_s[LINK] = max(max(enter_s, busy_s[channel]) + latency_s, busy_s[LINK]) + pages * page_s
    busy_s[channel] = busy_s[LINK]
    return float(busy_s[LINK])


@compiled
def deliver(loop: Loop, reader: int, done_s: float) -> None:
    """The device has done the read that `reader` asked for: whoever waits for it goes on."""
    loop.clock[reader, DUE] = done_s
    for thread in range(len(loop.clock)):
        if loop.reads[thread, AWAITS] == reader:
            _finish(loop, thread, done_s)


@inlined
def _finish(loop: Loop, thread: int, read_s: float) -> None:
    """The operation of `thread` has its page at `read_s`: count it, and say when the thread goes on."""
    _, fault_s, think_s = loop.spent_s
    done_s = read_s + fault_s
    interval = int(done_s / loop.interval_s)
    if interval < len(loop.series):
        loop.series[interval, OPERATIONS] += 1
        loop.series[interval, MISSES] += 1
        loop.latencies[bin_of(done_s - loop.clock[thread, BEGAN])] += 1
    loop.reads[thread, AWAITS] = NOBODY
    loop.clock[thread, TURN] = done_s + think_s


@inlined
def bin_of(latency_s: float) -> int:
    if latency_s <= FIRST_EDGE_S:
        return 0
    return min(BINS - 1, int(BINS_PER_OCTAVE * math.log2(latency_s / FIRST_EDGE_S)))
