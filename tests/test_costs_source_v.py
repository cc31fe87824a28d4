"""What a transaction costs with each placement of the pgbench study: machine, memory, drives and power, over what it delivers."""

from pathlib import Path

import polars as pl
import pytest

from pgbench_rows import LARGE, pgbench_rows
from rows import save_run
from tierwise.costs.book import load_book
from tierwise.costs.hardware import device_bill
from tierwise.costs.units import SECONDS_A_YEAR
from tierwise.report.exhibit_registry import find
from tierwise.report.run import open_run
from tierwise.studies.pgbench_placement.reading.money import DEVICES, FLASH, THEN, bill, per_million


def test_a_placement_delivers_what_its_unflagged_windows_did_at_the_tiers_own_speed(tmp_path: Path) -> None:
    slow = {name: tps / 8 for name, tps in LARGE.items()}
    run = open_run(save_run(tmp_path, pl.concat([pgbench_rows(slow, slowdown=8.0, flags={"all_ssd": "cpu"})])).name, tmp_path)
    costs = find("tbl-pgbench-cost", "pgbench_placement")
    assert costs.rows(run, "source-v", size="small").frame.is_empty()
    found = {row["placement"]: row for row in costs.rows(run, "source-v").frame.rows(named=True)}
    assert set(found) == {"all_hdd", "index_ssd", "table_ssd"}
    for name, one in found.items():
        assert one["tps"] == pytest.approx(LARGE[name], rel=0.03)
        assert one["windows"] == 5
    low, high = found["table_ssd"]["over_hdd"]
    assert low <= found["table_ssd"]["usd_per_million"] / found["all_hdd"]["usd_per_million"] <= high


def test_moving_one_relation_costs_one_drive_more_and_a_faster_machine_less_a_transaction() -> None:
    book = load_book(THEN)
    assert bill("index_ssd", book) == bill("table_ssd", book)
    more = bill("index_ssd", book).cost(book) - bill("all_hdd", book).cost(book)
    assert more == pytest.approx(device_bill(FLASH, book).cost(book))
    slow, fast = (per_million(name, tps, book).cost(book) for name, tps in (("all_hdd", 900.0), ("table_ssd", 7000.0)))
    assert slow * 900 * SECONDS_A_YEAR / 1e6 == pytest.approx(bill("all_hdd", book).cost(book))
    assert fast < slow / 4
    assert set(DEVICES) == set(LARGE)
