"""How long and how expensive a run is on several machines."""

import pytest

from tierwise.bench.loop import gather_inputs
from tierwise.core.errors import InputError
from tierwise.plan.budget import fleets, machines_in, makespan, replicate_minutes
from tierwise.plan.estimate import Plan, load_recorded, plan_of


@pytest.fixture(scope="module")
def full() -> Plan:
    return plan_of(gather_inputs(profile="full", tiers="", seed=1), pace=load_recorded().pace)


def test_a_machine_that_is_free_gets_the_longest_task_that_is_left() -> None:
    assert makespan([3, 1, 2, 2], 1) == 8
    assert makespan([3, 1, 2, 2], 2) == 4
    assert makespan([3, 1, 2, 2], 10) == 3, "no sooner than the longest task"


def test_one_machine_takes_what_the_plan_says_and_more_machines_end_sooner_at_a_higher_price(full: Plan) -> None:
    one, ten, hundred = fleets(full, [1, 10, 100], price_per_hour=2.0)
    assert one.minutes == pytest.approx(full.minutes)
    assert one.price == pytest.approx(full.minutes / 60 * 2.0)
    assert one.minutes > ten.minutes > hundred.minutes
    assert (one.price or 0) < (ten.price or 0) < (hundred.price or 0)
    assert hundred.minutes == pytest.approx(max(replicate_minutes(full)) + full.report_minutes)
    assert fleets(full, [1], None)[0].price is None


@pytest.mark.parametrize("text", ["0", "x", "1,-2", "1000000", "1;2"])
def test_what_is_no_number_of_machines_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="MACHINES"):
        machines_in(text)


def test_without_machines_nothing_is_estimated(full: Plan) -> None:
    assert fleets(full, machines_in(""), 1.0) == []
