"""The placement problem alone: the best of all placements within the limits."""

from dataclasses import replace

import pytest

from tierwise.advisor.placing import MOST_RELATIONS, Problem, every, solve
from tierwise.core.errors import InputError
from tierwise.core.vocabulary import Goal


def alike(size_bytes: int, *, relations: int = 4, space: int = 2) -> Problem:
    """Equal relations, of which `space` fit the SSD."""
    names = [f"r{number}" for number in range(relations)]
    return Problem(
        sizes_bytes=dict.fromkeys(names, size_bytes),
        service_s={name: {"hdd": 1.0, "ssd": 0.1} for name in names},
        capacity_bytes={"ssd": space * size_bytes},
        devices_bytes={"hdd": 10**13, "ssd": 10**12},
        prices={},
    )


def test_of_the_placements_within_the_limits_none_is_better_than_the_answer() -> None:
    requested = replace(alike(10, relations=6, space=3), service_s={f"r{n}": {"hdd": 1.0 + n, "ssd": 1.0} for n in range(6)})
    assert solve(requested, Goal.QUICKEST) == {f"r{n}": "ssd" if n > 2 else "hdd" for n in range(6)}


def test_twelve_relations_are_searched_and_thirteen_are_refused() -> None:
    assert len(solve(alike(10, relations=MOST_RELATIONS), Goal.QUICKEST)) == MOST_RELATIONS
    with pytest.raises(InputError, match="must be at most 12"):
        solve(alike(10, relations=MOST_RELATIONS + 1), Goal.QUICKEST)


def test_of_equally_quick_placements_the_one_with_the_fewest_bytes_on_ssd_is_taken() -> None:
    requested = Problem(
        sizes_bytes={"large": 50, "small": 10, "idle": 10},
        service_s={"large": {"hdd": 1.0, "ssd": 0.5}, "small": {"hdd": 1.0, "ssd": 0.5}, "idle": {"hdd": 0.0, "ssd": 0.0}},
        capacity_bytes={"ssd": 50},
        devices_bytes={"hdd": 1000, "ssd": 1000},
        prices={},
    )
    assert solve(requested, Goal.QUICKEST) == {"large": "hdd", "small": "ssd", "idle": "hdd"}


def test_times_of_nanoseconds_and_of_hours_are_reported_apart() -> None:
    """An absolute gap would call these equal."""
    tiny = Problem(
        sizes_bytes={"a": 10, "b": 10},
        service_s={"a": {"hdd": 3e-9, "ssd": 1e-9}, "b": {"hdd": 3.1e-9, "ssd": 1e-9}},
        capacity_bytes={"ssd": 10},
        devices_bytes={"hdd": 100, "ssd": 100},
        prices={},
    )
    assert solve(tiny, Goal.QUICKEST) == {"a": "hdd", "b": "ssd"}
    huge = replace(tiny, service_s={name: {tier: 1e15 * time_s for tier, time_s in at.items()} for name, at in tiny.service_s.items()})
    assert solve(huge, Goal.QUICKEST) == {"a": "hdd", "b": "ssd"}


def test_a_busy_relation_belongs_on_the_dear_tier_and_an_idle_one_on_the_cheap() -> None:
    requested = Problem(
        sizes_bytes={"busy": 10, "idle": 10},
        service_s={"busy": {"hdd": 1.0, "ssd": 0.01}, "idle": {"hdd": 0.0, "ssd": 0.0}},
        capacity_bytes={},
        devices_bytes={"hdd": 1000, "ssd": 100},
        prices={"hdd": 100.0, "ssd": 100.0},
        jobs_per_s=0.9,
    )
    found = solve(requested, Goal.CHEAPEST)
    assert found == {"busy": "ssd", "idle": "hdd"}
    assert requested.devices(found) == pytest.approx({"hdd": 0.01, "ssd": 0.1})
    assert requested.cost_a_month(found) == pytest.approx(11.0)


def test_a_budget_keeps_what_would_be_quicker_off_the_ssd() -> None:
    free = replace(alike(10**9, space=4), prices={"hdd": 10.0, "ssd": 1000.0})
    costs = sorted({free.cost_a_month(placement) or 0.0 for placement in every(free)})
    for number, cost in enumerate(costs):
        found = solve(replace(free, budget=cost), Goal.QUICKEST)
        assert sum(tier == "ssd" for tier in found.values()) == number, "each step of the budget pays for one more"


def test_relations_that_fit_nowhere_are_reported() -> None:
    requested = replace(alike(100), capacity_bytes={"hdd": 100, "ssd": 100})
    with pytest.raises(InputError, match="the tables and indexes take 400 bytes and do not fit"):
        solve(requested, Goal.QUICKEST)
