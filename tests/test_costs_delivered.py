"""What a load costs with memory and machines, what doing without flash costs, and how far a price may move."""

import datetime as dt
from dataclasses import replace

import pytest

from prices import book, price
from tierwise.core.errors import MissingError
from tierwise.core.units import GIB
from tierwise.core.vocabulary import Evidence
from tierwise.costs.bill import Bill, limits, rank, ratio_over_band
from tierwise.costs.delivered import Load, Plan, newest_server, plan_on, plans, published_load, without_flash
from tierwise.costs.hardware import load_hardware
from tierwise.costs.iops import Iops

NOW = book(
    price("hdd-3tb-7k2", 135),
    price("ssd-m4-128gb", 250),
    price("ram", 8, "GiB"),
    price("server-poweredge-2950", 2456, date="2010-06"),
    price("server-microserver", 325, date="2011"),
    price("server-microserver-gen8", 450),
    price("server-microserver-gen11", 2500, date="2027"),
    price("electricity", 0.1, "kWh"),
    price("aws-gp3-size", 0.08, "GiB-month"),
    price("aws-gp3-iops", 0.005, "IOPS-month"),
    price("aws-m7i-xlarge", 0.2, "hour"),
)
RATES = {name: Iops(value, Evidence.SIMULATED) for name, value in (("crucial-m4", 40_000.0), ("st3000dm001", 200.0))}


PUBLISHED = published_load().load


def served(load: Load, name: str) -> Plan:
    return next(plan for plan in plans(load, NOW, RATES) if plan.name == name)


def test_disks_are_bought_for_their_iops_and_need_machines_to_hold_them() -> None:
    load = Load(data_bytes=32 * GIB, ram_bytes=16 * GIB, reads_per_s=10_000, misses_per_read=0.1)
    disks = served(load, "st3000dm001")
    assert (disks.devices, disks.machines) == (5, 2)  # 1,000 misses a second of 200 each, four to a machine
    assert served(load, "crucial-m4").devices == 1


def test_all_in_memory_needs_memory_for_the_data_and_machines_for_the_memory() -> None:
    memory = served(replace(PUBLISHED, data_bytes=90 * GIB), "st3000dm001, all in memory")
    assert memory.ram_bytes == pytest.approx(100 * GIB)  # nine tenths of a machine's memory cache pages
    assert (memory.devices, memory.machines) == (1, 7)  # 16 GiB a machine


def test_a_bill_names_machine_memory_power_and_device() -> None:
    assert set(served(PUBLISHED, "crucial-m4").bill.a_year) == {"ssd-m4-128gb", "server-microserver-gen8", "ram", "electricity"}


def test_volumes_are_provisioned_for_the_load_and_attach_to_rented_machines() -> None:
    load = Load(data_bytes=100 * GIB, ram_bytes=32 * GIB, reads_per_s=10_000, misses_per_read=0.5)
    (plan,) = plans(load, NOW, {"aws-gp3": Iops(3000, Evidence.SIMULATED)})
    assert (plan.devices, plan.machines) == (2, 2)  # a volume hangs on one machine, and each includes 3,000 IOPS
    assert plan.bill.cost(NOW) == pytest.approx(12 * 100 * 0.08 + 2 * 0.2 * 8760)


def test_source_r_flash_replaces_memory_and_not_disks_at_the_prices_of_its_time() -> None:
    found = without_flash(plans(PUBLISHED, NOW, RATES))
    assert found is not None
    assert found.cost(NOW) > 0
    assert found.replaces_memory(NOW)
    assert rank(found.bills, NOW) == ["crucial-m4", "st3000dm001, all in memory", "st3000dm001"]


def test_a_server_must_have_a_price_by_then() -> None:
    assert newest_server(NOW) == load_hardware().servers["microserver-gen8"]
    assert newest_server(replace(NOW, on=dt.date(2025, 1, 1))) == load_hardware().servers["microserver"]
    with pytest.raises(MissingError, match="a server with a price"):
        newest_server(replace(NOW, on=dt.date(2010, 1, 1)))


LARGE = Load(200 * GIB, 16 * GIB, 1e5, 0.2)


def test_what_a_server_holds_changes_the_number_of_machines_and_nothing_else() -> None:
    memory = next(plan for plan in plans(LARGE, NOW, RATES) if plan.in_ram)
    own = newest_server(NOW)
    roomy = plan_on(memory.device, LARGE, NOW, memory.iops, server=own.able_to_hold(ram_gib=512), in_ram=True)
    assert (memory.machines, roomy.machines) == (14, 1), "200 / 0.9 GiB in pieces of 16"
    assert memory.bill.a_year["server-microserver-gen8"] == pytest.approx(14 * roomy.bill.a_year["server-microserver-gen8"])
    assert memory.bill.a_year["ram"] == roomy.bill.a_year["ram"]
    assert own.able_to_hold(bays=12).enough(drives=25) == 3
    assert own.enough(drives=0) == 1, "somebody asks for the data"


TWO = book(price("a", 2), price("b", 3), price("both", 1))
BILLS = {"first": Bill({"a": 10, "both": 5}), "second": Bill({"b": 10, "both": 1})}  # 25 against 31


def test_a_price_may_move_exactly_until_the_ranking_turns() -> None:
    found = {limit.item: limit for limit in limits(BILLS, TWO)}
    assert found["a"].first_above == pytest.approx(2.6)
    assert found["a"].first_below is None
    assert found["b"].first_below == pytest.approx(2.4)
    assert found["both"].first_above == pytest.approx(2.5)
    assert found["a"].then_above == "second"


@pytest.mark.parametrize(("item", "edge"), [("a", 2.6), ("b", 2.4), ("both", 2.5)])
def test_at_the_limit_both_cost_the_same_and_beyond_it_the_other_is_first(item: str, edge: float) -> None:
    at = TWO.with_price(item, edge)
    assert BILLS["first"].cost(at) == pytest.approx(BILLS["second"].cost(at))
    step = 0.01 if edge > TWO.quote(item).each else -0.01
    assert rank(BILLS, TWO.with_price(item, edge - step))[0] == "first"
    assert rank(BILLS, TWO.with_price(item, edge + step))[0] == "second"


def test_a_ratio_over_the_band_is_that_of_its_worst_corners() -> None:
    banded = book(price("a", 2), price("a", 4, date="2025-09"), price("b", 3), price("b", 1, date="2025-09"), price("both", 9))
    banded = banded.with_price("both", 1)
    assert ratio_over_band(BILLS["second"], BILLS["first"], banded) == pytest.approx((11 / 45, 31 / 25))
