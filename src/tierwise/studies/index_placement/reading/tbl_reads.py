"""Pages that a count requested from the storage, by relation, cache and state."""

from typing import Final

import polars as pl

from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import count, span
from tierwise.studies.index_placement.reading.names import CACHES, CASES, deciding

UNIT: Final = "observations"
HEADER: Final = ["Cache", "State", "Table pages read", "Index pages read", "Pages found cached", "n"]
derive = deciding


def facts(rows: pl.DataFrame) -> dict[str, object]:
    return {"n": rows["counts"].sum()}


def tabulate(rows: pl.DataFrame) -> Cells:
    ordered = sorted(rows.rows(named=True), key=lambda row: (list(CACHES).index(row["cache"]), CASES.index(row["row"])))
    cells = [[row["cache"], row["row"], *(span(row[name]) for name in ("heap", "index", "hits")), count(row["counts"])] for row in ordered]
    return Cells(HEADER, cells, "llrrrr")
