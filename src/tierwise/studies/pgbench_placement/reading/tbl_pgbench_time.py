"""Where the time of pgbench's sessions went, and how busy each device was, by placement."""

from typing import Final

import polars as pl

from tierwise.report.exhibit_registry import Cells
from tierwise.report.session_time import tabulated
from tierwise.studies.pgbench_placement.reading.names import PLACEMENTS, decided

UNIT: Final = "shares"
KEYS: Final = {"Set": "size", "Placement": "placement", "Commits": "synchronous_commit"}
WORDS: Final = {"placement": PLACEMENTS, "synchronous_commit": {"on": "wait", "off": "do not wait"}}
TIERS: Final = {"hdd": "disks", "ssd": "SSD", "wal": "log"}
derive = decided


def tabulate(rows: pl.DataFrame) -> Cells | None:
    return tabulated(rows, KEYS, WORDS, TIERS)
