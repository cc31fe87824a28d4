"""The one estimator of this study, geometric mean and t interval on the logs, and the one rule for when there is an answer at all.

Below `MINIMUM_REPEATS` clean repeats nothing is estimated: neither a value nor an interval. Sentences, tables and figures all go through
this module: by `geometric_estimate`, by `estimable` for the rows of a chart, and by the macro ``enough`` (`MACRO`) in SQL.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from scipy.special import stdtr, stdtrit

MINIMUM_REPEATS: Final = 5
"""The least number of clean repeats that give an answer: with four, one stray value in four would decide."""
MACRO: Final = f"create temp macro enough(observed) as count(observed) >= {MINIMUM_REPEATS}"
"""``enough(x)`` in SQL: whether so many values are there, nulls not counted, that an aggregate over them may be told."""
CONFIDENCE: Final = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """A geometric mean with its confidence interval; all three are `None` below `MINIMUM_REPEATS`."""

    value: float | None
    low: float | None
    high: float | None
    repeats: int
    freedom: float = 0.0
    """Degrees of freedom of the Student's t that the interval is made of."""

    @property
    def flat(self) -> bool:
        """Whether the interval has no width: the repeats are one value, which says nothing of how much another repeat would differ."""
        return self.low is not None and self.high is not None and math.isclose(self.low, self.high, rel_tol=1e-9)

    def p_value(self, limit: float) -> float | None:
        """Return the two-sided p-value of `limit` being the true value: below 1 - `CONFIDENCE` where the interval does not hold it.

        `None` where there is no interval, or one without a width.
        """
        if self.value is None or self.low is None or self.high is None or self.flat:
            return None
        error = math.log(self.high / self.low) / 2 / float(stdtrit(self.freedom, (1 + CONFIDENCE) / 2))
        return float(2 * stdtr(self.freedom, -abs(math.log(self.value / limit)) / error))

    @property
    def interval(self) -> tuple[float, float] | None:
        """(low, high), or `None` where there is no interval."""
        return None if self.low is None or self.high is None else (self.low, self.high)


def enough(repeats: int) -> bool:
    """Return whether so many clean repeats (of blocks, or of seeds) give an answer."""
    return repeats >= MINIMUM_REPEATS


def estimable(rows: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Return the rows of those groups by `keys` that have `enough`: one row a repeat, and none of a rejected one."""
    return rows.filter(pl.len().over(list(keys)) >= MINIMUM_REPEATS) if rows.height else rows


def geometric_estimate(values: Sequence[float], *, confidence: float = CONFIDENCE) -> Estimate:
    """exp(mean of logs) of positive `values` (one a block: a ratio of two times of it, or an absolute value), in their unit.

    The interval is exp(mean -+ t * s / sqrt(n)) with Student's t at n - 1 degrees of freedom. From fewer than `MINIMUM_REPEATS` there is
    neither.
    """
    n = len(values)
    if n and min(values) <= 0:
        raise ValueError(f"a geometric mean needs values above 0, got {min(values)}")
    if not enough(n):
        return Estimate(None, None, None, n)
    logs = np.log(np.asarray(values, dtype=np.float64))
    mean = float(logs.mean())
    half = float(stdtrit(n - 1, (1 + confidence) / 2) * logs.std(ddof=1) / np.sqrt(n))
    return Estimate(float(np.exp(mean)), float(np.exp(mean - half)), float(np.exp(mean + half)), n, n - 1)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p-values of several tests after Holm's step-down correction (Holm 1979), in the same order.

    Held against 1 - `CONFIDENCE`, the probability that any true hypothesis among them is rejected is at most that, however they depend on
    each other.
    """
    order = np.argsort(p_values)
    stepped = np.maximum.accumulate(np.asarray(p_values)[order] * np.arange(len(p_values), 0, -1))
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(stepped, 1.0)
    return [float(p_value) for p_value in adjusted]


def paired_ratios(numerator: Mapping[int, float], denominator: Mapping[int, float]) -> dict[int, float]:
    """Ratio by block, of the blocks that both have."""
    return {block: numerator[block] / denominator[block] for block in sorted(numerator.keys() & denominator.keys())}
