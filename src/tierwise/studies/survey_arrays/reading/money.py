"""The survey's subsystems and placements: what a terabyte, a read a second and a query an hour cost; and statement H13.

Mark Holliman, Database deployment scenarios and performance on SSD arrays, holds a terabyte against a terabyte. Here drives with
their power and wear are counted; neither controller nor server nor memory, which every subsystem needs.
"""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Final

import duckdb

from tierwise.analysis.statistics import Estimate, geometric_estimate
from tierwise.core.words import IoArm, Substrate
from tierwise.costs.bill import Bill, total
from tierwise.costs.book import Book, load_book
from tierwise.costs.hardware import TB, capacity_bytes, device_bill
from tierwise.costs.iops import simulated_iops
from tierwise.costs.sensitivity import ratio_over_band, read_once

HOUR_S: Final = 3600.0
THEN: Final = dt.date(2012, 7, 1)
"""The talk is undated; it was given about 2012."""
DISKS: Final = "hdd-1tb-raid5-x7"
FLASHES: Final = "crucial-h-raid5-x6"
SUBSYSTEMS: Final = {"hdd": (DISKS,), "hdd_raid0": ("hdd-1tb-raid0",), "ssd": ("crucial-h",), "ssd_raid5": (FLASHES,)}
"""Tier -> what must be bought to have the whole database there."""
PLACEMENTS: Final = {"all_hdd": (DISKS,), **dict.fromkeys(("index_ssd", "source_ssd", "detection_ssd"), (DISKS, FLASHES))}
"""Placement -> what must be bought: a part on SSDs needs both arrays."""
NOW: Final = {"hdd-1tb-source-h": "hdd-enterprise", "ssd-source-h": "ssd-enterprise"}
"""The same terabytes at the price that drives for servers have today; it is not asked whether drives so small are still sold."""
MEMBERS: Final = {"hdd-1tb": 7, "crucial-h": 6}
"""Drive -> how many of it the survey has in a RAID5: no larger array is built of it."""
LEAST_MEMBERS: Final = 3
SIZES_TB: Final = (1, 10, 30)
"""Sizes of databases from 1 TB on, in TB: the least, and the tens of terabytes that the text calls prohibitive on SSDs (30: assumed)."""
JUDGED: Final = ("hdd", "ssd_raid5")
"""The subsystems that are judged: only these have a redundancy and room for more than 1 TB."""
PAIRED: Final = """
select query, arm, block, substrate, 1 / gain as ratio
from survey_arrays where pair = ? and form = 'printed' and tier = ? and not flagged and gain is not null
order by query, block
"""

Band = tuple[Substrate, tuple[float, float]]


@dataclass(frozen=True)
class Priced:
    """A year of some devices, their usable bytes and the random reads a second of 4 KiB that they serve (simulated)."""

    bill: Bill
    usable_bytes: int
    iops: float

    @property
    def per_tb(self) -> Bill:
        """Return what a usable terabyte costs a year."""
        return self.bill * (TB / self.usable_bytes)

    @property
    def per_iops(self) -> Bill:
        """Return what a random read a second costs a year."""
        return self.bill * (1 / self.iops)

    def per_query_an_hour(self, elapsed_s: float) -> Bill:
        """Return a year of the means to run the query once an hour, one after the other all the time."""
        return self.bill * (elapsed_s / HOUR_S)


def priced(devices: tuple[str, ...], book: Book, *, now: bool = False) -> Priced:
    """Return the `devices`, whole; `now`: of which a terabyte costs what it does at `NOW`."""
    bill = total(device_bill(name, book) for name in devices)
    return Priced(
        todays(bill) if now else bill, sum(capacity_bytes(name) for name in devices), sum(simulated_iops(name) for name in devices)
    )


def todays(bill: Bill) -> Bill:
    """Return `bill` with each drive of the survey at the price of `NOW`: either is a price of bytes."""
    return total(Bill({NOW.get(item, item): amount}) for item, amount in bill.a_year.items())


def drives(member: str, size_bytes: float) -> int:
    """Return the fewest drives that hold so much in RAID5, in arrays as the survey has them."""
    data = ceil(size_bytes / capacity_bytes(member))
    full, rest = divmod(data, MEMBERS[member] - 1)
    return full * MEMBERS[member] + (max(rest + 1, LEAST_MEMBERS) if rest else 0)


def holding(member: str, size_bytes: float, book: Book, *, now: bool = False) -> Bill:
    """Return a year of the fewest drives that hold so much."""
    bill = device_bill(member, book) * drives(member, size_bytes)
    return todays(bill) if now else bill


def cases(_: duckdb.DuckDBPyConnection | None = None) -> Mapping[str, Band]:
    """Return the cases of H13: holding the data on SSDs over on disks, at the source's prices."""
    return by_size(load_book(THEN))


def by_size(book: Book, *, now: bool = False) -> dict[str, Band]:
    """Return the cost of holding so much on SSDs over that on disks, by size."""
    found = {}
    for size_tb in SIZES_TB:
        flash, disk = (holding(member, size_tb * TB, book, now=now) for member in ("crucial-h", "hdd-1tb"))
        found[f"SSDs over disks, {size_tb} TB"] = Substrate.PUBLISHED, ratio_over_band(flash, disk, book)
    return found


def prices_read_once() -> str:
    """Return which of the source's prices were read once, as a condition of H13."""
    book = load_book(THEN)
    return read_once([device_bill(name, book) for name in MEMBERS], book)


def arms(connection: duckdb.DuckDBPyConnection | None, pair: str, today: Book) -> dict[str, dict[str, Band]]:
    """Return H13 by other measures and at other prices: arm -> case -> band; what has no rows, or too few for an interval, is left out."""
    found = {"a terabyte, today's prices": by_size(today, now=True)}
    ratios = time_ratios(connection, pair) if connection is not None else {}
    for book, now, when in ((load_book(THEN), False, ""), (today, True, ", today's prices")):
        disk, flash = (priced(SUBSYSTEMS[tier], book, now=now) for tier in JUDGED)
        money = ratio_over_band(flash.bill, disk.bill, book)
        found[f"an IOPS{when}"] = {"SSDs over disks": (Substrate.SIMULATED, ratio_over_band(flash.per_iops, disk.per_iops, book))}
        queries = {
            f"SSDs over disks, {query}": (substrate, (money[0] * ratio.low, money[1] * ratio.high))
            for query, (substrate, ratio) in ratios.items()
            if ratio.low is not None and ratio.high is not None
        }
        found |= {f"a query an hour{when}": queries} if queries else {}
    return found


def time_ratios(connection: duckdb.DuckDBPyConnection, pair: str, tier: str = JUDGED[1]) -> dict[str, tuple[Substrate, Estimate]]:
    """Return query as printed -> time on `tier` over that on the disks, of one block each; direct I/O where there is any."""
    if not connection.execute("from information_schema.tables where table_name = 'survey_arrays'").fetchall():
        return {}
    rows = connection.execute(PAIRED, [pair, tier]).fetchall()
    arm = max((row[1] for row in rows), default=str(IoArm.DIRECT))
    by_query: dict[str, dict[int, tuple[Substrate, float]]] = {}
    for query, own, block, substrate, ratio in rows:
        if own == arm:
            by_query.setdefault(query, {})[block] = Substrate(substrate), ratio
    return {
        query: (
            Substrate.of({substrate for substrate, _ in found.values()}),
            geometric_estimate({block: ratio for block, (_, ratio) in found.items()}),
        )
        for query, found in by_query.items()
    }
