"""Where the I/O of pgbench goes: pages found, read and written by relation and phase, per hundred transactions."""

from typing import Final

import polars as pl

from tierwise.analysis.statistics import MINIMUM_REPEATS
from tierwise.core import studies
from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import number, percent
from tierwise.studies.pgbench_placement.reading.names import PLACEMENTS, STUDY, Columns, cells, decided

QUERY: Final = studies.text(STUDY, "reading/tables/pgbench_io.sql")
UNIT: Final = "groups"
RELATIONS: Final = {
    "pgbench_accounts": "accounts",
    "pgbench_accounts_pkey": "accounts' primary key",
    "pgbench_history": "history",
    "wal": "WAL",
}
PARAMETERS: Final = {"minimum": MINIMUM_REPEATS, "relations": list(RELATIONS)}
COLUMNS: Final[Columns] = {
    "Set": ("size", str),
    "Placement": ("placement", PLACEMENTS.__getitem__),
    "Relation": ("relation", RELATIONS.__getitem__),
    "Phase": ("phase", str),
    "Found cached": ("found_share", percent),
    "Pages read": ("pages_read", number),
    "Sequential": ("sequential_share", percent),
    "Writes": ("requests_written", number),
    "Device ms": ("device_ms", number),
}
derive = decided


def tabulate(rows: pl.DataFrame) -> Cells:
    return cells(rows, COLUMNS)
