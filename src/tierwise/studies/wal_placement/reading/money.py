"""What the devices of the log cost in a year, at the rate of each window's median."""

from typing import Any

import polars as pl

from tierwise.core.errors import MissingError
from tierwise.costs.bill import Bill
from tierwise.costs.book import Book
from tierwise.costs.hardware import device_bill
from tierwise.costs.units import SECONDS_A_YEAR
from tierwise.report.prices import book_of
from tierwise.report.run import Run


def with_costs(run: Run, pair: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows whose place is priced, with ``usd_a_year``: a year of the log's devices, wear by the bytes written included."""
    book = book_of(run)
    priced = [(row, bill) for row in rows.rows(named=True) if (bill := log_bill(run, pair, row, book))]
    return pl.DataFrame([{**row, "usd_a_year": bill.cost(book)} for row, bill in priced], schema={**rows.schema, "usd_a_year": pl.Float64})


def log_bill(run: Run, pair: str, row: dict[str, Any], book: Book) -> Bill | None:
    """Return a year of the device that the log of `row` lies on; None of a real disk, behind a cache, or without a price."""
    device = run.manifest.pairs.get(pair, {}).get("tiers", {}).get(row["wal"], {}).get("device")
    if device is None or row["wal"] == "cached":
        return None
    try:
        return device_bill(device, book, writes_bytes_a_year=row["commits_per_s"] * row["bytes_per_commit"] * SECONDS_A_YEAR)
    except MissingError:
        return None
