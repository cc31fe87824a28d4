"""How long the arm takes: seek curves over the distance in cylinders."""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence

from tierwise.devices.spec import HddSpec

SeekCurve = Callable[[float], float]  # cylinders (a positive distance) -> seconds


def datasheet_curve(spec: HddSpec, cylinders: float) -> SeekCurve:
    """Lay ``a + b sqrt(x) + c x`` through the data sheet's three times, x the share of the `cylinders`; the settling time is on top."""
    fixed_s, root_s, linear_s = spec.curve_s
    fixed_s += spec.settle.base

    def seek_s(distance: float) -> float:
        share = distance / cylinders if distance < cylinders else 1.0
        return fixed_s + root_s * math.sqrt(share) + linear_s * share

    return seek_s


def measured_curve(points: Sequence[tuple[float, float]]) -> SeekCurve:
    """Lay a curve through (cylinders, seconds), rising distances, straight between them; the last slope goes on beyond, if it rises."""
    distances, times_s = [distance for distance, _ in points], [time_s for _, time_s in points]
    last = len(points) - 1

    def seek_s(distance: float) -> float:
        after = min(bisect_left(distances, distance), last)
        if after == 0 or distances[after] == distance:
            return times_s[after]
        slope = (times_s[after] - times_s[after - 1]) / (distances[after] - distances[after - 1])
        if distance > distances[after]:
            return times_s[after] + max(0.0, slope) * (distance - distances[after])
        return times_s[after - 1] + slope * (distance - distances[after - 1])

    return seek_s
