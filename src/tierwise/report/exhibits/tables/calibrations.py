"""Calibration of the real disks, and of what reading mapped files costs."""

from typing import Final

import polars as pl

from tierwise.core.units import MB
from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import NBSP, number, seconds
from tierwise.report.run import Run

UNIT: Final = "figures"
WORDS: Final = {
    "random_read_latency_s": "One random read of 8 KiB",
    "hit_s": "One read of an item in memory, one thread",
    "fault_s": "One page fault beside the device's own time",
    "random_read_iops_8jobs": "Random reads of 8 KiB a second, 8 at once",
    "sequential_read_bytes_per_s": "Sequential read",
    "direct": "Past the page cache",
}


def rows(run: Run, pair: str) -> pl.DataFrame:  # noqa: ARG001  of the whole run
    found = [
        (f"`{tier}`", WORDS.get(name, name.replace("_", " ")), _value(name, value))
        for tier, figures in run.manifest.calibrations.items()
        for name, value in figures.items()
    ]
    return pl.DataFrame(found, orient="row")


SOURCE = rows


def tabulate(rows: pl.DataFrame) -> Cells:
    return Cells(["Pair and tier", "Figure", "Value"], rows.rows(), "llr")


def _value(name: str, value: float) -> str:
    if name == "direct":
        return "yes" if value else "no"
    if name.endswith("bytes_per_s"):
        return f"{number(value / MB)}{NBSP}MB/s"
    return seconds(value) if name.endswith("_s") else number(value)
