"""The numbers of the toy study's text."""

from tierwise.report.estimates import ends, estimates
from tierwise.report.exhibit_registry import find
from tierwise.report.run import Run
from tierwise.report.text_template import Value

STUDY = "toy_x"


def values(run: Run, pair: str) -> dict[str, Value]:
    """Return how much of the time on disks a search takes on flash."""
    found = estimates(find("tbl-toy-x-seconds", STUDY).rows(run, pair).frame, ["tier"])
    known = {key: one for key, one in found.items() if key == ("ssd",) and one.interval}
    return {"answered": bool(known), **ends("ratio", known)}
