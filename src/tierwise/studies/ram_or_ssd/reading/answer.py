"""What the first screen says of this study: whether more RAM or more flash serves the same reads for less."""

from typing import Final

from tierwise.report.run import Run
from tierwise.studies.ram_or_ssd.reading.chapter_cost import today

TOPIC: Final = "RAM or SSD"


def answer(run: Run) -> str:
    """Return how many times as much it costs to do without the SSD, at the prices of the run's day."""
    return today(run)
