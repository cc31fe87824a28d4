"""The pgbench study's machine: what a transaction and a request cost with each placement, memory, machine and power counted."""

import datetime as dt
from typing import Final

import polars as pl

from tierwise.core.units import GIB
from tierwise.costs.bill import Bill, total
from tierwise.costs.book import Book, load_book
from tierwise.costs.delivered import newest_server
from tierwise.costs.hardware import device_bill, ram_bill, server_bill
from tierwise.costs.sensitivity import ratio_over_band
from tierwise.costs.units import SECONDS_A_YEAR
from tierwise.report.run import Run
from tierwise.studies.pgbench_placement.reading.names import decided

THEN: Final = dt.date(2017, 9, 22)
"""When the article appeared: on a Friday, 22 September, and it speaks of 2014 as past."""
DISKS: Final = "sas-10k-raid10"
FLASH: Final = "intel-s3700"
RAM_BYTES: Final = 16 * GIB
DEVICES: Final = {
    "all_hdd": (DISKS, FLASH),
    "index_ssd": (DISKS, FLASH, FLASH),
    "table_ssd": (DISKS, FLASH, FLASH),
    "all_ssd": (FLASH, FLASH),
}
"""What must be bought for each placement; one drive more, like the study's SSD, has the WAL. The data of either set fit on any of them."""


def bill(placement: str, book: Book) -> Bill:
    """Return what a year of the machine takes with what `placement` needs. One server holds all drives, whatever its bays (assumed)."""
    devices = total(device_bill(name, book) for name in DEVICES[placement])
    return devices + server_bill(newest_server(book)) + ram_bill(RAM_BYTES)


def per_million(placement: str, tps: float, book: Book) -> Bill:
    """Return what a million transactions need."""
    return bill(placement, book) * (1e6 / (tps * SECONDS_A_YEAR))


def with_costs(run: Run, pair: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of the deciding I/O mode with money a year, per million transactions and per request a second, and with the ends of
    the cost over that with everything on HDD, over the price band.
    """
    book, kept = load_book(THEN), decided(run, pair, rows)
    bills = {name: per_million(name, tps, book) for name, tps in kept.select("placement", "tps").rows()}
    base = bills.get("all_hdd")
    over = [list(ratio_over_band(one, base, book)) if base and one is not base else None for one in bills.values()]
    return kept.with_columns(
        pl.Series("usd_a_year", [bill(name, book).cost(book) for name in bills], pl.Float64),
        pl.Series("usd_per_million", [one.cost(book) for one in bills.values()], pl.Float64),
        pl.Series("over_hdd", over, pl.List(pl.Float64)),
    ).with_columns(usd_per_request=pl.col("usd_a_year") / pl.col("requests_per_s"))
