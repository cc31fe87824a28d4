"""Which way of reading gives a published time: every way on every device that holds the table."""

from pathlib import Path
from typing import Any

import pytest

from tierwise.bench.testbed import Testbed
from tierwise.core.pairs import load_pair
from tierwise.core.profiles import load_profile
from tierwise.core.units import GB, PAGE_BYTES
from tierwise.postgres.cluster import Cluster
from tierwise.studies.survey_arrays.measuring.reading_methods import IDEAL, OURS, Hunt, Query, published_size, ways

TABLE_BYTES = 140 * GB
SCAN = Query("non_indexed", "printed", scanned=True, heap_pages=TABLE_BYTES / PAGE_BYTES, index_pages=3, rows=4e6)
FEW = Query("indexed", "printed", scanned=False, heap_pages=200_000, index_pages=30_000, rows=4e6)


def simulated(pair: str, *queries: Query, table_bytes: float = TABLE_BYTES) -> list[dict[str, Any]]:
    no_server: Cluster = None  # type: ignore[assignment]
    testbed = Testbed(load_profile("smoke"), load_pair(pair), 1, Path(), no_server)
    return published_size(testbed, queries, Hunt(requests=16, seeds=2), table_bytes=table_bytes)


def test_every_way_is_reported_for_every_query_and_subsystem() -> None:
    found = simulated("source-h", SCAN, FEW)
    assert len(found) == 2 * len(list(ways(SCAN, TABLE_BYTES)))
    assert [one["method"] for one in found if not one["hunted"]] == [OURS, IDEAL] * 2
    assert all(len(values) == 2 and min(values) > 0 for one in found for values in one["seconds"].values())
    assert {tuple(one["seconds"]) for one in found} == {("hdd", "hdd_raid0", "ssd", "ssd_raid5")}


def test_what_does_not_depend_on_the_query_is_the_same_for_both() -> None:
    scan, few = ({one["method"]: one for one in simulated("source-h", query)} for query in (SCAN, FEW))
    assert scan[IDEAL]["seconds"] == few[IDEAL]["seconds"]
    assert few[OURS]["bytes"] < scan[OURS]["bytes"] == pytest.approx(TABLE_BYTES)


def test_a_way_changes_one_thing_of_the_ideal() -> None:
    (ideal,) = next(readings for name, readings in ways(SCAN, TABLE_BYTES) if name == IDEAL)
    for name, readings in ways(SCAN, TABLE_BYTES):
        if name in {OURS, IDEAL} or name.startswith("a lookup"):
            continue
        (reading,) = readings
        differs = [field for field in ("request_bytes", "depth", "gap", "scattered") if getattr(reading, field) != getattr(ideal, field)]
        assert len(differs) == 1, name


def test_a_device_that_is_too_small_and_a_real_disk_are_left_out() -> None:
    assert {tuple(one["seconds"]) for one in simulated("source-m", SCAN)} == {("hdd",)}
    assert {tuple(one["seconds"]) for one in simulated("local", SCAN)} == {("hdd",)}
