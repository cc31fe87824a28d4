"""Ratios at several sizes of the data, as a run's manifest keeps them, and whether a line through them may be trusted."""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Final

import numpy as np

from tierwise.analysis.statistics import Estimate, enough, geometric_estimate
from tierwise.report.run import Run
from tierwise.timings.replicates import replicates_of

BySize = Mapping[float, Mapping[int, float]]  # size (rows, or what grows with them) -> replicate or seed -> value above 0


@dataclass(frozen=True, slots=True)
class Extrapolated:
    """The value at the published size; at the largest size, what the smaller ones predict, and that over what was found there."""

    value: Estimate
    predicted: Estimate
    miss: Estimate


def extrapolate(found: BySize, size: float) -> Extrapolated:
    """Carry the values of three sizes or more on to `size`, for the replicates that all sizes have."""
    if len(found) < 3:
        raise ValueError(f"a line through two sizes has no miss: three or more are needed, got {sorted(found)}")
    *smaller, largest = sorted(found)
    replicates = sorted(set.intersection(*(set(values) for values in found.values())))

    def at(sizes: list[float], replicate: int, size: float) -> float:
        slope, intercept = np.polyfit(np.log(sizes), np.log([found[one][replicate] for one in sizes]), 1)
        return float(np.exp(intercept + slope * np.log(size)))

    predicted = {replicate: at(smaller, replicate, largest) for replicate in replicates}
    return Extrapolated(
        value=geometric_estimate({replicate: at([*smaller, largest], replicate, size) for replicate in replicates}),
        predicted=geometric_estimate(predicted),
        miss=geometric_estimate({replicate: predicted[replicate] / found[largest][replicate] for replicate in replicates}),
    )


BY_SCALE: Final = "by_scale"  # the fact of a study that has an entry for each size
TENTH: Final = (0.9, 1.1)  # bounds within which the interval of a miss lies where a line holds (assumed)


def entries_of(run: Run, study: str, pair: str, values: str) -> list[dict[str, Any]]:
    """Return what the manifest keeps of `study` at each size, with `values` by repeat; empty where a size has too few repeats."""
    record = run.record(study, pair)
    known: list[dict[str, Any]] = (record.facts.get(BY_SCALE) or []) if record else []
    return known if all(enough(len(repeats)) for one in known for repeats in one[values].values()) else []


def ratios(entries: list[dict[str, Any]], values: str, size: str, *, of: str, over: str) -> BySize:
    """Return the values of the case `of` over those of `over` at each size, by repeat; sizes that differ by repeat are averaged."""
    return {
        fmean(one[size]) if isinstance(one[size], list) else float(one[size]): {
            repeat: value / base
            for repeat, value, base in zip(replicates_of(one, len(one[values][of])), one[values][of], one[values][over], strict=True)
        }
        for one in entries
    }


def holds(miss: Estimate) -> bool:
    """Return whether the smaller sizes are seen to predict the largest within a tenth: the whole interval of the miss lies there."""
    low, high = TENTH
    return miss.low is not None and miss.high is not None and low <= miss.low and miss.high <= high
