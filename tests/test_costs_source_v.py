"""What a transaction costs with each placement of the pgbench study: machine, memory, drives and power, over what it delivers."""

from pathlib import Path

import polars as pl
import pytest

from pgbench_rows import LARGE, pgbench_rows
from rows import save_run
from tierwise.analysis.views import open_views
from tierwise.core.vocabulary import Evidence
from tierwise.costs.book import load_book
from tierwise.costs.hardware import device_bill
from tierwise.costs.units import SECONDS_A_YEAR
from tierwise.studies.pgbench_placement.reading.money import DEVICES, FLASH, THEN, Served, bill, per_iops, per_million_transactions, served


def test_a_placement_delivers_what_its_unflagged_windows_did_at_the_tiers_own_speed(tmp_path: Path) -> None:
    slow = {name: tps / 8 for name, tps in LARGE.items()}
    save_run(tmp_path, pl.concat([pgbench_rows(slow, slowdown=8.0, flags={"all_ssd": "cpu"})]))
    with open_views(tmp_path) as connection:
        found = {one.placement: one for one in served(connection, "source-v")}
        assert served(connection, "source-v", "small") == ()
    assert set(found) == {"all_hdd", "index_ssd", "table_ssd"}
    for name, one in found.items():
        assert one.tps == pytest.approx(LARGE[name], rel=0.03)
        assert (one.evidence, one.windows) == (Evidence.EMULATED, 5)


def test_moving_one_relation_costs_one_drive_more_and_a_quicker_machine_less_a_transaction() -> None:
    book = load_book(THEN)
    assert bill("index_ssd", book) == bill("table_ssd", book)
    more = bill("index_ssd", book).cost(book) - bill("all_hdd", book).cost(book)
    assert more == pytest.approx(device_bill(FLASH, book).cost(book))
    slow, quick = (Served(name, tps, 10 * tps, Evidence.EMULATED, 5) for name, tps in (("all_hdd", 900.0), ("table_ssd", 7000.0)))
    assert per_million_transactions(slow, book).cost(book) * 900 * SECONDS_A_YEAR / 1e6 == pytest.approx(bill("all_hdd", book).cost(book))
    assert per_million_transactions(quick, book).cost(book) < per_million_transactions(slow, book).cost(book) / 4
    assert per_iops(quick, book).cost(book) * 70_000 == pytest.approx(bill("table_ssd", book).cost(book))
    assert set(DEVICES) == set(LARGE)
