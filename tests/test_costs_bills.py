"""What a year of a device and of a load takes: purchase, power, rent, memory and machines; and how far a price may move."""

import datetime as dt
import math
from dataclasses import replace
from itertools import pairwise

import pytest

from prices import TODAY, book, price
from tierwise.core.errors import MissingError
from tierwise.core.units import GIB
from tierwise.core.vocabulary import Evidence
from tierwise.costs.bill import Bill, limits, rank, ratio_over_band
from tierwise.costs.book import load_book
from tierwise.costs.delivered import Load, Plan, newest_server, plan_on, plans, published_load, without_flash
from tierwise.costs.hardware import capacity_bytes, device_bill, load_hardware, purchase, ram_bill
from tierwise.costs.iops import Iops, device_iops, simulated_iops
from tierwise.costs.iops import _sustained as sustained
from tierwise.devices.instances import load_instances, price_item

NOW = book(
    price("ssd-m4-128gb", 100),
    price("hdd-1tb-source-h", 50, "TB"),
    price("hdd-3tb-7k2", 90),
    price("electricity", 0.10, "kWh"),
    price("ram", 8, "GiB"),
    price("aws-gp3-size", 0.08, "GiB-month"),
    price("aws-gp3-iops", 0.005, "IOPS-month"),
    price("aws-gp3-throughput", 40.96, "GiB/s-month"),
)
WATT_YEAR = 0.10 * 24 * 365.25 / 1000 * 1.5  # what a watt costs for a year at 0.10 a kWh, cooling and losses included


def test_a_bill_adds_up_and_is_linear_in_each_price() -> None:
    bill = Bill({"ssd-m4-128gb": 1}) + Bill({"ssd-m4-128gb": 2, "hdd-3tb-7k2": 1}) * 2
    assert bill.parts(NOW) == {"ssd-m4-128gb": 500, "hdd-3tb-7k2": 180}
    dearer = NOW.with_price("ssd-m4-128gb", 110)
    assert bill.cost(dearer) - bill.cost(NOW) == pytest.approx(5 * 10)


def test_a_drive_costs_its_share_of_the_purchase_and_its_power() -> None:
    assert device_bill("st3000dm001", NOW, life_years=3).cost(NOW) == pytest.approx(90 / 3 + 8 * WATT_YEAR)


def test_flash_that_is_written_a_lot_is_replaced_before_its_life_ends() -> None:
    endurance_bytes = 72e12
    idle = device_bill("crucial-m4", NOW, writes_bytes_a_year=0).a_year["ssd-m4-128gb"]
    worn = device_bill("crucial-m4", NOW, writes_bytes_a_year=endurance_bytes).a_year["ssd-m4-128gb"]
    assert [idle, worn] == pytest.approx([1 / 5, 1])


def test_a_price_per_terabyte_is_taken_for_the_decimal_size() -> None:
    bought = purchase("hdd-1tb", NOW)
    assert bought is not None
    assert bought.cost(NOW) == pytest.approx(50)


def test_an_array_is_its_drives_and_holds_what_its_level_leaves() -> None:
    assert device_bill("hdd-1tb-raid5-x7", NOW).cost(NOW) == pytest.approx(7 * device_bill("hdd-1tb", NOW).cost(NOW))
    assert capacity_bytes("hdd-1tb-raid5-x7") == pytest.approx(6e12, rel=1e-3)


def test_every_price_that_the_hardware_names_stands_in_the_projects_book() -> None:
    hardware = load_hardware()
    named = {part.price for parts in (hardware.drives, hardware.servers) for part in parts.values()}
    named |= {volume.size for volume in hardware.volumes.values() if volume.size}
    named |= {step.price for volume in hardware.volumes.values() for step in (*volume.iops, *volume.throughput_mib_s)}
    assert named <= {row.item for row in load_book(TODAY).prices}


@pytest.mark.parametrize("provider", ["aws", "azure", "gcp"])
def test_every_machine_stands_in_the_projects_book(provider: str) -> None:
    there = load_instances(provider)
    assert there is not None
    assert {price_item(provider, name) for name, one in there.instances.items() if one.usd_hour} <= {
        row.item for row in load_book(TODAY).prices
    }


def test_a_volume_whose_price_was_read_on_no_page_says_so() -> None:
    with pytest.raises(MissingError, match="price of azure-local-ssd is missing"):
        device_bill("azure-local-ssd", NOW)


def test_a_device_without_a_price_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(load_hardware().drives, "sas-10k")
    with pytest.raises(MissingError, match=r"price of sas-10k-raid10 is missing: data/costs/hardware.toml has no entry sas-10k"):
        device_bill("sas-10k-raid10", NOW)


def test_memory_is_bought_by_the_binary_gigabyte() -> None:
    assert ram_bill(16 * GIB, life_years=4).cost(NOW) == pytest.approx(16 * 8 / 4 + 16 * 0.1 * WATT_YEAR)


def test_the_volume_of_data_devices_is_billed_as_it_is_described() -> None:
    assert device_bill("aws-gp3", NOW).cost(NOW) == pytest.approx(12 * 1024 * 0.08)


@pytest.mark.parametrize(("device", "sheet"), [("kingston-dc600m", 94_000), ("intel-x25-e", 35_000), ("aws-gp3", 3000)])
def test_a_models_saturated_iops_come_to_its_data_sheets(device: str, sheet: float) -> None:
    assert simulated_iops(device) == pytest.approx(sheet, rel=0.01)
    assert device_iops(device, Evidence.PUBLISHED).value == sheet


def test_seven_disks_sustain_seven_times_the_reads_of_one_with_as_many_waiting_at_each() -> None:
    one, seven = (simulated_iops(name, latency_ms=math.inf) for name in ("hdd-1tb", "hdd-1tb-raid0"))
    assert 150 < one < 300
    assert seven == pytest.approx(7 * one, rel=0.05)


@pytest.mark.parametrize("name", ["hdd-1tb", "sas-10k-raid10", "crucial-m4", "aws-gp3"])
def test_a_rate_is_one_at_which_reads_take_no_longer_than_the_bound(name: str) -> None:
    bounds_ms = (1, 5, 15, 30, 100, 1000)
    rates = [simulated_iops(name, latency_ms=bound_ms) for bound_ms in bounds_ms]
    assert all(more > less * 0.99 for less, more in pairwise(rates)), "but for where the places fall"
    disk = name in {"hdd-1tb", "sas-10k-raid10"}
    assert simulated_iops(name) == simulated_iops(name, latency_ms=30 if disk else 2)
    assert (rates[3] < rates[-1] / 1.5) == disk, "a disk gains by reads that wait for it, flash has what it can in a millisecond"


@pytest.mark.parametrize("name", ["hdd-1tb-raid0", "crucial-h"])
def test_a_rate_is_that_of_the_most_reads_that_may_wait(name: str) -> None:
    """Whatever numbers are tried on the way."""
    bound_ms = 20.0 if name == "hdd-1tb-raid0" else 0.2
    by_waiting = {waiting: sustained(name, waiting) for waiting in range(1, 16)}
    fitting = [waiting for waiting, rate in by_waiting.items() if waiting / rate * 1e3 <= bound_ms]
    assert fitting == list(range(1, len(fitting) + 1))
    assert 1 < len(fitting) < 15
    assert simulated_iops(name, latency_ms=bound_ms) == by_waiting[len(fitting)]


def test_a_device_that_is_slower_than_the_bound_has_no_rate() -> None:
    with pytest.raises(MissingError, match="a single read already takes 12"):
        device_iops("hdd-1tb", latency_ms=5)
    assert device_iops("crucial-m4", latency_ms=5).value == pytest.approx(34_000, rel=0.01)


def test_a_data_sheets_figure_is_never_made_up_from_a_model() -> None:
    with pytest.raises(MissingError, match="published IOPS of hdd-1tb at 4096 bytes is missing"):
        device_iops("hdd-1tb", Evidence.PUBLISHED)
    with pytest.raises(MissingError, match="published IOPS of aws-io2"):  # assumed in its file
        device_iops("aws-io2", Evidence.PUBLISHED)


DELIVERING = book(
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
    return next(plan for plan in plans(load, DELIVERING, RATES) if plan.name == name)


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
    (plan,) = plans(load, DELIVERING, {"aws-gp3": Iops(3000, Evidence.SIMULATED)})
    assert (plan.devices, plan.machines) == (2, 2)  # a volume hangs on one machine, and each includes 3,000 IOPS
    assert plan.bill.cost(DELIVERING) == pytest.approx(12 * 100 * 0.08 + 2 * 0.2 * 8760)


def test_source_r_flash_replaces_memory_and_not_disks_at_the_prices_of_its_time() -> None:
    found = without_flash(plans(PUBLISHED, DELIVERING, RATES))
    assert found is not None
    assert found.cost(DELIVERING) > 0
    assert found.replaces_memory(DELIVERING)
    assert rank(found.bills, DELIVERING) == ["crucial-m4", "st3000dm001, all in memory", "st3000dm001"]


def test_a_server_must_have_a_price_by_then() -> None:
    assert newest_server(DELIVERING) == load_hardware().servers["microserver-gen8"]
    assert newest_server(replace(DELIVERING, on=dt.date(2025, 1, 1))) == load_hardware().servers["microserver"]
    with pytest.raises(MissingError, match="a server with a price"):
        newest_server(replace(DELIVERING, on=dt.date(2010, 1, 1)))


LARGE = Load(200 * GIB, 16 * GIB, 1e5, 0.2)


def test_what_a_server_holds_changes_the_number_of_machines_and_nothing_else() -> None:
    memory = next(plan for plan in plans(LARGE, DELIVERING, RATES) if plan.in_ram)
    own = newest_server(DELIVERING)
    roomy = plan_on(memory.device, LARGE, DELIVERING, memory.iops, server=own.able_to_hold(ram_gib=512), in_ram=True)
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
