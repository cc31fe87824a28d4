"""How often each page is read: of the whole data set, and of one of a part of its size that is read alike.

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
from tierwise.simulate.zipfian import chance_below, fnv_of

EXACT_RANKS: Final = 2**23  # more popular ranks than this are placed one by one; the rest, hundreds to an item and more, lies evenly
_ALIKE_RANKS: Final = 64  # neighbouring ranks that count as equally popular, beyond the first `_APART_RANKS`
_APART_RANKS: Final = 4096
_PLACES_SEED: Final = 1
CHUNK_PAGES: Final = 2**16


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
def merged_zipfian(items: int, items_per_page: int, scale: int, windows: tuple[int, ...]) -> dict[int, Floats]:
    """Return `merged` of `zipfian_popularity` for each of `windows`, kept because every seed wants it."""
    whole = zipfian_popularity(items, items_per_page)
    return {window: merged(whole, scale, window) for window in windows}


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
