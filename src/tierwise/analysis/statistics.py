"""The one estimator of this study, geometric mean and t interval on the logs, and the one rule for when there is an answer at all.

Below `MINIMUM_REPEATS` clean repeats nothing is estimated: neither a value nor an interval. Sentences, tables and figures all go through
this module: by `geometric_estimate`, by `estimable` for the rows of a chart, and by the macro ``enough`` (`MACRO`) in SQL.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from scipy.special import stdtrit

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

    @property
    def interval(self) -> tuple[float, float] | None:
        """Return (low, high), or `None` where there is no interval."""
        return None if self.low is None or self.high is None else (self.low, self.high)


def enough(repeats: int) -> bool:
    """Return whether so many clean repeats (of blocks, or of seeds) give an answer."""
    return repeats >= MINIMUM_REPEATS


def estimable(rows: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Return the rows of those groups by `keys` that have `enough`: one row a repeat, and none of a rejected one."""
    return rows.filter(pl.len().over(list(keys)) >= MINIMUM_REPEATS) if rows.height else rows


def geometric_estimate(values: Sequence[float], *, confidence: float = CONFIDENCE) -> Estimate:
    """Estimate exp(mean of logs) of positive `values` (one a block: a ratio of two times of it, or an absolute value), in their unit.

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
    return Estimate(float(np.exp(mean)), float(np.exp(mean - half)), float(np.exp(mean + half)), n)


def paired_ratios(numerator: Mapping[int, float], denominator: Mapping[int, float]) -> dict[int, float]:
    """Return the ratio of the two by block, of the blocks that both have."""
    return {block: numerator[block] / denominator[block] for block in sorted(numerator.keys() & denominator.keys())}
