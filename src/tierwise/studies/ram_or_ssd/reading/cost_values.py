"""The numbers of the text on costs."""

from typing import Final

from tierwise.core.vocabulary import Evidence
from tierwise.costs.bill import turning_price
from tierwise.costs.book import Book, load_book
from tierwise.costs.delivered import newest_server
from tierwise.costs.hardware import load_hardware, members, server_bill
from tierwise.costs.units import MONTHS_A_YEAR
from tierwise.report.run import Run, book_of
from tierwise.report.text_template import Value
from tierwise.studies.ram_or_ssd.reading.money import DISK, DISK_NOW, FLASH, FLASH_NOW, THEN, Case, cases, ways

LARGER_GIB: Final = 64  # memory of a larger server than the source's, at the same price (assumed)


def cost_values(run: Run) -> dict[str, Value]:
    found = [case for case in cases(run.store) if case.data_to_ram > 1]
    then, now, case = load_book(THEN), book_of(run), found[0]
    today = _day("now", case, now, FLASH_NOW, DISK_NOW)
    larger = ways(case, then, server=newest_server(then).able_to_hold(ram_gib=LARGER_GIB))
    return {
        "cost_evidence": str(Evidence.of({one.evidence for one in found})),
        "data_over_ram": case.data_to_ram,
        "reads_per_s": case.flash.reads_per_s,
        "read_gib": case.flash.data_gib,
        "now": now.on,
        "then": then.on,
        **today,
        **_day("then", case, then, FLASH, DISK),
        "memory_now": float(str(today["memory_usd_now"])) / float(str(today["ssd_usd_now"])),
        "server_now": not now.price(newest_server(now).price).guess,
        "server_gib_then": round(newest_server(then).ram_most_gib.value),
        "larger_gib": LARGER_GIB,
        "memory_larger": larger.memory.bill.cost(then) / larger.flash.bill.cost(then),
        "ssd_now": FLASH_NOW,
        "disk_now": DISK_NOW,
    }


def _day(day: str, case: Case, book: Book, flash: str, disk: str) -> dict[str, Value]:
    """Return USD a month of each way, without a guessed server, and the price of a disk at which RAM costs as much as the SSD."""
    three, server = ways(case, book, flash=flash, disk=disk), newest_server(book)
    guess = book.price(server.price).guess
    ssd, disks, memory = (
        plan.bill + server_bill(server) * (-plan.machines if guess else 0) for plan in (three.flash, three.disks, three.memory)
    )
    item = load_hardware().drives[members(disk)[0]].price
    usd = {"ssd": ssd.cost(book), "disks": disks.cost(book), "memory": memory.cost(book)}
    return {
        **{f"{name}_usd_{day}": cost / MONTHS_A_YEAR for name, cost in usd.items()},
        f"disk_usd_{day}": book.price(item).price,
        f"turning_usd_{day}": turning_price(memory, ssd, item, book),
    }
