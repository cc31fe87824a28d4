"""Misses and write-backs of one LRU at every size, from one pass over a trace: how many pages were used since each page's last use.

Mattson, Gecsei, Slutz, Traiger, Evaluation techniques for storage hierarchies, IBM Systems Journal 9(2), 1970; write-backs: Thompson and
Smith, Efficient (stack) algorithms for analysis of write-back and sector memories, ACM TOCS 7(1), 1989. A request misses in every cache
that is smaller than its distance. A dirty page is written back once, when it leaves a cache, by every size from its dirty level on.
"""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tierwise.core.compiled import bits_set, compiled, inlined, prefetch

Places = NDArray[np.int32]
Counts = NDArray[np.int64]

_AHEAD: Final = 24
_BLOCK_BITS: Final = 8
_BLOCK_WORDS: Final = 2**_BLOCK_BITS // 32
"""Marks of last uses are counted in blocks of this many words of 32 bits, and the blocks in a Fenwick tree."""


class Misses(NamedTuple):
    reads: Counts
    writes: Counts
    write_backs: Counts


@dataclass(frozen=True)
class Curve:
    """Counts by relation [relation, size] for every size in pages from 0 to that of all pages; a larger cache misses no more."""

    reads: Counts
    writes: Counts
    write_backs: Counts

    def at(self, pages: int, rate: float = 1.0) -> Misses:
        """Return the counts of a cache of `pages`; of a sample of pages at `rate` those that it stands for, on a line between two sizes."""
        most = self.reads.shape[1] - 1
        size = min(pages * rate, float(most))
        below, part = int(size), size - int(size)
        above = min(below + 1, most)
        counts = ((1 - part) * kind[:, below] + part * kind[:, above] for kind in (self.reads, self.writes, self.write_backs))
        return Misses(*(np.rint(count / rate).astype(np.int64) for count in counts))


def curve_of(pages: Places, writes: NDArray[np.bool_], relation: Places, relations: int) -> Curve:
    """Return the curve of requests for `pages`, numbered from 0; `relation` is that of each page."""
    count = len(relation)
    found = np.zeros((3, relations, count + 2), np.int32)
    last, dirty = np.zeros(count, np.int32), np.zeros(count, np.int32)
    slots = -(-(2 * count + 2**16) >> _BLOCK_BITS) << _BLOCK_BITS
    bits, tree = np.zeros(slots // 32, np.uint32), np.zeros((slots >> _BLOCK_BITS) + 1, np.int32)
    _pass(pages, writes, relation, found, last, dirty, bits, tree)
    if dirty.any():
        by_mark = np.full(slots + 1, -1, np.int32)
        by_mark[last] = np.arange(count)
        order = by_mark[by_mark >= 0][::-1]  # the most recent page is the first
        depth, level, own = np.arange(1, count + 1), dirty[order], relation[order]
        gone = (level > 0) & (level < depth)
        np.add.at(found[2], (own[gone], level[gone]), 1)
        np.add.at(found[2], (own[gone], depth[gone]), -1)
    missed = [np.cumsum(found[kind][:, ::-1], axis=1, dtype=np.int64)[:, ::-1][:, 1:] for kind in (0, 1)]
    return Curve(missed[0], missed[1], np.cumsum(found[2], axis=1, dtype=np.int64)[:, :-1])


@inlined
def _set(word: Any) -> int:
    return bits_set(word)


@compiled
def _pass(pages: Places, writes: Any, relation: Places, found: Any, last: Places, dirty: Places, bits: Any, tree: Places) -> None:  # noqa: PLR0917
    """Count each request in `found` [read, write, write-back; relation; distance]; `last` has each page's last mark plus one."""
    now, distinct, slots = 0, 0, 32 * len(bits)
    for at in range(len(pages)):
        prefetch(last, pages[min(at + _AHEAD, len(pages) - 1)])
        if now == slots:
            now = _renumber(last, bits, tree)
        page = pages[at]
        mark = last[page] - 1
        if mark < 0:
            distance = len(last) + 1
            distinct += 1
        else:
            word, block = mark >> 5, mark >> _BLOCK_BITS
            keep = np.uint32(1 << (mark & 31))
            after = _set(np.int64(bits[word]) >> (mark & 31)) - 1
            for each in range(word + 1, (block + 1) * _BLOCK_WORDS):
                after += _set(np.int64(bits[each]))
            if block < now >> _BLOCK_BITS:  # its block is full
                before, node = 0, block + 1
                while node > 0:
                    before += tree[node]
                    node &= node - 1
                after += distinct - before
                node = block + 1
                while node < len(tree):
                    tree[node] -= 1
                    node += node & -node
            bits[word] ^= keep
            distance = after + 1
        bits[now >> 5] |= np.uint32(1 << (now & 31))
        now += 1
        last[page] = now
        if now & (2**_BLOCK_BITS - 1) == 0:
            _close(bits, tree, (now >> _BLOCK_BITS) - 1)
        own, level = relation[page], dirty[page]
        found[1 if writes[at] else 0, own, distance] += 1
        if 0 < level < distance:
            found[2, own, level] += 1
            found[2, own, distance] -= 1
            dirty[page] = distance
        if writes[at]:
            dirty[page] = 1


@compiled
def _close(bits: Any, tree: Places, block: int) -> None:
    count = 0
    for each in range(block * _BLOCK_WORDS, (block + 1) * _BLOCK_WORDS):
        count += _set(np.int64(bits[each]))
    node = block + 1
    while node < len(tree):
        tree[node] += count
        node += node & -node


@compiled
def _renumber(last: Places, bits: Any, tree: Places) -> int:
    """Give the pages new marks in the order of their last uses, without gaps; returns how many there are."""
    before, count = np.empty(len(bits), np.int32), 0
    for each in range(len(bits)):
        before[each] = count
        count += _set(np.int64(bits[each]))
    for page in range(len(last)):
        mark = last[page] - 1
        if mark >= 0:
            last[page] = before[mark >> 5] + _set(np.int64(bits[mark >> 5]) & ((1 << (mark & 31)) - 1)) + 1
    for each in range(len(bits)):
        left = count - 32 * each
        bits[each] = np.uint32(0xFFFFFFFF) if left >= 32 else np.uint32((1 << max(left, 0)) - 1)
    for node in range(len(tree)):
        tree[node] = 0
    for block in range(count >> _BLOCK_BITS):
        _close(bits, tree, block)
    return count
