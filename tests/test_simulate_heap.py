"""Simulated tables: which updates stay in their page, and what a device takes for pages in one order or another."""

import numpy as np
import pytest

from tierwise.core.units import GB, KIB, PAGE_BYTES
from tierwise.devices.model import build
from tierwise.devices.protocol import DeviceModel
from tierwise.devices.spec import load_device
from tierwise.simulate.heap import ROWS_PER_PAGE, Keys, Touched, aged_pages, filled_pages, pages_of, touch
from tierwise.simulate.table_reads import Reading, duration_s, lookups, parts_in_order, whole

ROWS = 61_000
INDEX_PAGES = 100
MANY_TURNS = 30  # lookups of other rows, after which nobody waits for an update before any more


def touched(places: list[int], updates: set[int], *, clients: int = 1) -> Touched:
    """Tell what transactions on these rows touch; those with the numbers `updates` update theirs."""
    where: Keys = np.array(places)
    writing = np.array([number in updates for number in range(len(places))])
    return touch(ROWS, INDEX_PAGES, where, where, writing, clients=clients)


def pages(found: Touched, transaction: int) -> list[int]:
    own = found.pages[found.transactions == transaction]
    return [page - INDEX_PAGES for page in own.tolist() if page >= INDEX_PAGES]


def test_an_aged_table_is_as_large_as_postgresqls() -> None:
    assert (filled_pages(2_000_000), aged_pages(2_000_000)) == (32_787, 33_325)  # pgbench at scale 20, aged
    assert pages_of(ROWS, np.array([0, 1, 60, 61, 62, 61 * 61])).tolist() == [1_000, 0, 0, 1_000, 1, 1_001]


def test_an_update_stays_in_a_page_with_space_and_is_logged_as_one_change() -> None:
    found = touched([5], {0})
    assert found.stayed.tolist() == [True]
    assert pages(found, 0) == [0, 0]  # the update, and the look at what it did
    assert found.pages[found.changed].tolist() == [INDEX_PAGES]


def test_a_second_update_at_once_finds_the_page_full_and_moves_its_row() -> None:
    found = touched([5, 6], {0, 1}, clients=2)
    assert found.stayed.tolist() == [True, False]
    moved = pages(found, 1)
    assert moved[0] == 0
    assert set(moved[1:]) - {0}  # where it moved to, the next page that has space
    assert INDEX_PAGES + 1 in found.pages[found.changed]
    assert 0 in found.pages[found.changed]  # the leaf of the index


def test_a_page_has_space_again_once_nobody_sees_the_old_version() -> None:
    elsewhere = list(range(3_000, 3_000 + 61 * MANY_TURNS, 61))
    found = touched([5, *elsewhere, 6], {0, len(elsewhere) + 1}, clients=4)
    assert found.stayed.tolist() == [True, True]


def test_a_row_among_full_pages_at_the_end_moves_at_its_first_update() -> None:
    first_of_a_page = 10 * ROWS_PER_PAGE
    assert touched([first_of_a_page], {0}).stayed.tolist() == [False]


def test_a_moved_row_is_looked_for_in_its_old_page_until_that_is_found_dead() -> None:
    elsewhere = list(range(3_000, 3_000 + 61 * MANY_TURNS, 61))
    row = 10 * ROWS_PER_PAGE
    found = touched([row, *elsewhere, row, *elsewhere, row], {0}, clients=4)
    last, before = 2 * len(elsewhere) + 2, len(elsewhere) + 1
    assert (len(pages(found, before)), len(pages(found, last))) == (2, 1)


def test_a_table_without_space_grows() -> None:
    rng = np.random.default_rng(1)
    places = rng.integers(0, ROWS, 6_000)
    full = list(range(filled_pages(ROWS)))
    found = touched([page * ROWS_PER_PAGE for page in full] * 2 + places.tolist(), set(range(2 * len(full) + 6_000)), clients=8)
    assert found.pages.max() - INDEX_PAGES >= aged_pages(ROWS)


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
