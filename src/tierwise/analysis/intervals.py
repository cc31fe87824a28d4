"""What both numbers and texts ask of an interval; light, because `tierwise` alone reads texts."""

import math


def without_width(low: float | None, high: float | None) -> bool:
    """Return whether the ends of an interval are one value, but for rounding."""
    return low is not None and high is not None and math.isclose(low, high, rel_tol=1e-9)
