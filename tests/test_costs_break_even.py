"""The five-minute rule, held against the four papers."""

import pytest

from prices import book, price
from tierwise.core.units import GIB, KIB, MIB
from tierwise.core.vocabulary import Evidence
from tierwise.costs.break_even import break_even_s, device_over, memory_over, published
from tierwise.costs.iops import Iops


def reported(year: int, upper: str, lower: str, page_bytes: int = 4 * KIB) -> float:
    (case,) = [each for each in published() if (each.year, each.upper, each.lower, each.page_bytes) == (year, upper, lower, page_bytes)]
    return case.interval_s


def test_1987_a_page_of_1_kb_is_worth_caching_for_205_seconds() -> None:
    interval_s = break_even_s(page_bytes=KIB, accesses_per_s=15, device_cost=15_000, memory_cost_per_byte=5000 / MIB)
    assert interval_s == pytest.approx(204.8)
    assert interval_s == pytest.approx(reported(1987, "RAM", "HDD", KIB), rel=0.005)


def test_the_rule_is_gray_and_putzolus_formula() -> None:
    pages_per_mb, accesses_per_s, price_of_disk, price_of_mb = 128, 64, 2000, 15
    classic_s = pages_per_mb / accesses_per_s * price_of_disk / price_of_mb
    found_s = break_even_s(
        page_bytes=8 * KIB, accesses_per_s=accesses_per_s, device_cost=price_of_disk, memory_cost_per_byte=price_of_mb / MIB
    )
    assert found_s == pytest.approx(classic_s)


def test_2007_two_of_graefes_intervals_and_his_flash_predict_the_third() -> None:
    """Read: flash of 32 GB for 999 at 6,200 reads a second, and the three intervals. Memory's and the disk's price follow from two."""
    flash_iops = 6200
    memory_per_byte = 999 / (flash_iops * 4 * KIB * reported(2007, "RAM", "SSD"))
    disk_per_access = reported(2007, "RAM", "HDD") * 4 * KIB * memory_per_byte
    assert memory_per_byte * GIB == pytest.approx(48, rel=0.03)
    interval_s = break_even_s(page_bytes=4 * KIB, accesses_per_s=1, device_cost=disk_per_access, memory_cost_per_byte=999 / (32 * GIB))
    assert interval_s == pytest.approx(reported(2007, "SSD", "HDD"), rel=0.01)


NOW = book(price("hdd-3tb-7k2", 100), price("ssd-m4-128gb", 128), price("ram", 4, "GiB"), price("electricity", 0.1, "kWh"))


def test_memory_over_a_device_counts_the_purchase_and_beside_it_a_year_with_power() -> None:
    found = memory_over("st3000dm001", 4 * KIB, Iops(200, Evidence.SIMULATED), NOW)
    assert found.by_purchase_s == pytest.approx(100 / 200 / (4 * KIB * 4 / GIB))
    assert found.by_purchase_s is not None
    assert found.by_year_s > found.by_purchase_s  # a disk takes more power for its price than memory


def test_flash_over_disks_lasts_longer_than_memory_over_disks_as_its_bytes_are_cheaper() -> None:
    rate = Iops(200, Evidence.SIMULATED)
    memory, flash = memory_over("st3000dm001", 4 * KIB, rate, NOW), device_over("crucial-m4", "st3000dm001", 4 * KIB, rate, NOW)
    assert memory.by_purchase_s is not None
    assert flash.by_purchase_s == pytest.approx(memory.by_purchase_s * (4 / GIB) / (128 / 128e9))
