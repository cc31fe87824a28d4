"""What the chapters take of the accounting: the book of a run's day and everything that ``tierwise cost`` would say on it."""

from datetime import date
from functools import cache

from tierwise.core.vocabulary import Evidence
from tierwise.costs.answer import Answer, answer
from tierwise.costs.book import Book, load_book
from tierwise.costs.iops import RATED, simulated_iops
from tierwise.report.display import Table
from tierwise.report.formats import DASH, count, number
from tierwise.report.run import Run


def book_of(run: Run) -> Book:
    """Return the prices as they stood when the run was measured, and those that it was opened with."""
    return _book(run.manifest.started_at.date(), tuple(sorted(run.prices.items())))


def answer_of(run: Run) -> Answer:
    """Return ``tierwise cost`` on the run's day, with the load of the Zipfian reads."""
    return _answer(run.manifest.started_at.date(), tuple(sorted(run.prices.items())))


def run_note(run: Run, evidence: Evidence, n: int, what: str) -> str:
    return f"{run.stamp}, **{evidence}**, n = {count(n)} {what}."


def devices_note() -> str:
    """Return where the figures of devices come from."""
    return "Input: `data/prices`, `data/costs`, `data/devices`."


def tier_costs(run: Run, pair: str) -> Table:
    """Return the table of what the devices of `pair` cost, for the chapter of its study."""
    book = book_of(run)
    priced = {row.device: row for row in answer_of(run).devices}
    named = [(tier, spec["device"]) for tier, spec in run.manifest.pairs.get(pair, {}).get("tiers", {}).items() if "device" in spec]
    rows = [
        [tier, f"`{device}`", row.price_date, number(row.cost_a_year), number(row.per_gb), number(row.per_iops), count(round(row.iops))]
        if (row := priced.get(device))
        else [tier, f"`{device}`", "no price was read", DASH, DASH, DASH, count(round(simulated_iops(device)))]
        for tier, device in named
    ]
    return Table(
        ["Tier", "Device", "Price of", "A year", "per GB", "per IOPS", "IOPS"],
        rows,
        f"What the tiers of the pair `{pair}` cost in {book.currency}: a year with power, and over five years per GB and per IOPS "
        f"({RATED}, simulated). {run_note(run, Evidence.SIMULATED, len(rows), 'tiers')} {devices_note()}",
        align="lllrrrr",
    )


@cache
def _answer(on: date, given: tuple[tuple[str, float], ...]) -> Answer:
    return answer(_book(on, given))


@cache
def _book(on: date, given: tuple[tuple[str, float], ...]) -> Book:
    book = load_book(on)
    for item, price in given:
        book = book.with_price(item, price)
    return book
