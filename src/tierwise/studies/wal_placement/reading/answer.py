"""What the first screen says of this study: how many times the commits the log gets on the SSD, over disks and over disks with a cache."""

from typing import Final

from tierwise.report.formats import count, number
from tierwise.report.run import Run
from tierwise.studies.wal_placement.reading.chapter import PAIR
from tierwise.studies.wal_placement.reading.ratios import of_places, word

TOPIC: Final = "WAL"
OVER: Final = {"hdd": "the disks' commits", "cached": "a battery-backed cache's"}
"""The places that the SSD is held against, in words."""


def finding(run: Run) -> str:
    """Return the ratios without group commit, as a chapter's title; empty without enough clean repeats.

    Where they do not all pay it counts those that do: the least of them alone may be a ratio whose interval holds 1.
    """
    gained = {place: _told(run, place) for place in OVER}
    told = [gained[place] for place in OVER if gained[place]]
    return f"the SSD gives {' and '.join(told)} ({run.evidence(PAIR)})" if told else ""


def answer(run: Run) -> str:
    """Return the same for the first screen; empty where the study was not measured."""
    if told := finding(run):
        return f"{told}."
    return "no answer yet." if run.record("wal_placement", PAIR) else ""


def _told(run: Run, place: str) -> str:
    """Return the range of the ratios over `place` that have an interval, over the numbers of clients; in how many the SSD pays, where not
    in all.
    """
    found = [one for (_, grouped), one in of_places(run, PAIR, "ssd", place).items() if grouped == "off" and one.interval]
    values = [one.value for one in found if one.value is not None]
    pays = sum(word(one) == "pays" for one in found)
    if not values:
        return ""
    if not pays:
        return f"no gain that is seen over {OVER[place]}"
    if pays < len(found):
        return f"more than {OVER[place]} in {count(pays)} of {count(len(found))} cases"
    ends = dict.fromkeys((number(min(values)), number(max(values))))
    return f"{' to '.join(ends)} times {OVER[place]}"
