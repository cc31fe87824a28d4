"""Bounds of the 99th percentile of a transaction's time, from how old the open transactions were in the samples.

A transaction that takes t is open for t, so sessions with an age from a to b are seen as often as transactions live beyond these ages:
transactions a second, times the mean of P(time > age), times b - a. P falls with the age, so each pair of ages bounds it on both sides.
"""

import math
from collections.abc import Mapping
from typing import Final

import numpy as np

from tierwise.core.activity import Band

ABOVE: Final = 0.01
WRONG: Final = 0.005  # chance that the count of one pair of ages is beyond its bound, if samples were independent (chosen)
YOUNGEST_S, STEPS, OCTAVES = 1e-3, 4, 30
AGES_S: Final = np.array([0.0, *(YOUNGEST_S * 2 ** (np.arange(STEPS * OCTAVES) / STEPS))])


def age_class(age_s: float) -> int:
    return int(np.searchsorted(AGES_S[1:], age_s, side="right"))


def percentile_99(counts: Mapping[int, float], *, samples: float, transactions: float, mean_s: float, watched_s: float) -> Band:
    """Return the bounds from `counts`, the sessions in a transaction by `age_class` in all `samples` of the watch. A transaction that
    several samples can meet between two ages counts once.
    """
    from scipy.special import gammaincinv  # noqa: PLC0415  it loads slowly

    below = np.cumsum([counts.get(number, 0.0) for number in range(-1, len(AGES_S) - 1)])
    first, last = np.triu_indices(len(AGES_S), k=1)
    width_s = AGES_S[last] - AGES_S[first]
    met = np.maximum(1.0, width_s * samples / watched_s)
    seen = (below[last] - below[first]) / met
    each = met / (samples / watched_s * transactions * width_s)
    at_least = np.where(seen > 0, gammaincinv(np.maximum(seen, 1e-9), WRONG), 0.0) * each
    at_most = gammaincinv(seen + 1, 1 - WRONG) * each
    low = AGES_S[first][at_least > ABOVE].max(initial=0.0)
    high = AGES_S[last][at_most <= ABOVE].min(initial=math.inf)
    return Band(low=float(low), high=float(min(high, mean_s / ABOVE)))  # Markov's inequality
