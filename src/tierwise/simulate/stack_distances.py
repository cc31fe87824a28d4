"""Misses and write-backs of one LRU at every size, from one pass over a trace: how many pages were used since each page's last use.

Mattson, Gecsei, Slutz, Traiger, Evaluation techniques for storage hierarchies, IBM Systems Journal 9(2), 1970; write-backs: Thompson and
Smith, Efficient (stack) algorithms for analysis of write-back and sector memories, ACM TOCS 7(1), 1989. A request misses in every cache
that is smaller than its distance. A dirty page is written back once, when it leaves a cache, by every size from its dirty level on.
"""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tierwise.core.compiled import Ints, bits_set, compiled, prefetch
from tierwise.simulate.trace_fields import Numbering

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


class Curve(Misses):
    """Counts by relation [relation, size] for every size in pages from 0 to the last one; a larger cache misses no more."""

    __slots__ = ()

    @property
    def most(self) -> int:
        return int(self.reads.shape[1]) - 1

    def at(self, pages: int) -> Misses:
        return Misses(*(kind.astype(np.int64) for kind in self.between(pages)))

    def between(self, pages: float) -> list[Any]:
        """Return the counts on a line between two sizes."""
        size = min(float(pages), float(self.most))
        below, part = int(size), size - int(size)
        above = min(below + 1, self.most)
        return [(1 - part) * kind[:, below] + part * kind[:, above] for kind in self]


@dataclass(frozen=True)
class SampledCurve:
    """Counts of a sample of pages at `rate`; `near`, where there is one, has the exact counts of small caches. A larger cache misses as
    many of the requests that the largest exact one misses as it does in the sample.
    """

    sample: Curve
    rate: float
    near: Curve | None

    def at(self, pages: int) -> Misses:
        if self.near is not None and pages <= self.near.most:
            return self.near.at(pages)
        counts = self.sample.between(pages * self.rate)
        if self.near is None:
            scaled = [count / self.rate for count in counts]
        else:
            largest = zip(self.near.between(self.near.most), self.sample.between(self.near.most * self.rate), counts, strict=True)
            scaled = [np.divide(exact * count, seen, out=exact, where=seen > 0) for exact, seen, count in largest]
        return Misses(*(np.rint(count).astype(np.int64) for count in scaled))


class NearCounts:
    """Exact counts of caches of at most `most` pages, from requests in chunks: between two chunks it holds the last `most` pages only."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._found = np.zeros((3, 1, most + 2), np.int32)
        self._keys, self._relation, self._dirty = np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32)

    def add(self, keys: Ints, writes: NDArray[np.bool_], relation: NDArray[np.integer[Any]]) -> None:
        held, numbering = len(self._keys), Numbering()
        keys, relation = np.concatenate([self._keys, keys]), np.concatenate([self._relation, relation])
        numbers = numbering.of(keys)
        key, own = np.empty(numbering.count, np.int64), np.empty(numbering.count, np.int32)
        key[numbers], own[numbers] = keys, relation
        more = max(0, int(own.max(initial=0)) + 1 - self._found.shape[1])
        self._found = np.pad(self._found, ((0, 0), (0, more), (0, 0)))
        dirty = np.zeros(len(own), np.int32)
        dirty[:held] = self._dirty
        order = _count(numbers[held:], writes, own, self._found, dirty, held)
        kept, gone = order[: self.most][::-1], order[self.most :]
        _write_back(self._found, own[gone], dirty[gone], np.full(len(gone), self.most + 1))
        self._keys, self._relation, self._dirty = key[kept], own[kept], dirty[kept]

    def curve(self, relations: int) -> Curve:
        found = np.pad(self._found, ((0, 0), (0, relations - self._found.shape[1]), (0, 0)))
        _write_back(found, self._relation[::-1], self._dirty[::-1], np.arange(1, len(self._keys) + 1))
        return _curve(found)


def curve_of(pages: Places, writes: NDArray[np.bool_], relation: Places, relations: int) -> Curve:
    """Return the curve of requests for `pages`, numbered from 0; `relation` is that of each page."""
    count = len(relation)
    found, dirty = np.zeros((3, relations, count + 2), np.int32), np.zeros(count, np.int32)
    order = _count(pages, writes, relation, found, dirty, 0)
    _write_back(found, relation[order], dirty[order], np.arange(1, len(order) + 1))
    return _curve(found)


def _count(pages: Places, writes: Any, relation: Places, found: Any, dirty: Places, held: int) -> Any:  # noqa: PLR0917
    """Add the requests to `found`, after pages 0 to `held` were used in this order; return all pages, the most recent first."""
    count = len(relation)
    last = np.zeros(count, np.int32)
    last[:held] = np.arange(1, held + 1)
    slots = -(-(2 * count + 2**16) >> _BLOCK_BITS) << _BLOCK_BITS
    bits, tree = np.zeros(slots // 32, np.uint32), np.zeros((slots >> _BLOCK_BITS) + 1, np.int32)
    _mark(bits, tree, held)
    _pass(pages, writes, relation, found, last, dirty, bits, tree, held)
    by_mark = np.full(slots + 1, -1, np.int32)
    by_mark[last] = np.arange(count)
    return by_mark[by_mark >= 0][::-1]


def _write_back(found: Any, own: Any, level: Any, depth: Any) -> None:
    """Count dirty pages that have left every cache from their level to the depth at which they are."""
    gone = (level > 0) & (level < depth)
    np.add.at(found[2], (own[gone], level[gone]), 1)
    np.add.at(found[2], (own[gone], depth[gone]), -1)


def _curve(found: Any) -> Curve:
    missed = [np.cumsum(found[kind][:, ::-1], axis=1, dtype=np.int64)[:, ::-1][:, 1:] for kind in (0, 1)]
    return Curve(missed[0], missed[1], np.cumsum(found[2], axis=1, dtype=np.int64)[:, :-1])


@compiled
def _pass(  # noqa: PLR0917
    pages: Places, writes: Any, relation: Places, found: Any, last: Places, dirty: Places, bits: Any, tree: Places, held: int
) -> None:
    """Count each request in `found` [read, write, write-back; relation; distance, or more]; `last` has each page's last mark plus one."""
    now, distinct, slots, farthest = held, held, 32 * len(bits), found.shape[2] - 1
    for at in range(len(pages)):
        prefetch(last, pages[min(at + _AHEAD, len(pages) - 1)])
        if now == slots:
            now = _renumber(last, bits, tree)
        page = pages[at]
        mark = last[page] - 1
        if mark < 0:
            distance = farthest
            distinct += 1
        else:
            word, block = mark >> 5, mark >> _BLOCK_BITS
            keep = np.uint32(1 << (mark & 31))
            after = bits_set(np.int64(bits[word]) >> (mark & 31)) - 1
            for each in range(word + 1, (block + 1) * _BLOCK_WORDS):
                after += bits_set(np.int64(bits[each]))
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
            distance = min(after + 1, farthest)
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
        count += bits_set(np.int64(bits[each]))
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
        count += bits_set(np.int64(bits[each]))
    for page in range(len(last)):
        mark = last[page] - 1
        if mark >= 0:
            last[page] = before[mark >> 5] + bits_set(np.int64(bits[mark >> 5]) & ((1 << (mark & 31)) - 1)) + 1
    _mark(bits, tree, count)
    return count


@compiled
def _mark(bits: Any, tree: Places, count: int) -> None:
    for each in range(len(bits)):
        left = count - 32 * each
        bits[each] = np.uint32(0xFFFFFFFF) if left >= 32 else np.uint32((1 << max(left, 0)) - 1)
    for node in range(len(tree)):
        tree[node] = 0
    for block in range(count >> _BLOCK_BITS):
        _close(bits, tree, block)
