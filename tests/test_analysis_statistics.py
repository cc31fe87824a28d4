"""Geometric means and their intervals: by pairs, over machines, and carried on to the published size."""

import math
import random
from collections.abc import Sequence

import duckdb
import numpy as np
import polars as pl
import pytest

from tierwise.analysis.quality import machine_effects
from tierwise.analysis.statistics import MACRO, MINIMUM_REPEATS, enough, estimable, geometric_estimate, paired_ratios
from tierwise.core.host import fingerprint
from tierwise.report.sizes_of_data import extrapolate
from tierwise.timings.manifest import UsedAttempt


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


@pytest.mark.parametrize("repeats", range(MINIMUM_REPEATS))
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


NAMES = ("a", "b", "c")


def attempts(machines: Sequence[str], replicates: int) -> list[UsedAttempt]:
    host = fingerprint()
    return [
        UsedAttempt(study="s", replicate=number, attempt=str(number), machine=machines[number % len(machines)], host=host, prices="")
        for number in range(replicates)
    ]


def store(used: Sequence[UsedAttempt], slow: float) -> duckdb.DuckDBPyConnection:
    draw, connection = random.Random(1), duckdb.connect()
    connection.execute("create table timings (study text, pair text, io_mode text, trial text, step int, replicate int)")
    connection.execute("alter table timings add column elapsed_s double; alter table timings add column flags text[]")
    connection.execute("alter table timings add column evidence text")
    for one in used:
        for trial, base_s in (("x", 1.0), ("y", 50.0)):
            elapsed_s = base_s * draw.lognormvariate(0.0, 0.01) * (slow if one.machine == "c" else 1.0)
            row = ["s", "p", "direct", trial, 0, one.replicate, elapsed_s, [], "emulated"]
            connection.execute("insert into timings values (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    return connection


@pytest.mark.parametrize(("slow", "differing"), [(1.0, set[str]()), (1.2, {"c"})])
def test_a_machine_that_differs_is_named_with_its_factor(slow: float, differing: set[str]) -> None:
    used = attempts(NAMES, 30)
    found = {one.machine: one for one in machine_effects(store(used, slow), used)}
    assert [one.replicates for one in found.values()] == [10, 10, 10]
    assert {name for name, one in found.items() if one.differs and (one.factor or 0) > 1} == differing
    assert (found["c"].low or 0) < slow < (found["c"].high or 0)


def test_one_machine_has_no_effect_and_few_replicates_have_no_factor() -> None:
    used = attempts(("a",), 10)
    assert machine_effects(store(used, 1.0), used) == []
    used = attempts(NAMES, 6)
    assert [one.factor for one in machine_effects(store(used, 1.0), used)] == [None] * 3


def test_intervals_cover_the_variation_between_three_machines_or_more() -> None:
    draw = random.Random(2)
    shift = {name: draw.gauss(0.0, 0.1) for name in NAMES}
    machines = {number: NAMES[number % 3] for number in range(9)}
    values = {number: draw.lognormvariate(shift[name], 0.01) for number, name in machines.items()}
    alone, by_machine = geometric_estimate(values), geometric_estimate(values, machines=machines)
    assert by_machine.value == alone.value
    assert by_machine.freedom == 2
    assert (by_machine.high or 0) > (alone.high or 0) > (by_machine.value or 0)
    two = geometric_estimate(values, machines={number: "ab"[number % 2] for number in range(9)})
    assert two == alone


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
