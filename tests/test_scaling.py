"""What is measured at several sizes, carried on to the published one by a line through the logs."""

import numpy as np
import pytest

from tierwise.report.sizes_of_data import extrapolate

SIZES = (1e4, 1e5, 1e6)


def test_a_power_of_the_size_is_carried_on_without_a_miss() -> None:
    found = {size: {replicate: (1 + replicate) * size**0.8 for replicate in range(5)} for size in SIZES}
    reported = extrapolate(found, 1e9)
    assert reported.value.value == pytest.approx(120 ** (1 / 5) * 1e9**0.8)
    assert reported.miss.value == pytest.approx(1.0)


def test_what_bends_shows_in_the_miss() -> None:
    """A time with a part that does not grow: the line through the small sizes predicts too little at the largest."""
    found = {size: dict.fromkeys(range(5), 1 + size * 1e-05) for size in SIZES}
    reported = extrapolate(found, 1e7)
    assert reported.miss.value is not None
    assert reported.miss.value < 0.5
    straight = {size: dict.fromkeys(range(5), size * 1e-05) for size in SIZES}
    assert extrapolate(straight, 1e7).miss.value == pytest.approx(1.0)


def test_the_interval_covers_the_truth_where_the_form_is_right() -> None:
    draw = np.random.default_rng(21)
    covered = 0
    for _ in range(400):
        found = {size: {replicate: size**0.5 * float(np.exp(draw.normal(0.0, 0.05))) for replicate in range(5)} for size in SIZES}
        low, high = extrapolate(found, 1e8).value.interval or (0.0, 0.0)
        covered += low <= 1e4 <= high
    assert covered / 400 >= 0.92
