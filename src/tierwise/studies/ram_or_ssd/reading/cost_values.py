"""The numbers of the text on costs."""

from typing import Final

import polars as pl

from tierwise.core.vocabulary import Evidence
from tierwise.costs.book import Book, load_book
from tierwise.costs.delivered import newest_server
from tierwise.report.prices import book_of
from tierwise.report.run import Run
from tierwise.report.text_template import Value
from tierwise.studies.ram_or_ssd.reading.money import DISK, DISK_NOW, FLASH, FLASH_NOW, RAM_GIB_A_SERVER, THEN, Case, cases, ways
from tierwise.studies.ram_or_ssd.reading.placements import placements

KINDS: Final = {"own SSD": "ssd", "RAM over a disk": "ram", "rented volume": "volume", "own disks": "disks"}


def cost_values(run: Run) -> dict[str, Value]:
    """Return what the same reads cost without the SSD, now and then, and each kind of placement over the cheapest."""
    beyond = [case for case in cases(run.connection) if case.data_to_ram > 1]
    then, now = load_book(THEN), book_of(run)
    usd = {name: float(str(least)) for name, least in placements(run).group_by("kind").agg(pl.col("usd").min()).rows()}
    return {
        "cost_evidence": str(Evidence.of({case.evidence for case in beyond})),
        "data_over_ram": beyond[0].data_to_ram,
        "now": now.on,
        "then": then.on,
        **_day("now", beyond[0], now, FLASH_NOW, DISK_NOW),
        **_day("then", beyond[0], then, FLASH, DISK),
        "server_gib_then": round(newest_server(then).ram_most_gib.value),
        "swept_gib": max(RAM_GIB_A_SERVER),
        **_swept(run),
        "ssd_now": FLASH_NOW,
        "disk_now": DISK_NOW,
        **{f"place_{name}": usd[kind] / min(usd.values()) if kind in usd else None for kind, name in KINDS.items()},
    }


def _swept(run: Run) -> dict[str, Value]:
    """Return the range of more RAM over the SSD by R10, for the smallest data that do not fit in RAM."""
    claim = run.verdict("R10")
    first = claim.cases[0] if claim and claim.cases else None
    return {"swept_low": first.low if first else None, "swept_high": first.high if first else None}


def _day(day: str, case: Case, book: Book, flash: str, disk: str) -> dict[str, Value]:
    """Return the cost of more RAM and of more disks over that of the SSD, and what doing without it costs more."""
    three = ways(case, book, flash=flash, disk=disk)
    ssd = three.flash.bill.cost(book)
    return {
        f"memory_{day}": three.memory.bill.cost(book) / ssd,
        f"disks_{day}": three.disks.bill.cost(book) / ssd,
        f"extra_{day}": three.cost(book),
    }
