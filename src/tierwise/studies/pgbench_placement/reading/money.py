"""The pgbench study's machine: what a transaction and a request cost with each placement, memory, machine and power counted."""

import datetime as dt
from dataclasses import dataclass
from typing import Final

import duckdb

from tierwise.analysis.deciding import mode_in
from tierwise.core.units import GIB
from tierwise.core.vocabulary import Evidence
from tierwise.costs.bill import Bill, total
from tierwise.costs.book import Book
from tierwise.costs.delivered import newest_server
from tierwise.costs.hardware import device_bill, ram_bill, server_bill
from tierwise.costs.units import SECONDS_A_YEAR

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
ROWS: Final = """
select placement, exp(avg(ln(tps * slowdown))) as tps, exp(avg(ln(requests_per_s * slowdown))) as requests_per_s,
       min(evidence) as evidence, count(*) as windows
from pgbench_placement
where pair = ? and size = ? and io_mode = ? and clients = '8' and script = 'tpcb-like' and memory = '1' and judged = 'yes'
  and not flagged and requests_per_s > 0
group by placement having count(distinct evidence) = 1 and enough(tps)
"""


@dataclass(frozen=True)
class Served:
    """What a placement delivers in a second at the tiers' own speed: where they were slowed, times the factor (processors never bind)."""

    placement: str
    tps: float
    requests_per_s: float
    evidence: Evidence
    windows: int


def served(connection: duckdb.DuckDBPyConnection, pair: str, size: str = "large") -> tuple[Served, ...]:
    rows = connection.execute(ROWS, [pair, size, mode_in(connection, "pgbench_placement", pair)]).fetchall()
    found = {row[0]: Served(row[0], row[1], row[2], Evidence(row[3]), row[4]) for row in rows}
    return tuple(found[name] for name in DEVICES if name in found)


def bill(placement: str, book: Book) -> Bill:
    """Return what a year of the machine takes with what `placement` needs. One server holds all drives, whatever its bays (assumed)."""
    devices = total(device_bill(name, book) for name in DEVICES[placement])
    return devices + server_bill(newest_server(book)) + ram_bill(RAM_BYTES)


def per_million_transactions(one: Served, book: Book) -> Bill:
    """Return what a million transactions need."""
    return bill(one.placement, book) * (1e6 / (one.tps * SECONDS_A_YEAR))


def per_iops(one: Served, book: Book) -> Bill:
    """Return what a request a second needs, all year."""
    return bill(one.placement, book) * (1 / one.requests_per_s)
