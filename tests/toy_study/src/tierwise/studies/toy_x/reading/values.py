"""The numbers of the text on source X."""

from tierwise.report.exhibit_registry import find
from tierwise.report.run import Run
from tierwise.report.text_template import Value


def values(run: Run, pair: str) -> dict[str, Value]:
    """Return the median time on flash over that on disks; None where too few searches are clean."""
    ratios = {row["tier"]: row["ratio"] for row in find("tbl-toy-x-seconds", "toy_x").rows(run, pair).frame.rows(named=True)}
    return {"answered": bool(ratios), "flash_ratio": ratios.get("ssd")}
