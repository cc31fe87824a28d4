"""What the first screen says of this study: how much quicker a random read of the SSD is."""

from typing import Final

from tierwise.report.formats import number
from tierwise.report.run import Run

TOPIC: Final = "Random reads"
LEAD: Final = "L4"
"""The claim on the lead of the SSD in random access."""


def answer(run: Run) -> str:
    """The lead; where it was not estimated with an interval, that there is no answer."""
    found = run.verdict(LEAD)
    if found is None:
        return ""
    if found.estimate is None or found.low is None:
        return "no answer yet."
    return f"{number(found.estimate)} times as quick from the SSD ({found.substrate})."
