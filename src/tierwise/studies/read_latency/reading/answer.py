"""What the first screen says of this study: how much quicker a random read of the SSD is."""

from typing import Final

from tierwise.report.formats import interval, number
from tierwise.report.run import Run

TOPIC: Final = "Random reads"
LEAD: Final = "L4"
"""The claim on the lead of the SSD in random access."""


def answer(run: Run) -> str:
    """The lead with its interval; where it was not estimated, that there is no answer."""
    found = run.verdict(LEAD)
    if found is None:
        return ""
    if found.estimate is None or found.low is None or found.high is None:
        return "no answer yet."
    return f"{number(found.estimate)} ({interval(found.low, found.high)}) times as quick from the SSD ({found.substrate})."
