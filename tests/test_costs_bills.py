"""What a year of a device takes: its share of the purchase, power, replacement, or the rent of what is provisioned."""

import math
from itertools import pairwise

import pytest

from prices import TODAY, book, price
from tierwise.core.errors import MissingError
from tierwise.core.units import GIB, MIB
from tierwise.core.vocabulary import Evidence
from tierwise.costs.bill import Bill
from tierwise.costs.book import Book, load_book
from tierwise.costs.hardware import capacity_bytes, device_bill, load_hardware, power_bill, purchase, ram_bill, volume_bill
from tierwise.costs.iops import READ_BYTES, SEED, device_iops, simulated_iops
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
    price("aws-io2-size", 0.125, "GiB-month"),
    price("aws-io2-iops-1", 0.065, "IOPS-month"),
    price("aws-io2-iops-2", 0.0455, "IOPS-month"),
    price("aws-io2-iops-3", 0.03185, "IOPS-month"),
)
WATT_YEAR = 0.10 * 24 * 365.25 / 1000 * 1.5  # what a watt costs for a year at 0.10 a kWh, cooling and losses included


def month(volume: str, size_gib: float, iops: float, mib_s: float = 0.0, prices: Book = NOW) -> float:
    return volume_bill(volume, size_gib * GIB, iops, mib_s * MIB).cost(prices) / 12


def test_a_bill_adds_up_and_is_linear_in_each_price() -> None:
    bill = Bill({"ssd-m4-128gb": 1}) + Bill({"ssd-m4-128gb": 2, "hdd-3tb-7k2": 1}) * 2
    assert bill.parts(NOW) == {"ssd-m4-128gb": 500, "hdd-3tb-7k2": 180}
    dearer = NOW.with_price("ssd-m4-128gb", 110)
    assert bill.cost(dearer) - bill.cost(NOW) == pytest.approx(5 * 10)


def test_power_is_watts_times_hours_times_price() -> None:
    assert power_bill(100).cost(NOW) == pytest.approx(0.1 * 8766 * 1.5 * 0.10)


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


@pytest.mark.parametrize(
    ("iops", "mib_s", "dollars"), [(3000, 125, 80), (2000, 0, 80), (4000, 125, 85), (3000, 250, 85), (16000, 1000, 80 + 65 + 35)]
)
def test_gp3_includes_3000_iops_and_125_mib_s(iops: float, mib_s: float, dollars: float) -> None:
    assert month("aws-gp3", 1000, iops, mib_s) == pytest.approx(dollars)


@pytest.mark.parametrize(("iops", "dollars"), [(0, 0), (32_000, 2080), (64_000, 2080 + 1456), (256_000, 2080 + 1456 + 192_000 * 0.03185)])
def test_io2_bills_every_iops_by_tiers(iops: float, dollars: float) -> None:
    assert month("aws-io2", 100, iops) == pytest.approx(12.5 + dollars)


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
    by_waiting = {waiting: sustained(name, READ_BYTES, SEED, waiting) for waiting in range(1, 16)}
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
