"""The placement problem alone: the solver's answer is exactly that of looking at every placement."""

import random
from dataclasses import replace

import pytest

from tierwise.advisor.placing import EXHAUSTIVE_RELATIONS, Problem, every, exhaustive
from tierwise.advisor.solving import solve
from tierwise.core.errors import InputError
from tierwise.core.units import GIB, PAGE_BYTES
from tierwise.core.vocabulary import Goal

GOALS = pytest.mark.parametrize("goal", list(Goal))


def problem(seed: int, *, relations: int | None = None) -> Problem:
    """Random sizes, times, space, prices, pace and budget; sometimes nothing is within the limits."""
    draw = random.Random(seed)
    names = [f"r{number}" for number in range(relations or draw.randint(1, 8))]
    sizes = {name: draw.choice([0, draw.randint(1, 100) * PAGE_BYTES, draw.randint(1, GIB)]) for name in names}
    return Problem(
        sizes_bytes=sizes,
        service_s={name: {"hdd": draw.uniform(0, 10), "ssd": draw.uniform(0, 2)} for name in names},
        capacity_bytes={"ssd": draw.randint(0, 1 + 2 * sum(sizes.values()) // 2)},
        devices_bytes={"hdd": 10**12, "ssd": 10**11},
        prices={"hdd": draw.uniform(1, 100), "ssd": draw.uniform(1, 500)},
        jobs_per_s=draw.choice([0.0, 1e-4, 1e-2, 1.0]),
        budget=draw.choice([None, draw.uniform(0.01, 2), draw.uniform(0.1, 200)]),
    )


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


@GOALS
@pytest.mark.parametrize("seed", range(25))
def test_the_solver_finds_what_looking_at_every_placement_finds(seed: int, goal: Goal) -> None:
    requested = problem(seed)
    best = exhaustive(requested, goal)
    if best is None:
        with pytest.raises(InputError):
            solve(requested, goal)
        return
    found = solve(requested, goal)
    assert requested.feasible(found)
    assert requested.objective(found, goal) == pytest.approx(requested.objective(best, goal), rel=1e-9)
    assert requested.used_bytes(found, "ssd") == requested.used_bytes(best, "ssd")


def test_twelve_relations_are_still_searched_and_thirteen_are_not() -> None:
    requested = replace(problem(7, relations=EXHAUSTIVE_RELATIONS), budget=None)
    best = exhaustive(requested, Goal.QUICKEST)
    assert best is not None
    assert requested.time_s(solve(requested, Goal.QUICKEST)) == pytest.approx(requested.time_s(best), rel=1e-9)
    assert exhaustive(problem(7, relations=EXHAUSTIVE_RELATIONS + 1), Goal.QUICKEST) is None


def test_the_solver_answers_for_a_hundred_relations() -> None:
    requested = replace(problem(11, relations=100), budget=None)
    found = solve(requested, Goal.QUICKEST)
    assert requested.fits(found)
    worth = {name: times["hdd"] - times["ssd"] for name, times in requested.service_s.items()}
    left_out = [name for name in requested.relations if found[name] == "hdd" and worth[name] > 0]
    space = requested.capacity_bytes["ssd"] - requested.used_bytes(found, "ssd")
    assert all(requested.sizes_bytes[name] > space for name in left_out), "what would still fit and save time is not left out"


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
