"""What the first screen says of this study: how many times the commits the log gets on the SSD, over disks and over disks with a cache."""

from typing import Final

from tierwise.report.formats import number
from tierwise.report.run import Run
from tierwise.studies.wal_placement.reading.chapter import PAIR
from tierwise.studies.wal_placement.reading.ratios import of_places

TOPIC: Final = "WAL"
OVER: Final = {"hdd": "the disks' commits", "cached": "a battery-backed cache's"}
"""The places that the SSD is held against, in words."""


def finding(run: Run) -> str:
    """Return the least of the ratios without group commit, as a chapter's title; empty without enough clean repeats."""
    told = [f"{gained} times {words}" for place, words in OVER.items() if (gained := _least(run, place))]
    return f"the SSD gives at least {', '.join(told)} ({run.substrate(PAIR)})" if told else ""


def answer(run: Run) -> str:
    """Return the same for the first screen; empty where the study was not measured."""
    if told := finding(run):
        return f"{told}."
    return "no answer yet." if run.record("wal_placement", PAIR) else ""


def _least(run: Run, place: str) -> str:
    """The least of the ratios that have an interval, over the numbers of clients."""
    found = of_places(run, PAIR, "ssd", place).items()
    values = [one.value for (_, grouped), one in found if grouped == "off" and one.interval and one.value is not None]
    return number(min(values)) if values else ""
