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
which strews evenly where the full size does not (`popularity` keeps that, too, and is for simulation alone).
"""

from collections.abc import Iterator
from typing import Final

import numpy as np

from tierwise.core.compiled import Floats, Ints, compiled

THETA: Final = 0.99
RANKS: Final = 10_000_000_000
ZETA: Final = 26.46902820178302  # sum of i^-theta over 1 to `RANKS`, as YCSB has it

_ALPHA: Final = 1 / (1 - THETA)
_SECOND: Final = 1 + 0.5**THETA
_ETA: Final = (1 - (2 / (RANKS + 1)) ** (1 - THETA)) / (1 - _SECOND / ZETA)
_DOUBT: Final = 1e-12
_OFFSET_BASIS: Final = np.uint64(0xCBF29CE484222325)
_PRIME: Final = np.uint64(1099511628211)


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
