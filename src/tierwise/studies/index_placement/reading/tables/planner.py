"""What the planner estimates with the published settings, beside the published figures, and the scan that it chooses today."""

from typing import Any, Final

import polars as pl

from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import DASH, count, number
from tierwise.report.run import Run
from tierwise.studies.index_placement.reading.planner import PLACES, PUBLISHED, planner_of

UNIT: Final = "statements"
HEADER: Final = ["Place of birth", "Estimated", "Found", "Estimated / found", "Published", "Cost", "Published cost", "Scan chosen today"]


def rows(run: Run, pair: str) -> pl.DataFrame:
    planner = planner_of(run, pair)
    today, found = planner.get("today") or {}, planner.get("published_switches") or {}
    return pl.DataFrame([{"code": code, **one, "today": today.get(code, {}).get("scan")} for code, one in found.items()])


SOURCE = rows


def tabulate(rows: pl.DataFrame) -> Cells:
    return Cells(HEADER, [_row(row, PUBLISHED.get(row["code"], {})) for row in rows.rows(named=True)], "lrrrrrrl")


def _row(row: dict[str, Any], published: dict[str, float]) -> list[str]:
    return [
        PLACES.get(row["code"], row["code"]),
        count(row["rows"]),
        count(row["found_rows"]),
        number(row["rows"] / row["found_rows"]) if row["found_rows"] else DASH,
        number(published["rows"] / published["found_rows"]) if "found_rows" in published else DASH,
        f"{row['total_cost']:,.2f}",
        f"{published['total_cost']:,.2f}" if published else DASH,
        row["today"] or DASH,
    ]
