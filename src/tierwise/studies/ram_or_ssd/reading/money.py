"""The two machines of the Zipfian reads: what their reads cost, what the same reads would cost without flash, and the verdicts on that."""

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import duckdb
import polars as pl

from tierwise.analysis.claims import Claim
from tierwise.analysis.judging import ClaimVerdict, Grounds, Judge
from tierwise.core.sql_files import named_statements
from tierwise.core.units import GIB
from tierwise.core.vocabulary import Evidence, IoMode
from tierwise.costs.bill import Bill, phrase, ratio_over_band, read_once, turning
from tierwise.costs.book import Book, load_book
from tierwise.costs.delivered import Load, Plan, WithoutFlash, newest_server, plan_on
from tierwise.costs.hardware import Medium, Server
from tierwise.costs.iops import Iops, simulated_iops, simulated_rate
from tierwise.costs.price_band import Compared, Counted, judge_band

STUDY: Final = "ram_or_ssd"
SQL: Final = named_statements(__package__, "queries.sql")
PAIR: Final = "source-r"
TIERS: Final = {"hdd": "disk", "ssd": "SSD"}
THEN: Final = dt.date(2014, 7, 11)  # when the article appeared
FLASH: Final = "crucial-m4"
DISK: Final = "st3000dm001"
DISK_ITEM: Final = "hdd-3tb-7k2"
FLASH_NOW: Final = "kingston-dc600m"
DISK_NOW: Final = "exos-x24-24tb"  # pieces of the same kinds that can be bought today
RAM_BYTES: Final = 16 * GIB
LARGER_GIB: Final = 64  # memory of a larger server than the source's, at the same price (assumed)


@dataclass(frozen=True)
class Served:
    """What one of the machines delivers over so much data."""

    data_gib: float
    medium: Medium
    reads_per_s: float
    device_iops: float
    evidence: Evidence

    @property
    def load(self) -> Load:
        return Load(self.data_gib * GIB, RAM_BYTES, self.reads_per_s, self.device_iops / self.reads_per_s)


@dataclass(frozen=True)
class Case:
    flash: Served
    disk: Served

    @property
    def data_to_ram(self) -> float:
        return self.flash.data_gib * GIB / RAM_BYTES

    @property
    def evidence(self) -> Evidence:
        return Evidence.of({self.flash.evidence, self.disk.evidence})


def _published(data_gib: float, flash: float, disk: float) -> Case:
    """R1 to R4: reads for each of the 33,000 and 250 a second that the text gives the devices."""
    on_flash = Served(data_gib, "ssd", flash * 33_000, 33_000, Evidence.PUBLISHED)
    return Case(on_flash, Served(data_gib, "hdd", disk * 250, 250, Evidence.PUBLISHED))


PUBLISHED: Final = (_published(32, 4.45, 2.12), _published(64, 3.15, 1.5))


def cases(connection: duckdb.DuckDBPyConnection | None = None) -> tuple[Case, ...]:
    """Return what the run of `connection` simulated of both machines, by data size; where it has no such rows, what was published."""
    known = connection is not None and connection.execute("from information_schema.tables where table_name = 'ram_or_ssd'").fetchall()
    if connection is None or not known:
        return PUBLISHED
    return cases_of(pl.DataFrame(connection.sql(SQL["served"], params={"pair": PAIR}).to_arrow_table()))


def cases_of(rows: pl.DataFrame) -> tuple[Case, ...]:
    columns = rows.select("data_gib", "medium", "reads_per_s", "device_iops", "evidence")
    served = {(gib, medium): Served(gib, medium, reads, iops, Evidence(word)) for gib, medium, reads, iops, word in columns.rows()}
    sizes = sorted({data_gib for data_gib, medium in served if (data_gib, "ssd") in served and (data_gib, "hdd") in served})
    return tuple(Case(served[size, "ssd"], served[size, "hdd"]) for size in sizes) or PUBLISHED


def ways(case: Case, book: Book, *, flash: str = FLASH, disk: str = DISK, server: Server | None = None) -> WithoutFlash:
    """Return flash, more disks and more memory, each for the reads that the flash machine delivers.

    A disk machine's misses for each read are its own: reading ahead fills its cache with pages that nobody requested. The devices sustain
    what they did in the machines of the Zipfian reads; other devices what their models do.
    """
    server = server or newest_server(book)
    rate = {
        name: Iops(served.device_iops if name in {FLASH, DISK} else simulated_iops(name), served.evidence)
        for name, served in ((flash, case.flash), (disk, case.disk))
    }
    missing = Load(case.flash.load.data_bytes, RAM_BYTES, case.flash.reads_per_s, case.disk.load.misses_per_read)
    return WithoutFlash(
        flash=plan_on(flash, case.flash.load, book, rate[flash], server=server),
        disks=plan_on(disk, missing, book, rate[disk], server=server),
        memory=plan_on(disk, missing, book, rate[disk], server=server, in_ram=True),
    )


def compared(found: Iterable[Case], book: Book, server: Server | None = None) -> Counted:
    """Return the cases of R10 with data beyond the memory: more memory (more machines) over flash, and more disks over more memory."""
    ratios: dict[str, Compared] = {}
    bills: list[Bill] = []
    for case in found:
        if case.data_to_ram <= 1:
            continue
        at, (flash, disks, memory) = f"data {case.data_to_ram:g} x RAM", ways(case, book, server=server).bills.values()
        turns = turning(memory, flash, DISK_ITEM, book)
        ratios[f"more RAM over an SSD, {at}"] = Compared(case.evidence, ratio_over_band(memory, flash, book), turns)
        ratios[f"more disks over more RAM, {at}"] = Compared(case.evidence, ratio_over_band(disks, memory, book))
        bills += [flash, disks, memory]
    return Counted(ratios, read_once(bills, book))


def machine(case: Case, book: Book, *, disk: str = DISK) -> Plan:
    """Return the disk machine: one `disk`, and the reads that the published one delivers."""
    return plan_on(disk, case.disk.load, book, Iops(case.disk.device_iops, case.disk.evidence), server=newest_server(book))


def per_million(bill: Bill, reads_per_s: float) -> Bill:
    return bill * (1e6 / (reads_per_s * 365.25 * 86400))


def replaces_memory(claim: Claim, on: Grounds) -> ClaimVerdict:
    """Judge R10, wherever the data do not fit memory: flash is the cheapest, and without it memory is cheaper than disks. Beside it stands
    what larger servers would say.
    """
    found, book = cases(on.rows.connection if on.rows else None), load_book(THEN)
    larger = compared(found, book, newest_server(book).able_to_hold(ram_gib=LARGER_GIB))
    others = {f"servers of {LARGER_GIB} GiB": larger}
    verdict = judge_band(claim, on.pair, compared(found, book), io_mode=IoMode.BUFFERED, others=others)
    beside = phrase("band.beside", value=verdict.others[0].estimate, name=verdict.others[0].variant)
    return verdict.model_copy(update={"conditions": (*verdict.conditions, beside)})


def sequential(claim: Claim, on: Grounds) -> ClaimVerdict:
    """Judge R11: by how much flash is ahead of the disk in random reads, over how much in sequential ones; prices cancel."""
    ratio = simulated_iops(FLASH) / simulated_iops(DISK) / (simulated_rate(FLASH) / simulated_rate(DISK))
    lead = Compared(Evidence.SIMULATED, (ratio, ratio))
    return judge_band(claim, on.pair, Counted({"random lead over sequential lead": lead}), io_mode=IoMode.BUFFERED)


MONEY: Final[Mapping[str, Judge]] = {"R10": replaces_memory, "R11": sequential}
