"""What is measured at several sizes, carried on to the published one: a straight line through the logs of value and size, a slope and an
intercept for each block or seed. The form is fixed; its miss is told at the largest size, predicted from the smaller ones.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tierwise.analysis.statistics import Estimate, geometric_estimate

BySize = Mapping[float, Mapping[int, float]]
"""Size (rows, or what grows with them) -> block or seed -> value above 0."""


@dataclass(frozen=True, slots=True)
class Extrapolated:
    """The value at the published size; at the largest size, what the smaller ones predict, and that over what was found there."""

    value: Estimate
    predicted: Estimate
    miss: Estimate


def extrapolate(found: BySize, size: float) -> Extrapolated:
    """Carry the values of three sizes or more on to `size`; of blocks that all sizes have.

    Raises:
        ValueError: there are fewer than three sizes, of which two make a line and the third shows its miss.
    """
    if len(found) < 3:
        raise ValueError(f"a line through two sizes has no miss: three or more are needed, got {sorted(found)}")
    *smaller, largest = sorted(found)
    blocks = sorted(set.intersection(*(set(values) for values in found.values())))

    def at(sizes: list[float], block: int, size: float) -> float:
        slope, intercept = np.polyfit(np.log(sizes), np.log([found[one][block] for one in sizes]), 1)
        return float(np.exp(intercept + slope * np.log(size)))

    predicted = {block: at(smaller, block, largest) for block in blocks}
    return Extrapolated(
        value=geometric_estimate({block: at([*smaller, largest], block, size) for block in blocks}),
        predicted=geometric_estimate(predicted),
        miss=geometric_estimate({block: predicted[block] / found[largest][block] for block in blocks}),
    )
