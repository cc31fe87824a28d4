"""What the chapters take of the accounting: the book of a run's day and everything that ``tierwise cost`` would say on it."""

from datetime import date
from functools import cache

from tierwise.core.words import Substrate
from tierwise.costs.answer import Answer, answer
from tierwise.costs.book import Book, load_book
from tierwise.report.formats import count
from tierwise.report.run import Run


def book_of(run: Run) -> Book:
    """The prices as they stood when the run was measured."""
    return load_book(run.manifest.started_at.date())


def answer_of(run: Run) -> Answer:
    """``tierwise cost`` on the run's day, with the load of the Zipfian reads."""
    return _answer(run.manifest.started_at.date())


def run_note(run: Run, substrate: Substrate, n: int, what: str) -> str:
    """The end of a caption: run, substrate, how many of what."""
    return f"{run.stamp}, **{substrate}**, n = {count(n)} {what}."


def devices_note() -> str:
    """Where the figures of devices come from."""
    return "Input: `data/prices`, `data/costs`, `data/devices`."


@cache
def _answer(on: date) -> Answer:
    return answer(load_book(on))
