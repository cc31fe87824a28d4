"""YCSB's scrambled Zipfian: which item is read next, with popular ones strewn over all items.

A rank is drawn by Gray's method (Quickly generating billion-record synthetic databases, SIGMOD 1994) from a Zipfian with theta 0.99 over
1e10 items, hashed, and taken modulo the number of items. Read in YCSB's source (github.com/brianfrankcooper/YCSB at d9faaac:
ScrambledZipfianGenerator, ZipfianGenerator, Utils.fnvhash64):

- the formula's item count is 1e10 + 1 (YCSB's bounds are inclusive), its zeta constant that of 1e10;
- the hash is FNV-1a of the eight octets, lowest first: xor, then multiply (FNV-1 is the other way round; YCSB calls its own "FNV64");
- the sum is a signed number and its absolute value is taken, so 63 bits remain, before the remainder;
- several ranks fall on one item, and some items are never drawn.

A real file of 1/n of the size (`scale`) is read nearly alike if n neighbouring ranks are made one: whatever share of the items is the most
popular is then read as often as before. A Zipfian over fewer ranks would not do: theta is near 1, and each octave of ranks has nearly equal
weight, so that fewer octaves would make each count for more. FNV's remainder by a small number is not even, so another mix takes its place,
which strews evenly where the full size does not (`merged` keeps that, too, and is for simulation alone).

YCSB's hash, taken modulo the number of items, does not strew the popular ones evenly: where that number is 3 x 2^24 + 1 (48 GiB of 1 KiB
items) they share far fewer pages than chance would have it, and a cache holds more of what is read. A part of the size must have the
same spread. So popularity is counted by page at the full size, and `scale` pages that are neighbours in *popularity* are made one; with
read-around whole windows are merged so, the most popular page of one with those of others. Where the merged pages lie is drawn once.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

import numpy as np
import scipy

from tierwise.core.compiled import Floats, Ints, compiled
from tierwise.core.errors import InputError

THETA: Final = 0.99
RANKS: Final = 10_000_000_000
ZETA: Final = 26.46902820178302  # sum of i^-theta over 1 to `RANKS`, as YCSB has it

_ALPHA: Final = 1 / (1 - THETA)
_SECOND: Final = 1 + 0.5**THETA
_ETA: Final = (1 - (2 / (RANKS + 1)) ** (1 - THETA)) / (1 - _SECOND / ZETA)
_DOUBT: Final = 1e-12
_OFFSET_BASIS: Final = np.uint64(0xCBF29CE484222325)
_PRIME: Final = np.uint64(1099511628211)

EXACT_RANKS: Final = 2**23  # more popular ranks than this are placed one by one; the rest, hundreds to an item and more, lies evenly
_ALIKE_RANKS: Final = 64  # neighbouring ranks that count as equally popular, beyond the first `_APART_RANKS`
_APART_RANKS: Final = 4096
_PLACES_SEED: Final = 1
CHUNK_PAGES: Final = 2**16


@compiled
def rank_of(chance: float) -> int:
    """Return the rank, from 0, that YCSB draws where its uniform number of [0, 1) is `chance`."""
    share = chance * ZETA
    if share < 1:
        return 0
    if share < _SECOND:
        return 1
    base = _ETA * chance - _ETA + 1
    # _ALPHA is 100 but for 1e-13. Multiplied out the power is off by 4e-14 of itself: seldom does it matter.
    square = base * base
    fourth = square * square
    eighth = fourth * fourth
    thirty_second = eighth * eighth * (eighth * eighth)
    about = (RANKS + 1) * (thirty_second * thirty_second * thirty_second * fourth)
    rest = about - int(about)
    if _DOUBT * about < rest < 1 - _DOUBT * about:
        return int(about)
    return int((RANKS + 1) * base**_ALPHA)


@compiled
def chance_below(rank: int) -> float:
    """Return the probability of a rank below `rank`: the inverse of `rank_of`."""
    if rank < 2:
        return rank / ZETA
    return float(((rank / (RANKS + 1)) ** (1 - THETA) - 1 + _ETA) / _ETA)


@compiled
def fnv_of(number: int) -> int:
    """Return YCSB's hash of a number of zero or more: 63 bits."""
    rest, value = np.uint64(number), _OFFSET_BASIS
    for _ in range(8):
        value = (value ^ (rest & np.uint64(255))) * _PRIME
        rest >>= np.uint64(8)
    return int(abs(np.int64(value)))


@compiled
def mix_of(number: int) -> int:
    """Return 63 mixed bits of a number, by splitmix64's finaliser (Steele, Lea, Flood: Fast splittable pseudorandom number generators)."""
    value = np.uint64(number) + np.uint64(0x9E3779B97F4A7C15)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return int(np.int64((value ^ (value >> np.uint64(31))) >> np.uint64(1)))  # signed, as the other: of both numba would make a float


@compiled
def item_of(rank: int, items: int, scale: int) -> int:
    """Return where the items of `rank` lie among `items`, of a data set that is `scale` times as large."""
    number = fnv_of(rank) if scale == 1 else mix_of(rank // scale)
    # A division of whole numbers takes several times as long as this one, which seldom is not exact.
    rest = number - int(number * (1 / items)) * items
    return rest if 0 <= rest < items else number % items


@compiled
def scrambled(chances: Floats, items: int, scale: int = 1) -> Ints:
    """Return the items, from 0 to `items` - 1, for uniform numbers of [0, 1); `items` of a data set that is `scale` times as large."""
    drawn = np.empty(len(chances), np.int64)
    for at in range(len(chances)):
        drawn[at] = item_of(rank_of(chances[at]), items, scale)
    return drawn


def zipfian_pages(items: int, *, seed: int, items_per_page: int = 1, scale: int = 1, chunk: int = 2**16) -> Iterator[Ints]:
    """Yield, without end, chunks of pages that scrambled Zipfian reads of `items` items touch; these stand for `scale` times as many."""
    chance = np.random.default_rng(seed)
    while True:
        drawn = scrambled(chance.random(chunk), items, scale)
        yield drawn if items_per_page == 1 else drawn // items_per_page


def zipfian_popularity(items: int, items_per_page: int = 1) -> Floats:
    """Return shares of the requests of each page, as `zipfian_pages` draws them; they sum up to 1."""
    pages = (items - 1) // items_per_page + 1
    return _most_popular(items, pages, items_per_page) + (1 - chance_below(EXACT_RANKS)) / pages


def merged(popularity: Floats, scale: int, window: int = 1) -> Floats:
    """Return shares of the pages of a data set that is `scale` times smaller; `window` pages stay together."""
    windows = -(-len(popularity) // window)
    whole = np.zeros((windows, window))
    whole.ravel()[: len(popularity)] = popularity
    whole = np.sort(whole, axis=1)[np.argsort(-whole.sum(axis=1), kind="stable")] if window > 1 else np.sort(whole, axis=0)[::-1]
    parts = max(1, round(windows / scale))
    small = np.add.reduceat(whole, np.arange(parts) * windows // parts, axis=0)
    chance = np.random.default_rng(_PLACES_SEED)
    return chance.permutation(chance.permuted(small, axis=1)).ravel()


@lru_cache(maxsize=32)
def merged_zipfian(items: int, items_per_page: int, scale: int, window: int = 1) -> Floats:
    """Return `merged` of `zipfian_popularity`, kept because every seed wants it."""
    return merged(zipfian_popularity(items, items_per_page), scale, window)


def drawn_pages(popularity: Floats, *, seed: int) -> Iterator[Ints]:
    """Yield chunks, without end, of independent requests; equal seeds give equal pages. By Walker's alias method."""
    from scipy.stats.sampling import DiscreteAliasUrn  # noqa: PLC0415  scipy.stats loads with it, which takes a second

    urn = DiscreteAliasUrn(popularity / popularity.sum(), random_state=np.random.default_rng(seed))
    while True:
        yield urn.rvs(CHUNK_PAGES).astype(np.int64)


@compiled
def _most_popular(items: int, pages: int, items_per_page: int) -> Floats:
    shares = np.zeros(pages)
    for rank in range(_APART_RANKS):
        shares[fnv_of(rank) % items // items_per_page] += chance_below(rank + 1) - chance_below(rank)
    for first in range(_APART_RANKS, EXACT_RANKS, _ALIKE_RANKS):
        share = (chance_below(first + _ALIKE_RANKS) - chance_below(first)) / _ALIKE_RANKS
        for rank in range(first, first + _ALIKE_RANKS):
            shares[fnv_of(rank) % items // items_per_page] += share
    return shares


def che_hit_ratio(popularity: Floats, pages: int) -> float:
    """Return the hit ratio of a full LRU cache of `pages` pages under independent requests, without read-around.

    Che, Tung and Wang, Hierarchical web caching systems (IEEE JSAC 20(7), 2002): a page is resident if it was requested within the last T
    requests. `popularity` is the share of requests of each page.
    """
    if pages < 1:
        raise InputError("che", field="pages", value=pages, rule="must be 1 or more")
    if pages >= np.count_nonzero(popularity):
        return 1.0
    upper = float(pages)
    while _resident(popularity, upper) < pages:
        upper *= 2
    window = scipy.optimize.brentq(lambda requests: _resident(popularity, requests) - pages, 0.0, upper, rtol=1e-6)
    return float(-(popularity * np.expm1(-popularity * window)).sum())


def _resident(popularity: Floats, requests: float) -> float:
    return float(-np.expm1(-popularity * requests).sum())
