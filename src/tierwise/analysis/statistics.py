"""The one estimator of this study, geometric mean and t interval on the logs, and the one rule for when there is an answer at all.

What an interval speaks of depends on how many runs are behind it (`Scope`). With one run or two it is their mean over draws of their
replicates. Three runs or more are a sample, and it speaks of runs in general.

Below `MINIMUM_REPEATS` clean repeats nothing is estimated: neither a value nor an interval. Sentences, tables and figures all go through
this module: by `geometric_estimate`, by `estimable` for the rows of a chart, and by the macro ``enough`` (`MACRO`) in SQL.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import polars as pl
import scipy

from tierwise.analysis.intervals import without_width
from tierwise.timings.replicates import run_number

MINIMUM_REPEATS: Final = 5  # the least number of clean repeats that give an answer: with four, one stray value in four would decide
MACRO: Final = f"create temp macro enough(observed) as count(observed) >= {MINIMUM_REPEATS}"
"""``enough(x)`` in SQL: whether x has enough values, nulls not counted, to show an aggregate over them."""
CONFIDENCE: Final = 0.95
RANDOM_FROM: Final = 3  # the least number of runs, or of machines, that are taken as a sample: two tell too little of how they differ
ONE_MACHINE: Final[Mapping[int, str]] = MappingProxyType({})


class Scope(StrEnum):
    """What an interval speaks of."""

    THIS_RUN = "this run only"
    THESE_RUNS = "these runs only"
    RUNS = "runs in general"


@dataclass(frozen=True, slots=True)
class Estimate:
    """A geometric mean with its confidence interval; all three are `None` below `MINIMUM_REPEATS`. `runs`: how many are behind it."""

    value: float | None
    low: float | None
    high: float | None
    repeats: int
    runs: int = 1
    freedom: float = 0.0  # degrees of freedom of the Student's t that the interval is made of

    @property
    def flat(self) -> bool:
        """Return whether the interval has no width: the repeats are one value, which tells nothing of another repeat."""
        return without_width(self.low, self.high)

    def p_value(self, limit: float) -> float | None:
        """Return the two-sided p-value of `limit` being the true value; `None` without an interval, or with one that has no width."""
        if self.value is None or self.low is None or self.high is None or self.flat:
            return None
        error = math.log(self.high / self.low) / 2 / t_of(self.freedom)
        return float(2 * scipy.special.stdtr(self.freedom, -abs(math.log(self.value / limit)) / error))

    @property
    def fields(self) -> dict[str, Any]:
        """Return the estimate as verdicts have it."""
        return {"estimate": self.value, "low": self.low, "high": self.high, "pairs": self.repeats}

    @property
    def interval(self) -> tuple[float, float] | None:
        return None if self.low is None or self.high is None else (self.low, self.high)


def scope_of(runs: int) -> Scope:
    if runs >= RANDOM_FROM:
        return Scope.RUNS
    return Scope.THESE_RUNS if runs > 1 else Scope.THIS_RUN


def enough(repeats: int) -> bool:
    """Return whether this number of clean repeats (replicates or seeds) gives an answer."""
    return repeats >= MINIMUM_REPEATS


def estimable(rows: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Return the rows of those groups by `keys` that have `enough`: one row a repeat, and none of a rejected one."""
    return rows.filter(pl.len().over(list(keys)) >= MINIMUM_REPEATS) if rows.height else rows


def geometric_estimate(values: Mapping[int, float] | Sequence[float], *, machines: Mapping[int, str] = ONE_MACHINE) -> Estimate:
    """Return exp(mean of logs) of positive `values`, in their unit, and its interval.

    A value is a replicate's: a ratio of two times of it, or an absolute value. By replicate, those of a merged run belong to the runs that
    it is made of (`run_number`), of which each counts alike; else all are of one run. From fewer than `MINIMUM_REPEATS` nothing is
    estimated.

    Of one run and of two the interval is exp(mean -+ t * s * sqrt(sum(1 / n)) / runs), with n replicates a run. Here s is their standard
    deviation within runs, and t is Student's at the degrees of freedom of s. From `RANDOM_FROM` runs on it is that of their means,
    which holds what lies between runs as well: exp(mean -+ t * s / sqrt(runs)) with the standard deviation s of the means.

    `machines` names the machine of each replicate. From `RANDOM_FROM` machines on, the interval is never narrower than the one that takes
    the machines as a sample: its variance is the sum of the squared sums of each machine's deviations / n^2, times m / (m - 1).
    """
    by_replicate = values if isinstance(values, Mapping) else dict(enumerate(values))
    n = len(by_replicate)
    if n and min(by_replicate.values()) <= 0:
        raise ValueError(f"a geometric mean needs values above 0, got {min(by_replicate.values())}")
    logs: dict[int, list[float]] = {}
    for replicate, value in by_replicate.items():
        logs.setdefault(run_number(replicate) if isinstance(values, Mapping) else 0, []).append(float(np.log(value)))
    runs = max(1, len(logs))
    if not enough(n):
        return Estimate(None, None, None, n, runs)
    means = np.array([np.mean(run) for run in logs.values()])
    mean = float(means.mean())
    if runs >= RANDOM_FROM:
        freedom, error = runs - 1, float(means.std(ddof=1) / np.sqrt(runs))
    else:
        freedom = n - runs
        squares = sum(float(np.var(run)) * len(run) for run in logs.values())
        error = float(np.sqrt(squares / freedom * sum(1 / len(run) for run in logs.values()))) / runs
    half = t_of(freedom) * error
    sums: dict[str, float] = {}
    for replicate, value in by_replicate.items():
        if replicate in machines:
            sums[machines[replicate]] = sums.get(machines[replicate], 0.0) + math.log(value) - mean
    between = len(sums) - 1
    if between + 1 >= RANDOM_FROM:
        shared = math.sqrt(sum(one**2 for one in sums.values()) * (between + 1) / between) / n
        if (wider := t_of(between) * shared) > half:
            half, freedom = wider, between
    return Estimate(float(np.exp(mean)), float(np.exp(mean - half)), float(np.exp(mean + half)), n, runs, freedom)


def t_of(freedom: float) -> float:
    """Return Student's t at the upper end of the interval."""
    return float(scipy.special.stdtrit(freedom, (1 + CONFIDENCE) / 2))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p-values of several tests after Holm's step-down correction (Holm 1979), in the same order."""
    order = np.argsort(p_values)
    stepped = np.maximum.accumulate(np.asarray(p_values)[order] * np.arange(len(p_values), 0, -1))
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(stepped, 1.0)
    return [float(p_value) for p_value in adjusted]


def paired_ratios(numerator: Mapping[int, float], denominator: Mapping[int, float]) -> dict[int, float]:
    return {replicate: numerator[replicate] / denominator[replicate] for replicate in sorted(numerator.keys() & denominator.keys())}
