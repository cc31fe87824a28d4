"""What the chapters take of the accounting: the book of a run's day and everything that ``tierwise cost`` would say on it."""

from datetime import date
from functools import cache

from tierwise.costs.answer import Answer, answer
from tierwise.costs.book import Book, load_book
from tierwise.report.run import Run


def book_of(run: Run, on: date | None = None) -> Book:
    """Return the prices of the day `on`, or of the run's day, with those given for `run`."""
    return _book(on or run.manifest.started_at.date(), tuple(sorted(run.prices.items())))


def answer_of(run: Run) -> Answer:
    """Return ``tierwise cost`` on the run's day, with the load of the Zipfian reads."""
    return _answer(run.manifest.started_at.date(), tuple(sorted(run.prices.items())))


@cache
def _answer(on: date, given: tuple[tuple[str, float], ...]) -> Answer:
    return answer(_book(on, given))


@cache
def _book(on: date, given: tuple[tuple[str, float], ...]) -> Book:
    book = load_book(on)
    for item, price in given:
        book = book.with_price(item, price)
    return book
