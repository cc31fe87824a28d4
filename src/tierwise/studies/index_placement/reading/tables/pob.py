"""Rows of each query, published and here, and the pages of the table that hold them."""

from typing import Any, Final

import polars as pl

from tierwise.core.data_sets import whole_rows
from tierwise.core.units import PAGE_BYTES
from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import DASH, count, number, percent
from tierwise.report.run import Run
from tierwise.report.words import case_name
from tierwise.studies.index_placement.reading.names import STUDY
from tierwise.studies.index_placement.reading.planner import facts_of

QUERY: Final = "select distinct state, result_rows from index_placement_observations where pair = $pair and cache <> 'cross'"
UNIT: Final = "statements"
HEADER: Final = ["Place of birth", "Published rows", "At this scale", "Found", "On table pages", "Share of table", "Rows a page"]
PUBLISHED: Final = {"FL": 54_445, "PR": 10_134, "NV": 4_722}
"""Rows that each query found in the census study."""


def derive(run: Run, pair: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each state that was counted, with what the manifest knows of the table and its rows."""
    record, known, found = run.manifest.data("census", STUDY), facts_of(run, pair), dict(rows.rows())
    pages, size_bytes = known.get("cold_pages", {}), known.get("size_bytes", {}).get("census")
    data = {"rows": record and record.rows, "synthetic": record is not None and run.manifest.source_of(record) == "synthetic"}
    states = [
        {"state": state, "found": found[state], "pages": pages.get(state, {}).get("census"), "size_bytes": size_bytes, **data}
        for state in PUBLISHED
        if state in found
    ]
    return pl.DataFrame(states)


def facts(rows: pl.DataFrame) -> dict[str, object]:
    first = rows.row(0, named=True) if rows.height else {}
    known = {"rows": first.get("rows"), "synthetic": first.get("synthetic", False)}
    return {**known, "share": known["rows"] and known["rows"] / whole_rows("census")}


def tabulate(rows: pl.DataFrame) -> Cells:
    return Cells(HEADER, [_row(row) for row in rows.rows(named=True)], "lrrrrrr")


def _row(row: dict[str, Any]) -> list[str]:
    published, pages, found = PUBLISHED[row["state"]], row["pages"], row["found"]
    here = count(round(published * row["rows"] / whole_rows("census"))) if row["rows"] else DASH
    table = percent(pages * PAGE_BYTES / row["size_bytes"]) if pages and row["size_bytes"] else DASH
    held = [count(pages), table, number(found / pages)] if pages else [DASH] * 3
    return [case_name(row["state"]), count(published), here, count(found), *held]
