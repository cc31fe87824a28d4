"""Simulated transactions: shared buffers as the server's, rates that follow from the devices, and placements that win where they should."""

import numpy as np
import pytest
from numpy.typing import NDArray

from tierwise.core.vocabulary import Layout
from tierwise.devices.model import build
from tierwise.devices.protocol import DeviceModel, Operation
from tierwise.devices.spec import load_device
from tierwise.simulate.placements import Case, Warming, by_heat, partitioned, rate_by_heat, rates_by_type, recorded_case
from tierwise.simulate.transactions import INDEX, TABLE, WAL, Load, Recorded, Rows, draw_rows, rate, record, shared_buffers

ROWS = Rows(rows=600_000, index_pages=1_650)


def recorded(case: Case) -> Recorded:
    return recorded_case(ROWS, case, clients=8, host_s=0.0005, transactions=300, warming=Warming(3, 3_000), seed=1)


def devices(seed: int) -> dict[str, DeviceModel]:
    names = {"hdd": "sas-10k-raid10", "ssd": "intel-s3700", "wal": "intel-s3700"}
    return {tier: build(load_device(name), seed=seed, stretch=1000.0) for tier, name in names.items()}


def missed(trace: NDArray[np.int64], pages: int, buffers: int) -> NDArray[np.bool_]:
    return shared_buffers(trace, np.zeros(len(trace), np.bool_), 0, pages, buffers)[0]


def test_an_updated_page_is_written_to_make_space_unless_a_checkpoint_was_before() -> None:
    trace, updated = np.array([0, 1, 2, 3, 4]), np.array([True, False, True, False, False])
    for clean, evicted, written in ((0, [-1, -1, 0, -1, 2], []), (2, [-1, -1, -1, -1, 2], [0]), (3, [-1, -1, 0, -1, -1], [2])):
        found = shared_buffers(trace, updated, clean, 5, 2)
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
    found = record(ROWS, load, memory_pages=20_000, transactions=400, lookups=100_000, warm=0, seed=1)
    assert found.reads == {TABLE: 0, INDEX: 0}
    assert rate(found, {TABLE: "hdd", INDEX: "hdd", WAL: "wal"}, devices(1)) == pytest.approx(4_000)


def test_every_update_commits_and_the_checkpoint_writes_what_was_changed_in_order() -> None:
    load = Load(clients=4, writes=1.0, skew=0.0, host_s=0.001)
    found = record(ROWS, load, memory_pages=8_000, transactions=200, lookups=0, warm=400, seed=1)
    operations = [(access.relation, access.operation) for access in found.trace.accesses]
    assert operations.count((WAL, Operation.WRITE)) == operations.count((WAL, Operation.FLUSH)) == 200
    written = [access.page for access in found.trace.accesses if (access.relation, access.operation) == (TABLE, Operation.WRITE)]
    assert written == sorted(set(written))
    assert 400 < len(written) <= 450  # of those before and of a quarter, nearly all of them on pages of their own


def test_the_log_holds_the_image_of_a_page_once_a_checkpoint() -> None:
    def logged_bytes(skew: float) -> int:
        found = record(ROWS, Load(1, 1.0, skew, 0.001), memory_pages=8_000, transactions=400, lookups=0, warm=0, seed=1)
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
    placement = by_heat(cut, ROWS.index_pages * 8192)
    assert placement["table0"] == "ssd"  # popular rows come first
    assert sum(cut.sizes_bytes[name] for name, tier in placement.items() if tier == "ssd") <= ROWS.index_pages * 8192
    assert [len(part.trace.accesses) for part in (cut, hot)] == [len(hot.trace.accesses)] * 2
    nothing, everything = (rate_by_heat(hot, devices, 1, budget_bytes=size, parts=16) for size in (0, 2**40))
    assert nothing < everything
