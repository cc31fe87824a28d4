"""Times and rates that the sources state, and ours beside them."""

from typing import Final

import polars as pl

from tierwise.analysis.claim_rows import Rows
from tierwise.analysis.claims import load_claims
from tierwise.analysis.rates import compare_rates
from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import DASH, number
from tierwise.report.run import Run

UNIT: Final = "rates"
HEADER: Final = ["Source", "What", "Stated", "Published", "Ours", "Ours over published", "Statements that rest on it", "What it tests"]


def rows(run: Run, pair: str = "") -> pl.DataFrame:  # noqa: ARG001  of all sources' pairs
    sources = load_claims().sources
    found = [
        {
            **one.rate.model_dump(include={"name", "stated", "published", "least", "unit", "why"}),
            "source": sources[one.rate.source].author,
            "claims": ", ".join(one.rate.claims),
            "ours": one.ours,
            "factor": one.factor,
            "met": one.met,
            "evidence": str(run.evidence(sources[one.rate.source].pair) or ""),
        }
        for one in compare_rates(Rows(run.store, run.manifest))
    ]
    return pl.DataFrame(found, infer_schema_length=None)


def tabulate(rows: pl.DataFrame) -> Cells:
    return Cells(HEADER, [_cells(row) for row in rows.rows(named=True)], "lllrrrll")


def _cells(row: dict[str, object]) -> list[str]:
    published, ours, factor = (None if row[name] is None else number(float(str(row[name]))) for name in ("published", "ours", "factor"))
    ratio = DASH if factor is None else factor if row["met"] else f"**{factor}**"
    least = "at least " if row["least"] else ""  # breakable, as the unit: the table has eight columns
    unit = f" {row['unit']}"
    return [
        str(row["source"]),
        str(row["name"]),
        str(row["stated"]),
        f"{least}{published}{unit}",
        f"{ours}{unit}" if ours else DASH,
        ratio,
        str(row["claims"]) or DASH,
        str(row["why"]),
    ]
