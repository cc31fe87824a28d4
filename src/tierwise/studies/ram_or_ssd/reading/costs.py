"""The page on costs: sections and exhibits of the Zipfian reads that have an answer in every run, as published reads stand in."""

from dataclasses import replace

from tierwise.report.page import Page, open_page
from tierwise.report.run import Run
from tierwise.report.text_template import Value
from tierwise.studies.ram_or_ssd.reading.names import PAIR, STUDY
from tierwise.studies.ram_or_ssd.reading.values import values


def open_costs(run: Run) -> Page:
    """Return the page whose numbers are those of `run` and its prices, never those of the reference run."""
    return replace(open_page(run, STUDY, PAIR), values_of=_own)


def _own(run: Run, pair: str) -> dict[str, Value]:
    return {**values(run, pair), "answered": True}
