"""Statement H13 and its verdict: what it costs a year to hold a database on SSDs over disks, the same by other measures, and today.

Mark Holliman, Database deployment scenarios and performance on SSD arrays, holds a terabyte against a terabyte. Here drives with
their power and wear are counted; neither controller nor server nor memory, which every subsystem needs.
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from math import ceil
from types import MappingProxyType
from typing import Final

import duckdb

from tierwise.advisor.workload import FAST, SLOW
from tierwise.analysis.claim_rows import Rows, mode_in
from tierwise.analysis.claims import Claim
from tierwise.analysis.judging import ClaimVerdict, Grounds, Judge
from tierwise.analysis.statistics import Estimate, geometric_estimate
from tierwise.analysis.today import Shown
from tierwise.core.errors import MissingError
from tierwise.core.units import GIB
from tierwise.core.vocabulary import Evidence, IoMode
from tierwise.costs.bill import Bill, ratio_over_band, read_once, total, turning, turning_price
from tierwise.costs.book import Book, load_book
from tierwise.costs.hardware import TB, capacity_bytes, device_bill, share_bill
from tierwise.costs.iops import simulated_iops
from tierwise.costs.price_band import Compared, Counted, judge_band
from tierwise.studies.survey_arrays.reading.names import SQL, STUDY

THEN: Final = dt.date(2012, 7, 1)  # the talk is undated; it was given about 2012
SUBSYSTEMS: Final = {"hdd": "hdd-1tb-raid5-x7", "ssd_raid5": "crucial-h-raid5-x6"}
"""Tier -> its devices, of the subsystems that are judged: only these have a redundancy and space for more than 1 TB."""
NOW: Final = {"hdd-1tb-source-h": "hdd-enterprise", "ssd-source-h": "ssd-enterprise"}
"""The same terabytes at the price that drives for servers have today; this leaves open whether drives so small are still sold."""
DISK_ITEM: Final = "hdd-1tb-source-h"
MEMBERS: Final = {"hdd-1tb": 7, "crucial-h": 6}  # drive -> how many of it the survey has in a RAID5: no larger array is built of it
FLASH_AND_DISK: Final = ("crucial-h", "hdd-1tb")
LEAST_MEMBERS: Final = 3
SIZES_TB: Final = (1, 10, 30)
"""Sizes of databases from 1 TB on, in TB: the least, and the tens of terabytes that the text calls prohibitive on SSDs (30: assumed)."""
PER_IOPS: Final = "an IOPS"  # another measure of H13, by name


def todays(bill: Bill) -> Bill:
    """Return `bill` with each drive of the survey at the price of `NOW`: either is a price of bytes."""
    return total(Bill({NOW.get(item, item): amount}) for item, amount in bill.a_year.items())


def drives(member: str, size_bytes: float) -> int:
    data = ceil(size_bytes / capacity_bytes(member))
    full, rest = divmod(data, MEMBERS[member] - 1)
    return full * MEMBERS[member] + (max(rest + 1, LEAST_MEMBERS) if rest else 0)


def holding(member: str, size_bytes: float, book: Book, *, now: bool = False) -> Bill:
    bill = device_bill(member, book) * drives(member, size_bytes)
    return todays(bill) if now else bill


def counted(book: Book, *, now: bool = False) -> Counted:
    """Return the cases of H13: holding the data on SSDs over on disks, drives alone. What the source states of prices has no band."""
    for item in () if now else NOW:
        book = book.with_price(item, book.price(item).price)
    held = {f"SSDs over disks, {size_tb} TB": _held(size_tb, book, now=now) for size_tb in SIZES_TB}
    disk = NOW[DISK_ITEM] if now else DISK_ITEM
    return Counted(
        {name: Compared(Evidence.PUBLISHED, ratio_over_band(*two, book), turning(*two, disk, book)) for name, two in held.items()},
        read_once([bill for two in held.values() for bill in two], book),
    )


def turning_gbp(book: Book) -> float | None:
    return turning_price(*_held(min(SIZES_TB), book, now=False), DISK_ITEM, book)


def _held(size_tb: float, book: Book, *, now: bool) -> tuple[Bill, Bill]:
    flash, disk = (holding(member, size_tb * TB, book, now=now) for member in FLASH_AND_DISK)
    return flash, disk


def other_measures(connection: duckdb.DuckDBPyConnection | None, pair: str, today: Book | None) -> dict[str, Counted]:
    """Return H13 by other measures and at the prices of the day `today`: what has no rows, or too few for an interval, is left out."""
    if today is None:
        return {}
    found = {"a terabyte, today's prices": counted(today, now=True)}
    ratios = time_ratios(connection, pair) if connection is not None else {}
    for book, now, when in ((load_book(THEN), False, ""), (today, True, ", today's prices")):
        bills = [device_bill(device, book) for device in SUBSYSTEMS.values()]
        disk, flash = map(todays, bills) if now else bills
        disk_iops, flash_iops = map(simulated_iops, SUBSYSTEMS.values())
        money, once = ratio_over_band(flash, disk, book), read_once([flash, disk], book)
        per_iops = Compared(Evidence.SIMULATED, ratio_over_band(flash * (1 / flash_iops), disk * (1 / disk_iops), book))
        found[f"{PER_IOPS}{when}"] = Counted({"SSDs over disks": per_iops}, once)
        queries = {
            f"SSDs over disks, {query}": Compared(evidence, (money[0] * ratio.low, money[1] * ratio.high))
            for query, (evidence, ratio) in ratios.items()
            if ratio.low is not None and ratio.high is not None
        }
        found |= {f"a query an hour{when}": Counted(queries, once)} if queries else {}
    return found


def time_ratios(connection: duckdb.DuckDBPyConnection, pair: str) -> dict[str, tuple[Evidence, Estimate]]:
    """Return query as printed -> time on the SSDs over that on the disks, of one replicate each, by the I/O mode that decides."""
    if not connection.execute("from information_schema.tables where table_name = 'survey_arrays'").fetchall():
        return {}
    rows = connection.sql(SQL["paired"], params=[pair, str(mode_in(connection, STUDY, pair))]).pl()
    return {
        str(query): (Evidence.of(set(map(Evidence, part["evidence"]))), geometric_estimate(dict(part.select("replicate", "ratio").rows())))
        for (query,), part in rows.group_by("query", maintain_order=True)
    }


def cost_efficient(claim: Claim, on: Grounds) -> ClaimVerdict:
    """Judge H13 at the source's prices, and beside it by other measures. The server on the survey's tiers reads past the page cache."""
    connection, today = (on.rows.connection, load_book(on.rows.manifest.started_at.date())) if on.rows else (None, None)
    others = other_measures(connection, on.pair, today)
    return judge_band(claim, on.pair, counted(load_book(THEN)), io_mode=IoMode.DIRECT, others=others)


MONEY: Final[Mapping[str, Judge]] = {"H13": cost_efficient}


def cases(claim: Claim, rows: Rows, pair: str) -> Sequence[Shown]:  # noqa: ARG001 - the study has one claim of money
    """Return the cost of a TiB on the fast tier of `pair` over one on the slow tier, over the price bands; none without a price."""
    tiers = rows.manifest.pairs[pair]["tiers"]
    devices = [str(tiers[tier]["device"]) for tier in (FAST, SLOW) if "device" in tiers.get(tier, {})]
    book = load_book(rows.manifest.started_at.date())
    if len(devices) < 2:
        return []
    try:
        on_fast, on_slow = (share_bill(device, 1024 * GIB, book) for device in devices)
        ratio = on_fast.cost(book) / on_slow.cost(book)
    except MissingError:
        return []
    return [Shown("a TiB on fast over slow", Estimate(ratio, *ratio_over_band(on_fast, on_slow, book), repeats=1), Evidence.PUBLISHED)]


TODAY: Final = MappingProxyType({"H13": cases})
