"""Geometric mean and t interval on the logs."""

import math

import duckdb
import numpy as np
import polars as pl
import pytest

from tierwise.analysis.statistics import MACRO, MINIMUM_REPEATS, enough, estimable, geometric_estimate, paired_ratios


def test_an_example_by_hand() -> None:
    # logs: -0.22314, -0.10536, 0, 0.09531, 0.22314; mean -0.00201; s = 0.17303; t(0.975, 4) = 2.77645
    estimate = geometric_estimate([0.8, 0.9, 1.0, 1.1, 1.25])
    assert estimate.value == pytest.approx(0.997992, abs=1e-5)
    assert estimate.interval == pytest.approx((0.805052, 1.237173), abs=1e-4)
    assert estimate.repeats == 5


def test_equal_values_have_an_interval_of_no_width() -> None:
    assert geometric_estimate([2.0] * 5).interval == pytest.approx((2.0, 2.0))


def test_the_unit_scales_and_the_reciprocal_mirrors() -> None:
    values = [1.0, 2.0, 3.0, 5.0, 8.0]
    low, high = geometric_estimate(values).interval or (math.nan, math.nan)
    assert geometric_estimate([1000 * value for value in values]).interval == pytest.approx((1000 * low, 1000 * high))
    assert geometric_estimate([1 / value for value in values]).interval == pytest.approx((1 / high, 1 / low))


@pytest.mark.parametrize("repeats", range(1, MINIMUM_REPEATS))
def test_fewer_than_five_pairs_give_no_answer_at_all(repeats: int) -> None:
    estimate = geometric_estimate([0.5] * repeats)
    assert (estimate.value, estimate.interval, estimate.repeats) == (None, None, repeats)
    assert not enough(repeats)


def test_sentences_charts_and_sql_go_by_one_rule() -> None:
    rows = pl.DataFrame({"of": ["few"] * 4 + ["enough"] * 5, "value": [1.0] * 9})
    assert set(estimable(rows, ["of"])["of"]) == {"enough"}
    connection = duckdb.connect()
    connection.execute(MACRO)
    requested = "select x, if(enough(y), median(y), null) from (values ('few', [1, 1, 1, 1, null]), ('enough', [1, 1, 1, 1, 1])) v(x, l)"
    found = dict(connection.execute(f"{requested}, unnest(l) as u(y) group by x").fetchall())
    assert found == {"few": None, "enough": 1.0}
    connection.close()


def test_no_pairs_give_nothing() -> None:
    estimate = geometric_estimate([])
    assert (estimate.value, estimate.interval, estimate.repeats) == (None, None, 0)


@pytest.mark.parametrize("value", [0.0, -1.0])
def test_a_geometric_mean_needs_positive_values(value: float) -> None:
    with pytest.raises(ValueError, match="above 0"):
        geometric_estimate([1.0, 2.0, 3.0, 4.0, value])


@pytest.mark.parametrize("repeats", [5, 12])
def test_the_interval_covers_the_truth_as_often_as_it_says(repeats: int) -> None:
    draws = np.random.default_rng(5).lognormal(math.log(0.07), 0.4, size=(2000, repeats))
    intervals = [geometric_estimate(draw.tolist()).interval or (math.nan, math.nan) for draw in draws]
    covered = sum(low <= 0.07 <= high for low, high in intervals) / len(intervals)
    assert covered == pytest.approx(0.95, abs=0.015)  # three standard errors of a share of 2000


def test_ratios_are_paired_within_replicates() -> None:
    assert paired_ratios({1: 6.0, 2: 8.0, 4: 1.0}, {0: 9.0, 1: 3.0, 2: 2.0}) == {1: 2.0, 2: 4.0}
