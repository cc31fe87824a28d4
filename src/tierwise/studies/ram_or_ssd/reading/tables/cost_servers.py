"""R10 by what a server may hold: more RAM over an SSD, and more disks over more RAM."""

from collections.abc import Mapping
from math import inf
from typing import Any, Final

import polars as pl

from tierwise.core.units import GIB
from tierwise.costs.bill import Bill
from tierwise.costs.book import Book, load_book
from tierwise.costs.hardware import RAM
from tierwise.costs.price_band import Band
from tierwise.costs.sensitivity import crossing
from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import DASH, count, interval, number
from tierwise.report.run import Run
from tierwise.studies.ram_or_ssd.reading.days import beyond_memory, evidence
from tierwise.studies.ram_or_ssd.reading.money import THEN, swept, ways

UNIT: Final = "comparisons"
HEADER: Final = ["Data over RAM", "Ratio", "A server holds", "Machines", "At the prices read", "Over the band", "Equal if RAM costs"]


def servers(run: Run, _pair: str) -> pl.DataFrame:
    """Return each ratio by what a server holds: machines, ratio at the prices read, its band, and the price of RAM that makes it 1."""
    book, rows = load_book(THEN), []
    for case in beyond_memory(run):
        over = swept(ways(case, book), book)
        same = {"data_over_ram": case.data_to_ram, "ram_usd": book.quote(RAM).each * GIB, "of": evidence(run)}
        for ram_gib, band in over.memory_over_flash(book).items():
            memory, flash = over.memory[ram_gib], over.flash[ram_gib]
            machines = f"{count(memory.machines)} for RAM, {count(flash.machines)} for an SSD"
            named = {"ratio": "RAM over SSD", "holds": f"{ram_gib} GiB", "machines": machines}
            rows.append({**same, **named, **_ratio(memory.bill, flash.bill, band, book)})
        least = over.memory[max(over.memory)]
        for bays, band in over.disks_over_memory(book).items():
            disks = over.disks[bays]
            machines = f"{count(disks.machines)} for {count(disks.devices)} disks"
            named = {"ratio": "disks over RAM", "holds": f"{bays} bays", "machines": machines}
            rows.append({**same, **named, **_ratio(disks.bill, least.bill, band, book)})
    return pl.DataFrame(rows)


SOURCE = servers


def _ratio(dearer: Bill, other: Bill, band: Band, book: Book) -> dict[str, Any]:
    equal = crossing(other, dearer, RAM, book)
    low, high = band
    return {
        "at": dearer.cost(book) / other.cost(book),
        "low": low,
        "high": high,
        "equal": equal * book.quote(RAM).each * GIB if 0 < equal < inf else None,
    }


def facts(rows: pl.DataFrame) -> Mapping[str, object]:
    return {"evidence": rows["of"][0], "ram_usd": rows["ram_usd"][0]}


def tabulate(rows: pl.DataFrame) -> Cells:
    lines = [
        [
            *(f"{row['data_over_ram']:g}", row["ratio"], row["holds"], row["machines"], number(row["at"])),
            *(interval(row["low"], row["high"]), DASH if row["equal"] is None else number(row["equal"])),
        ]
        for row in rows.rows(named=True)
    ]
    return Cells(HEADER, lines, "lllllrr")
