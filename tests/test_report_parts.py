"""What charts share: an axis on which everything has its place."""

import polars as pl
import pytest

from tierwise.analysis.statistics import geometric_estimate
from tierwise.report.figures import parts

SCATTERED = (0.05, 1.2, 0.7, 2.0, 0.9)  # one window of five that a checkpoint struck: its interval goes far below what the others show


def rows(*ratios: float) -> pl.DataFrame:
    return pl.DataFrame([{"placement": "ssd", "replicate": replicate, "ratio": ratio} for replicate, ratio in enumerate(ratios)])


@pytest.mark.parametrize("ratios", [SCATTERED, (9.0, 9.1, 9.2, 9.0, 9.1), (1.0, 1.01, 0.99, 1.0, 1.02)])
def test_every_ratio_and_its_interval_lie_within_the_axis(ratios: tuple[float, ...]) -> None:
    low, high = parts.ratio_range(rows(*ratios), ["placement"], low=0.8, high=1.6, headroom=1.2)
    interval = geometric_estimate(dict(enumerate(ratios))).interval
    assert interval is not None
    assert low < min(*ratios, *interval)
    assert high >= 1.2 * max(*ratios, *interval)
    assert low <= 0.8
    assert high >= 1.6
