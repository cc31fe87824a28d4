"""What an I/O costs: each number from the price book, the device models and the load of the Zipfian reads."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from tierwise.core.units import GIB
from tierwise.core.vocabulary import Evidence
from tierwise.costs.bill import Bill, remarks
from tierwise.costs.book import Book, load_book
from tierwise.costs.delivered import Plan, WithoutFlash
from tierwise.costs.hardware import RAM, device_bill
from tierwise.costs.iops import RATED, device_iops, simulated_rate
from tierwise.costs.price_band import Band
from tierwise.costs.sensitivity import crossing, limits, ratio_over_band
from tierwise.report.display import Sentence, Table
from tierwise.report.formats import DASH, count, interval, listed, number
from tierwise.report.prices import answer_of, book_of, devices_note, run_note
from tierwise.report.run import Run
from tierwise.report.words import claim_sentence
from tierwise.studies.ram_or_ssd.reading.money import (
    DISK,
    DISK_NOW,
    FLASH,
    FLASH_NOW,
    RAM_GIB_A_SERVER,
    THEN,
    Case,
    cases,
    swept,
    ways,
)

MB = 1e6


@dataclass(frozen=True)
class _Day:
    """The ways to serve the Zipfian reads at one day's prices, with drives that could be bought then."""

    book: Book
    three: WithoutFlash

    @property
    def least(self) -> float:
        return min(self.three.memory.bill.cost(self.book), self.three.disks.bill.cost(self.book)) / self.three.flash.bill.cost(self.book)

    @property
    def disks(self) -> float:
        return self.three.disks.bill.cost(self.book) / self.three.flash.bill.cost(self.book)

    @property
    def instead(self) -> str:
        return "RAM" if self.three.replaces_memory(self.book) else "disks"

    @property
    def told(self) -> str:
        return f"{number(self.three.cost(self.book))} USD a year ({number(self.least)} times as much, by more {self.instead})"


def devices(run: Run) -> Table:
    """Tabulate every device with a price, those of today first, of either the cheapest I/O first."""
    found = answer_of(run)
    rows = [
        [
            f"`{row.device}`",
            row.price_date,
            "rented" if row.purchase is None else number(row.purchase),
            number(row.per_gb),
            number(row.per_iops),
            count(round(row.iops)),
        ]
        for row in found.devices
    ]
    gone = listed(f"`{each.device}` ({each.why})" for each in found.left_out)
    return Table(
        ["Device", "Price of", "Purchase", "per GB", "per IOPS", "IOPS"],
        rows,
        f"Costs in {found.currency}; per GB (1e9 bytes) and per IOPS over {found.life_years:g} years with power; volumes are rented for as "
        f"long. The first {sum(row.today for row in found.devices)} devices have a price of the last year. "
        f"IOPS: {RATED}, simulated. Left out for want of a price: {gone or 'none'}. "
        f"{run_note(run, Evidence.SIMULATED, len(rows), 'devices')} {devices_note()}",
        align="llrrrr",
    )


def same_reads(run: Run) -> Table:
    rows = [
        [
            f"{case.data_to_ram:g}",
            f"{day.book.on:%Y-%m}",
            _bought(day.three.flash, day.book),
            _bought(day.three.memory, day.book),
            _bought(day.three.disks, day.book),
            interval(*ratio_over_band(day.three.memory.bill, day.three.flash.bill, day.book)),
            interval(*ratio_over_band(day.three.disks.bill, day.three.memory.bill, day.book)),
        ]
        for case in _beyond_memory(run)
        for day in reversed(_then_and_now(run, case))
    ]
    return Table(
        ["Data over RAM", "Prices of", "One SSD", "More RAM", "More disks", "RAM over SSD", "Disks over RAM"],
        rows,
        f"USD a year for the reads that the SSD machine of the Zipfian reads delivers, with RAM, machines and power, and the ratios over "
        f"the price band. {THEN:%Y-%m}: the drives of the Zipfian reads; today: `{FLASH_NOW}` and `{DISK_NOW}`. "
        f"{run_note(run, _evidence(run), len(rows), 'comparisons')} Prices: `data/prices`.",
        align="llrrrrr",
    )


def over_servers(run: Run) -> Table:
    """Tabulate R10 by what a server may hold: where more memory is as dear as the SSD, and more disks as more memory."""
    book, rows = load_book(THEN), []
    for case in _beyond_memory(run):
        over = swept(ways(case, book), book)
        for ram_gib, band in over.memory_over_flash(book).items():
            memory, flash = over.memory[ram_gib], over.flash[ram_gib]
            pieces = f"{count(memory.machines)} for RAM, {count(flash.machines)} for an SSD"
            told = [f"{case.data_to_ram:g}", "RAM over SSD", f"{ram_gib} GiB", pieces]
            rows.append([*told, *_ratio_cells(memory.bill, flash.bill, band, book)])
        least = over.memory[max(over.memory)]
        for bays, band in over.disks_over_memory(book).items():
            disks = over.disks[bays]
            pieces = f"{count(disks.machines)} for {count(disks.devices)} disks"
            told = [f"{case.data_to_ram:g}", "disks over RAM", f"{bays} bays", pieces]
            rows.append([*told, *_ratio_cells(disks.bill, least.bill, band, book)])
    return Table(
        ["Data over RAM", "Ratio", "A server holds", "Machines", "At the prices read", "Over the band", "As dear where RAM costs"],
        rows,
        f"R10 by what a server may hold, all at one price (assumed: larger ones are dearer), at the prices of {THEN:%Y-%m}. The band of "
        f"disks over RAM is also over {RAM_GIB_A_SERVER[0]} to {RAM_GIB_A_SERVER[-1]} GiB a server, its other figures are with the "
        f"most. The last column: USD a GiB, all else being equal; RAM was read at {number(book.quote(RAM).each * GIB)}; "
        f"a dash: at no price. "
        f"{run_note(run, _evidence(run), len(rows), 'comparisons')} Prices: `data/prices`.",
        align="lllllrr",
    )


def _ratio_cells(dearer: Bill, other: Bill, band: Band, book: Book) -> list[str]:
    equal = crossing(other, dearer, RAM, book)
    price = number(equal * book.quote(RAM).each * GIB) if 0 < equal < inf else DASH
    return [number(dearer.cost(book) / other.cost(book)), interval(*band), price]


def without_flash(run: Run) -> Sentence:
    case = _beyond_memory(run)[0]
    then, now = _then_and_now(run, case)
    return Sentence(
        f"With data {case.data_to_ram:g} times the RAM, **not buying the SSD** costs {now.told} at the prices of {now.book.on:%B %Y}, and "
        f"cost {then.told} at those of {THEN:%B %Y}. More disks alone: {number(now.disks)} and {number(then.disks)} times as much "
        f"as the SSD ({_evidence(run)} reads, published prices)."
    )


def sequential() -> Sentence:
    """Return the devices of the Zipfian reads in order and at random, and what a dollar buys of either."""
    book = load_book(THEN)
    rates = {name: (device_iops(name).value, simulated_rate(name) / MB, device_bill(name, book).cost(book)) for name in (FLASH, DISK)}
    (flash_iops, flash_rate, flash_cost), (disk_iops, disk_rate, disk_cost) = rates.values()
    return Sentence(
        f"At random the SSD reads {number(flash_iops / disk_iops)} times as often as the disk ({RATED}). In order it reads "
        f"{number(flash_rate)} MB/s against {number(disk_rate)} MB/s, {number(flash_rate / disk_rate)} times as much (simulated, all "
        f"over the disk). A dollar a year "
        f"buys {number(flash_iops / flash_cost)} random reads a second on the SSD and {number(disk_iops / disk_cost)} on the disk, but "
        f"{number(flash_rate / flash_cost)} against {number(disk_rate / disk_cost)} MB/s."
    )


def verdicts(run: Run) -> Sentence:
    told = [claim_sentence(claim) for claim in run.verdicts if claim.id in {"R10", "R11"}]
    return Sentence("\n\n".join(told))


def sensitivity(run: Run) -> Table:
    case = _beyond_memory(run)[0]
    rows = [
        [
            f"{day.book.on:%Y-%m}",
            f"`{limit.item}`",
            f"{limit.now:,g} {limit.unit}",
            _edge(limit.first_below, limit.then_below, day.three),
            _edge(limit.first_above, limit.then_above, day.three),
        ]
        for day in reversed(_then_and_now(run, case))
        for limit in limits(day.three.bills, day.book)
    ]
    return Table(
        ["Prices of", "Item", "Price", "Another way below", "Another way above"],
        rows,
        f"Prices at which another way to serve the Zipfian reads becomes the cheapest, with data {case.data_to_ram:g} times the RAM: "
        f"exact, as costs are linear in prices; a dash: at no price. {run_note(run, _evidence(run), len(rows), 'prices')}",
        align="llrll",
    )


def reservations(run: Run) -> Sentence:
    said = [*answer_of(run).warnings]  # of the run's own day
    for day in _then_and_now(run, _beyond_memory(run)[0]):
        if day.book.on != book_of(run).on:
            said += [f"{day.book.on:%Y-%m}: {remark}" for remark in remarks(day.three.bills.values(), day.book)]
    return Sentence("\n".join(f"- {remark}." for remark in said))


def today(run: Run) -> str:
    """Return what doing without the SSD costs today, in half a sentence for the first screen."""
    return f"{finding(run)}."


def finding(run: Run) -> str:
    _, now = _then_and_now(run, _beyond_memory(run)[0])
    return f"without SSD, reads cost {number(now.least)} times as much today ({_evidence(run)})"


def _beyond_memory(run: Run) -> Sequence[Case]:
    return [case for case in cases(run.connection) if case.data_to_ram > 1]


def _evidence(run: Run) -> Evidence:
    return Evidence.of({case.evidence for case in _beyond_memory(run)})


def _then_and_now(run: Run, case: Case) -> tuple[_Day, _Day]:
    then, now = load_book(THEN), book_of(run)
    return _Day(then, ways(case, then)), _Day(now, ways(case, now, flash=FLASH_NOW, disk=DISK_NOW))


def _bought(plan: Plan, book: Book) -> str:
    pieces = ((plan.devices, "drive"), (plan.machines, "machine"))
    told = (f"{count(number_of)} {what}{'' if number_of == 1 else 's'}" for number_of, what in pieces)
    return f"{number(plan.bill.cost(book))} ({', '.join(told)})"


def _edge(value: float, then: str | None, three: WithoutFlash) -> str:
    if then is None:
        return DASH
    name = {three.flash.name: "one SSD", three.memory.name: "more RAM", three.disks.name: "more disks"}[then]
    return f"{number(value)}: {name}"
