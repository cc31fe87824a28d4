"""What the first screen says of this study: how much quicker a random read of the SSD is."""

from typing import Final

from tierwise.report.formats import number
from tierwise.report.run import Run

TOPIC: Final = "Random reads"
LEAD: Final = "L4"
"""The claim on the lead of the SSD in random access."""


def finding(run: Run) -> str:
    """Return the lead, as a chapter's title; empty where it was not estimated with an interval."""
    found = run.verdict(LEAD)
    if found is None or found.estimate is None or found.low is None:
        return ""
    return f"a random read is {number(found.estimate)} times as quick from SSD ({found.evidence})"


def answer(run: Run) -> str:
    """Return the same for the first screen; where there is none, that there is no answer."""
    if told := finding(run):
        return f"{told.removeprefix('a random read is ')}."
    return "no answer yet." if run.verdict(LEAD) else ""
