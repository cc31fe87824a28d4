"""A table's pages read in one order or another: what a device takes for all of them, from a sample."""

import pytest

from tierwise.core.units import GB, KIB, PAGE_BYTES
from tierwise.devices.model import build
from tierwise.devices.protocol import DeviceModel
from tierwise.devices.spec import load_device
from tierwise.simulate.table_reads import Reading, duration_s, lookups, parts_in_order, whole

TABLE_BYTES = 100 * GB
SSD, DISKS, DISK = "crucial-h", "hdd-1tb-raid5-x7", "hdd-1tb"


def device(name: str, seed: int = 1) -> DeviceModel:
    return build(load_device(name), seed=seed)


def took_s(name: str, reading: Reading, seed: int = 1) -> float:
    return duration_s(device(name), reading, TABLE_BYTES, requests=64, seed=seed)


def test_a_scan_of_an_ssd_takes_its_bytes_at_the_data_sheets_rate() -> None:
    assert took_s(SSD, whole(TABLE_BYTES, request_bytes=512 * KIB, depth=32)) == pytest.approx(TABLE_BYTES / 415e6, rel=0.05)


def test_a_scan_of_a_disk_is_between_the_rates_of_its_zones() -> None:
    scanned_s = took_s(DISK, whole(TABLE_BYTES, request_bytes=128 * KIB))
    assert TABLE_BYTES / 175e6 < scanned_s < TABLE_BYTES / 83e6


def test_disks_wait_for_the_arm_where_blocks_lie_apart_and_an_ssd_does_not() -> None:
    scan = whole(TABLE_BYTES, request_bytes=512 * KIB, depth=32)
    torn = Reading(scan.requests, scan.request_bytes, scan.depth, scattered=1.0)
    assert took_s(DISKS, torn) > 2 * took_s(DISKS, scan)
    assert took_s(SSD, torn) == pytest.approx(took_s(SSD, scan), rel=0.02)


def test_lookups_take_a_seek_each_unless_many_are_outstanding() -> None:
    alone, many = (took_s(DISKS, lookups(1000, depth=depth)) / 1000 for depth in (1, 32))
    assert 0.004 < alone < 0.02
    assert many < alone / 3


def test_parts_of_a_table_take_less_than_the_whole_and_more_than_their_bytes() -> None:
    scan_s = took_s(DISK, whole(TABLE_BYTES, request_bytes=128 * KIB))
    part_s = took_s(DISK, parts_in_order(TABLE_BYTES / 100, TABLE_BYTES, request_bytes=128 * KIB))
    assert scan_s / 100 < part_s < scan_s
    assert took_s(DISK, parts_in_order(TABLE_BYTES, TABLE_BYTES, request_bytes=128 * KIB)) == pytest.approx(scan_s, rel=0.01)


def test_a_table_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match=r"a table of 2e\+12 bytes does not fit"):
        duration_s(device(DISK), whole(2e12, request_bytes=PAGE_BYTES), 2e12, requests=16, seed=1)
