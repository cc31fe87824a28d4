"""Where the I/O of pgbench goes: pages found, read and written by relation and phase, per hundred transactions."""

from collections.abc import Callable
from typing import Final

import polars as pl

from tierwise.analysis.statistics import MINIMUM_REPEATS
from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import DASH, number, percent
from tierwise.studies.pgbench_placement.reading.names import PLACEMENTS, decided

UNIT: Final = "groups"
RELATIONS: Final = {
    "pgbench_accounts": "accounts",
    "pgbench_accounts_pkey": "accounts' primary key",
    "pgbench_history": "history",
    "wal": "WAL",
}
PARAMETERS: Final = {"minimum": MINIMUM_REPEATS, "relations": list(RELATIONS)}
TEXTS: Final = {"Set": "size", "Placement": "placement", "Relation": "relation", "Phase": "phase"}
FIGURES: Final[dict[str, tuple[str, Callable[[float], str]]]] = {
    "Found cached": ("found_share", percent),
    "Pages read": ("pages_read", number),
    "Sequential": ("sequential_share", percent),
    "Writes": ("requests_written", number),
    "Device ms": ("device_ms", number),
}
"""Header -> column of the rows, and the form of its cells."""
derive = decided


def tabulate(rows: pl.DataFrame) -> Cells:
    named = rows.with_columns(pl.col("placement").replace(PLACEMENTS), pl.col("relation").replace(RELATIONS))
    cells = [
        [*(row[name] for name in TEXTS.values()), *(DASH if row[name] is None else form(row[name]) for name, form in FIGURES.values())]
        for row in named.rows(named=True)
    ]
    return Cells([*TEXTS, *FIGURES], cells, "llllrrrrr")
