"""Every published statement in one line, with its verdict."""

from typing import Final

import polars as pl

from tierwise.analysis.claims import load_claims
from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import DASH, tied
from tierwise.report.values.verdicts import judged
from tierwise.report.words import spelled

UNIT: Final = "statements"
rows = judged
HEADER: Final = ["Claim", "Published statement", "Bounds", "Found (95 % interval)", "Evidence", "Verdict"]


MORE: Final = {"today": "Today", "here": "Here"}
"""Columns that are shown where a run has another pair: of today's drives, and of the reader's own."""


def tabulate(rows: pl.DataFrame) -> Cells:
    more = [name for name in MORE if rows[name].ne("").any()]
    cells = [[*_row(row), *(row[name] or DASH for name in more)] for row in rows.rows(named=True)]
    return Cells([*HEADER, *(MORE[name] for name in more)], cells, "l" * (len(HEADER) + len(more)))


def facts(rows: pl.DataFrame) -> dict[str, object]:  # noqa: ARG001  of every statement
    return {"sources": len(load_claims().sources)}


def _row(row: dict[str, str]) -> list[str]:
    case = f"{row['case']}: " if row["case"] else ""
    reason = f" ({spelled(row['reason'])})" if row["reason"] else ""
    return [
        row["claim"],
        tied(row["statement"]),
        row["bounds"],
        f"{case}{row['deciding']}",
        row["evidence"] or DASH,
        f"**{row['verdict']}**{reason}",
    ]
