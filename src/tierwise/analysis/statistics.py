"""The one estimator of this study: geometric mean and t interval on the logs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import stats

MINIMUM_PAIRS: Final = 5
"""Fewer pairs (or blocks) give no interval: with four, one stray value in four would decide."""
CONFIDENCE: Final = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """A geometric mean with its confidence interval, both `None` where the observations do not carry them."""

    value: float | None
    low: float | None
    high: float | None
    pairs: int

    @property
    def interval(self) -> tuple[float, float] | None:
        """(low, high), or `None` where there is no interval."""
        return None if self.low is None or self.high is None else (self.low, self.high)


def geometric_estimate(values: Sequence[float], *, confidence: float = CONFIDENCE) -> Estimate:
    """exp(mean of logs) of positive `values` (ratios of pairs, or absolute values of blocks), in their unit.

    The interval is exp(mean -+ t * s / sqrt(n)) with Student's t at n - 1 degrees of freedom, from `MINIMUM_PAIRS` on.
    """
    n = len(values)
    if n == 0:
        return Estimate(None, None, None, 0)
    if min(values) <= 0:
        raise ValueError(f"a geometric mean needs values above 0, got {min(values)}")
    logs = np.log(np.asarray(values, dtype=np.float64))
    mean = float(logs.mean())
    if n < MINIMUM_PAIRS:
        return Estimate(float(np.exp(mean)), None, None, n)
    half = float(stats.t.ppf((1 + confidence) / 2, n - 1) * logs.std(ddof=1) / np.sqrt(n))
    return Estimate(float(np.exp(mean)), float(np.exp(mean - half)), float(np.exp(mean + half)), n)


def paired_ratios(numerator: Mapping[int, float], denominator: Mapping[int, float]) -> dict[int, float]:
    """Ratio by block, of the blocks that both have."""
    return {block: numerator[block] / denominator[block] for block in sorted(numerator.keys() & denominator.keys())}
