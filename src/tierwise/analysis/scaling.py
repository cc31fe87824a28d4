"""What is measured at several sizes, carried on to the published one.

The line is straight through the logs of value and size, with a slope and an intercept for each replicate or seed. The form is fixed; its
miss is given at the largest size, predicted from the smaller ones.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tierwise.analysis.statistics import Estimate, geometric_estimate

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
