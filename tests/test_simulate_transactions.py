"""Simulated tables and transactions: updates that stay, reads as a real server's, rates of devices, placements that win as they should."""

import math
import time
from collections.abc import Iterator
from statistics import fmean

import numpy as np
import pytest
from numpy.typing import NDArray

from conftest import empty
from tierwise.core.units import GB, KIB, PAGE_BYTES
from tierwise.core.vocabulary import IoMode, Layout
from tierwise.devices.model import build
from tierwise.devices.protocol import DeviceModel, Operation
from tierwise.devices.spec import load_device
from tierwise.postgres import pgbench
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.page_counts import PageCounter
from tierwise.postgres.settings import Connection, loading_settings, measuring_settings
from tierwise.simulate.heap import ROWS_PER_PAGE, Keys, Touched, aged_pages, filled_pages, pages_of, touch
from tierwise.simulate.placements import Case, Warming, by_heat, partitioned, rate_by_heat, rates_by_type, recorded_case
from tierwise.simulate.shared_buffers import Scans, sweep
from tierwise.simulate.table_reads import Reading, duration_s, lookups, parts_in_order, whole
from tierwise.simulate.transactions import INDEX, TABLE, WAL, Load, Recorded, Rows, draw_rows, rate, record

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


BANK = Rows(rows=600_000, index_pages=1_650)


def recorded(case: Case) -> Recorded:
    return recorded_case(BANK, case, clients=8, host_s=0.0005, transactions=300, warming=Warming(3, 3_000), seed=1)


def devices(seed: int) -> dict[str, DeviceModel]:
    names = {"hdd": "sas-10k-raid10", "ssd": "intel-s3700", "wal": "intel-s3700"}
    return {tier: build(load_device(name), seed=seed, stretch=1000.0) for tier, name in names.items()}


def no_scans(requests: int, pages: int) -> Scans:
    return Scans(np.zeros(requests, np.bool_), np.zeros(pages, np.int32), np.full((1, 1), -1))


def missed(trace: NDArray[np.int64], pages: int, buffers: int) -> NDArray[np.bool_]:
    return sweep(trace, np.zeros(0, np.bool_), 0, no_scans(len(trace), pages), buffers)[0]


def test_an_updated_page_is_written_to_make_space_unless_a_checkpoint_was_before() -> None:
    trace, updated = np.array([0, 1, 2, 3, 4]), np.array([True, False, True, False, False])
    for clean, evicted, written in ((0, [-1, -1, 0, -1, 2], []), (2, [-1, -1, -1, -1, 2], [0]), (3, [-1, -1, 0, -1, -1], [2])):
        found = sweep(trace, updated, clean, no_scans(5, 5), 2)
        assert (found[1].tolist(), found[2].tolist()) == (evicted, written)


@pytest.mark.parametrize(
    ("layout", "index_aside", "table_aside"),
    [(Layout.STREWN, False, False), (Layout.RECENT, True, True), (Layout.RANDOM_KEYS, False, True)],
)
def test_popular_rows_are_strewn_or_side_by_side(layout: Layout, index_aside: bool, table_aside: bool) -> None:
    in_index, in_table = draw_rows(100_000, Load(8, 0.0, 1.1, 0.0, layout), 2_000, np.random.default_rng(1))
    assert (np.median(in_index) < 1_000) == index_aside
    assert (np.median(in_table) < 1_000) == table_aside
    assert len(set(in_index.tolist())) == len(set(in_table.tolist()))  # the same rows


def test_without_misses_and_writes_only_the_host_counts() -> None:
    load = Load(clients=4, writes=0.0, skew=0.0, host_s=0.001)
    found = record(BANK, load, memory_pages=20_000, transactions=400, lookups=100_000, warm=0, seed=1)
    assert not reads_of(found, TABLE)
    assert not reads_of(found, INDEX)
    assert rate(found, {TABLE: "hdd", INDEX: "hdd", WAL: "wal"}, devices(1)) == pytest.approx(4_000)


def test_every_update_commits_and_the_checkpoint_writes_what_was_changed_in_order() -> None:
    load = Load(clients=4, writes=1.0, skew=0.0, host_s=0.001)
    found = record(BANK, load, memory_pages=8_000, transactions=200, lookups=0, warm=400, seed=1)
    operations = [(access.relation, access.operation) for access in found.trace.accesses]
    assert operations.count((WAL, Operation.WRITE)) == operations.count((WAL, Operation.FLUSH)) == 200
    written = [access.page for access in found.trace.accesses if (access.relation, access.operation) == (TABLE, Operation.WRITE)]
    assert written == sorted(set(written))
    assert 400 < len(written) <= 450  # of those before and of a quarter, nearly all of them on pages of their own


def test_the_log_holds_the_image_of_a_page_once_a_checkpoint() -> None:
    def logged_bytes(skew: float) -> int:
        found = record(BANK, Load(1, 1.0, skew, 0.001), memory_pages=8_000, transactions=400, lookups=0, warm=0, seed=1)
        return sum(access.size_bytes for access in found.trace.accesses if access.relation == WAL)

    assert logged_bytes(0.0) == pytest.approx(400 * 2 * 8192, rel=0.1)  # an image, and the page that the commit before began
    assert logged_bytes(3.0) < 0.6 * logged_bytes(0.0)  # most are of the same few pages


def test_tables_win_while_the_index_is_cached_and_indexes_gain_as_it_is_not() -> None:
    cached, crowded = (rates_by_type(recorded(Case(ratio, skew=0.0, writes=0.2)), devices, 1) for ratio in (0.4, 3.0))
    assert cached["all_ssd"] > cached["table_ssd"] > 2 * cached["index_ssd"]
    few, many = (rates["index_ssd"] / rates["all_hdd"] for rates in (cached, crowded))
    assert few < 1.35
    assert many > 1.5


def test_indexes_win_where_the_table_is_hot_in_one_place_and_the_keys_are_random() -> None:
    found = rates_by_type(recorded(Case(3.0, skew=1.1, writes=0.2, layout=Layout.RANDOM_KEYS)), devices, 1)
    assert found["index_ssd"] > 1.2 * found["table_ssd"]


def test_heat_finds_the_hot_partitions() -> None:
    hot = recorded(Case(3.0, skew=1.1, writes=0.0, layout=Layout.RECENT))
    cut = partitioned(hot, 16)
    placement = by_heat(cut, BANK.index_pages * 8192)
    assert placement["table0"] == "ssd"  # popular rows come first
    assert sum(cut.sizes_bytes[name] for name, tier in placement.items() if tier == "ssd") <= BANK.index_pages * 8192
    assert [len(part.trace.accesses) for part in (cut, hot)] == [len(hot.trace.accesses)] * 2
    nothing, everything = (rate_by_heat(hot, devices, 1, budget_bytes=size, parts=16) for size in (0, 2**40))
    assert nothing < everything


SCALE, CLIENTS, WRITES = 5, 4, 0.5
BUFFERS = 1_500
LOOKUPS = 3 * BUFFERS
UPDATES = 2_000  # how many updates a window has, if the machine makes them in time
LONGEST_S = 20
SEEDS = range(1, 4)
BIAS, DEVIATIONS = 0.05, 5
"""How far the simulated reads may be off: in part, and in standard deviations of a share counted over as many transactions."""
OTHERS = """
    SELECT count(*) FROM pg_buffercache WHERE relfilenode IS NULL OR relforknumber > 0
    OR relfilenode NOT IN (pg_relation_filenode('pgbench_accounts'), pg_relation_filenode('pgbench_accounts_pkey'))
"""


@pytest.fixture
def aged(cluster18: Cluster) -> Iterator[Cluster]:
    cluster18.start(loading_settings())
    pgbench.initialise(cluster18, SCALE, tables="pg_default", indexes="pg_default")
    with cluster18.connect() as conn:
        pgbench.age(conn)
    cluster18.stop()
    cluster18.start(measuring_settings(cluster18.binaries, io_mode=IoMode.BUFFERED, shared_buffers_bytes=BUFFERS * 8192))
    yield cluster18
    empty(cluster18)


def updates(conn: Connection) -> tuple[int, int]:
    conn.execute("SELECT pg_stat_force_next_flush(), pg_stat_clear_snapshot()")
    (found,) = conn.execute("SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'pgbench_accounts'")
    return int(found[0]), int(found[1])


def test_reads_of_table_and_index_are_the_servers_and_so_are_the_updates_that_stay(aged: Cluster) -> None:
    pgbench.fill_caches(aged, LOOKUPS, accounts=SCALE * pgbench.ROWS_PER_SCALE)
    with aged.connect() as conn:
        conn.execute("CREATE EXTENSION IF NOT EXISTS pg_buffercache")
        (index_pages,) = conn.execute("SELECT pg_relation_size('pgbench_accounts_pkey') / 8192").fetchall()[0]
        (table_pages,) = conn.execute("SELECT pg_relation_size('pgbench_accounts') / 8192").fetchall()[0]
        before = updates(conn)
        with PageCounter(conn, ["pgbench_accounts", "pgbench_accounts_pkey"]) as counter:
            with pgbench.Load(aged, pgbench.Mix(WRITES, 0.0), clients=CLIENTS, seed=1, scale=SCALE) as load:
                until_s = time.monotonic() + LONGEST_S
                while updates(conn)[0] - before[0] < UPDATES and time.monotonic() < until_s:
                    time.sleep(0.2)
            time.sleep(1.5)  # a busy session reports its counts once a second, an ended one at once
        after = updates(conn)
        (other_pages,) = conn.execute(OTHERS).fetchall()[0]
        conn.execute("DROP EXTENSION pg_buffercache")
    count = load.transactions.height
    made, stayed = after[0] - before[0], after[1] - before[1]

    rows = Rows(SCALE * pgbench.ROWS_PER_SCALE, index_pages)
    assert rows.table_pages == table_pages
    found = [simulated(rows, count, seed, other_pages) for seed in SEEDS]
    for name, relation in ((INDEX, "pgbench_accounts_pkey"), (TABLE, "pgbench_accounts")):
        share = counter.pages[relation].reads / count
        tolerance = BIAS + DEVIATIONS * math.sqrt((1 + 1 / len(SEEDS)) * (1 - share) / (share * count))
        assert fmean(reads_of(one, name) for one in found) / count == pytest.approx(share, rel=tolerance), relation
    chance = math.sqrt(0.02 / made)  # one row in 61 lies in a full page
    assert fmean(one.stayed for one in found) == pytest.approx(stayed / made, abs=DEVIATIONS * chance)


def reads_of(found: Recorded, relation: str) -> int:
    return sum(access.operation is Operation.READ and access.relation == relation for access in found.trace.accesses)


def simulated(rows: Rows, transactions: int, seed: int, other_pages: int) -> Recorded:
    load = Load(CLIENTS, WRITES, skew=0.0, host_s=0.0005)
    return record(rows, load, memory_pages=BUFFERS, transactions=transactions, lookups=LOOKUPS, warm=0, seed=seed, other_pages=other_pages)
