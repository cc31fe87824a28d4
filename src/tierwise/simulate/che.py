"""Che's approximation: the hit ratio of an LRU cache from the popularity of its pages alone.

Che, Tung and Wang, Hierarchical web caching systems (IEEE JSAC 20(7), 2002): a page is resident if it was asked for within the last T
requests, where T is such that the expected number of resident pages is the cache's capacity. It applies to independent requests, to LRU, to
caches that are full, and to pages that come alone: not to read-around, where a page comes because of its neighbours.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from tierwise.core.errors import InputError
from tierwise.simulate.compiled import compiled
from tierwise.simulate.zipfian import chance_below, item_of

_EXACT_RANKS: Final = 2**22
"""More popular ranks are placed one by one; the rest, hundreds to an item and more, lies evenly."""


def hit_ratio(popularity: NDArray[np.float64], pages: int) -> float:
    """Share of the requests that find their page in a cache of `pages` pages; `popularity` is the share of requests of each page.

    Raises:
        InputError: no pages.
    """
    if pages < 1:
        raise InputError("che", field="pages", value=pages, rule="must be 1 or more")
    if pages >= np.count_nonzero(popularity):
        return 1.0
    upper = float(pages)
    while _resident(popularity, upper) < pages:
        upper *= 2
    window = brentq(lambda requests: _resident(popularity, requests) - pages, 0.0, upper, rtol=1e-6)
    return float(-(popularity * np.expm1(-popularity * window)).sum())


def _resident(popularity: NDArray[np.float64], requests: float) -> float:
    return float(-np.expm1(-popularity * requests).sum())


def zipfian_popularity(items: int, items_per_page: int = 1, scale: int = 1) -> NDArray[np.float64]:
    """Shares of the requests of each page, as `zipfian_pages` draws them."""
    pages = (items - 1) // items_per_page + 1
    shares = _most_popular(items, pages, items_per_page, scale)
    shares += (1 - shares.sum()) / pages
    return shares


@compiled
def _most_popular(items: int, pages: int, items_per_page: int, scale: int) -> NDArray[np.float64]:
    shares = np.zeros(pages)
    for rank in range(_EXACT_RANKS // scale):
        item = item_of(rank * scale, items, scale)
        shares[item // items_per_page] += chance_below((rank + 1) * scale) - chance_below(rank * scale)
    return shares
