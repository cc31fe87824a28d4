"""Che's approximation of the hit ratio of a full LRU cache under independent requests, without read-around. Che, Tung and Wang,
Hierarchical web caching systems (IEEE JSAC 20(7), 2002): a page is resident if it was requested within the last T requests.
"""

import numpy as np
import scipy
from numpy.typing import NDArray

from tierwise.core.errors import InputError


def hit_ratio(popularity: NDArray[np.float64], pages: int) -> float:
    """Return share of the requests that find their page in a cache of `pages` pages; `popularity` is the share of requests of each page."""
    if pages < 1:
        raise InputError("che", field="pages", value=pages, rule="must be 1 or more")
    if pages >= np.count_nonzero(popularity):
        return 1.0
    upper = float(pages)
    while _resident(popularity, upper) < pages:
        upper *= 2
    window = scipy.optimize.brentq(lambda requests: _resident(popularity, requests) - pages, 0.0, upper, rtol=1e-6)
    return float(-(popularity * np.expm1(-popularity * window)).sum())


def _resident(popularity: NDArray[np.float64], requests: float) -> float:
    return float(-np.expm1(-popularity * requests).sum())
