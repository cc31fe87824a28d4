"""Rented storage that meets an example: price, limit, and when memory would be cheaper."""

from typing import Final

import polars as pl

from tierwise.costs import volumes as rented
from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import DASH, NBSP, count, number
from tierwise.report.prices import book_of
from tierwise.report.run import Run

UNIT: Final = "volumes"
EXAMPLE: Final = rented.Wanted(gib=500, iops=6000, mib_s=200)
"""What the rented storage is priced for: an example, not a need that was measured."""
SCHEMA: Final = {
    "volume": pl.String,
    "pieces": pl.Int64,
    "usd_a_month": pl.Float64,
    "latency_ms": pl.Float64,
    "assumed": pl.Boolean,
    "binds": pl.String,
    "memory_reads_per_s": pl.Float64,
}


def rows(run: Run, pair: str) -> pl.DataFrame:  # noqa: ARG001  of no pair
    offers = [one for one in rented.volumes(book_of(run), EXAMPLE).offers if one.per_month is not None]
    cells = []
    for one in offers:
        reads_per_s = one.memory.reads_per_s if one.memory else None
        cells.append((one.volume, one.count, one.per_month, one.latency.ms, one.latency.assumed, one.binds, reads_per_s))
    return pl.DataFrame(cells, schema=SCHEMA, orient="row")


SOURCE = rows


def facts(rows: pl.DataFrame) -> dict[str, object]:  # noqa: ARG001  published prices
    return {"evidence": "published", "gib": EXAMPLE.gib, "iops": EXAMPLE.iops, "mib_s": EXAMPLE.mib_s}


def tabulate(rows: pl.DataFrame) -> Cells:
    return Cells(
        ["Volume", "Pieces", "USD a month", "USD a month per 1,000 IOPS", "A read alone", "What binds", "Memory is cheaper from"],
        [
            [
                f"`{row['volume']}`",
                count(row["pieces"]),
                number(row["usd_a_month"]),
                number(1000 * row["usd_a_month"] / EXAMPLE.iops),
                f"{number(row['latency_ms'])}{NBSP}ms{', assumed' if row['assumed'] else ''}",
                row["binds"],
                DASH if row["memory_reads_per_s"] is None else f"{number(row['memory_reads_per_s'])} reads/s",
            ]
            for row in rows.rows(named=True)
        ],
        "lrrrrlr",
    )
