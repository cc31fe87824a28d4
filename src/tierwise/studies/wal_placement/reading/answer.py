"""What the first screen says of this study: how many times the commits the log gets on the SSD, over disks and over disks with a cache."""

from typing import Final

from tierwise.report.formats import number
from tierwise.report.run import Run
from tierwise.studies.wal_placement.reading.chapter import PAIR
from tierwise.studies.wal_placement.reading.ratios import of_places

TOPIC: Final = "WAL"
OVER: Final = {"hdd": "those on disks", "cached": "those behind a battery-backed cache"}
"""The places that the SSD is held against, in words."""


def answer(run: Run) -> str:
    """The range of the ratios without group commit; empty where the study was not measured."""
    told = [f"{gained} times {words}" for place, words in OVER.items() if (gained := _range(run, place))]
    if told:
        return f"on the SSD it gets {' and '.join(told)} in commits a second ({run.substrate(PAIR)})."
    return "no answer yet." if run.record("wal_placement", PAIR) else ""


def _range(run: Run, place: str) -> str:
    """The least and the most of the ratios that have an interval, by clients: ``1.3 to 1.5``."""
    found = of_places(run, PAIR, "ssd", place).items()
    values = sorted(one.value for (_, grouped), one in found if grouped == "off" and one.interval and one.value is not None)
    if not values:
        return ""
    low, high = number(values[0]), number(values[-1])
    return low if low == high else f"{low} to {high}"
