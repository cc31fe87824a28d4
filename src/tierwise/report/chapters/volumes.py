"""What rented storage takes for an example: every volume that meets it, what limits it, and when memory would be cheaper."""

from typing import Final

from tierwise.core.vocabulary import Evidence
from tierwise.costs import volumes as rented
from tierwise.costs.units import MONTHS_A_YEAR
from tierwise.report.display import Table
from tierwise.report.formats import DASH, NBSP, count, number
from tierwise.report.prices import book_of, devices_note, run_note
from tierwise.report.run import Run

EXAMPLE: Final = rented.Wanted(gib=500, iops=6000, mib_s=200)
"""What the rented storage is priced for: an example, not a need that was measured."""


def told() -> str:
    """Say the example in words: ``500 GiB with 6,000 IOPS``."""
    return f"{EXAMPLE.gib:g}{NBSP}GiB with {count(int(EXAMPLE.iops))}{NBSP}IOPS"


def priced(run: Run) -> list[tuple[rented.Offer, float]]:
    """Return what meets the example and has a price on the day of `run`, with its money a month; the cheapest first."""
    return [(offer, offer.per_month) for offer in rented.volumes(book_of(run), EXAMPLE).offers if offer.per_month is not None]


def table(run: Run) -> Table:
    """Return every priced volume that meets the example, with what an IOPS of it costs and when a GiB more of memory would be cheaper."""
    found = priced(run)
    currency = book_of(run).currency
    gib_month = min((offer.memory.gib_month for offer, _ in found if offer.memory), default=None)
    in_memory = [] if gib_month is None else [["all in RAM", DASH, *_money(gib_month * EXAMPLE.gib), DASH, "its size", DASH]]
    return Table(
        ["Volume", "Pieces", "A month", "An IOPS a year", "A read alone", "What binds", "A GiB of memory is cheaper from"],
        [
            [
                f"`{offer.volume}`",
                count(offer.count),
                *_money(per_month),
                f"{number(offer.latency.ms)}{NBSP}ms{', assumed' if offer.latency.assumed else ''}",
                offer.binds,
                _memory(offer),
            ]
            for offer, per_month in found
        ]
        + in_memory,
        f"Rented storage for {told()} and {EXAMPLE.mib_s:g} MiB/s, in {currency} without the machine, as its providers publish limits and "
        "prices; RAM as the cheapest of their machines sells a GiB more. The last column: how many reads a second a GiB more of memory "
        "must save to cost less than the volume that it spares; a dash: it does not, or is not priced. "
        f"{run_note(run, Evidence.PUBLISHED, len(found), 'volumes')} {devices_note()}",
        align="lrrrrlr",
    )


def _money(per_month: float) -> list[str]:
    return [number(per_month), number(MONTHS_A_YEAR * per_month / EXAMPLE.iops)]


def _memory(offer: rented.Offer) -> str:
    if offer.memory is None or offer.memory.reads_per_s is None:
        return DASH
    return f"{number(offer.memory.reads_per_s)} reads/s"
