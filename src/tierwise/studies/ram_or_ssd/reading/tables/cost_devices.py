"""What a gigabyte and a random read per second cost on every device with a price."""

from collections.abc import Mapping
from typing import Final

import polars as pl

from tierwise.core.vocabulary import Evidence
from tierwise.costs.iops import LATENCY_MS
from tierwise.costs.units import MONTHS_A_YEAR
from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import count, number
from tierwise.report.prices import answer_of
from tierwise.report.run import Run

UNIT: Final = "devices"
HEADER: Final = ["Device", "GB", "Price of", "Purchase", "A month", "per GB", "per IOPS", "IOPS"]
FIELDS: Final = ("device", "capacity_gb", "price_date", "purchase", "cost_a_year", "per_gb_month", "per_iops_month", "iops", "today")


def devices(run: Run, _pair: str) -> pl.DataFrame:
    """Return the devices that can be priced, those with a price of the last year first; ``left_out``: those without a price."""
    found = answer_of(run)
    rows = pl.DataFrame([{name: getattr(row, name) for name in FIELDS} for row in found.devices])
    rows = rows.with_columns(per_month=pl.col("cost_a_year") / MONTHS_A_YEAR).drop("cost_a_year")
    return rows.with_columns(left_out=pl.lit(", ".join(f"`{each.device}`" for each in found.left_out)), years=pl.lit(found.life_years))


SOURCE = devices


def facts(rows: pl.DataFrame) -> Mapping[str, object]:
    first, limits = rows.row(0, named=True), {f"{kind}_ms": limit for kind, limit in LATENCY_MS.items()}
    return {
        "evidence": Evidence.SIMULATED,
        "today": int(rows["today"].sum()),
        "left_out": first["left_out"],
        "years": first["years"],
        **limits,
    }


def tabulate(rows: pl.DataFrame) -> Cells:
    lines = [
        [
            f"`{row['device']}`",
            number(row["capacity_gb"]),
            row["price_date"],
            "rented" if row["purchase"] is None else number(row["purchase"]),
            *(number(row[name]) for name in ("per_month", "per_gb_month", "per_iops_month")),
            count(round(row["iops"])),
        ]
        for row in rows.rows(named=True)
    ]
    return Cells(HEADER, lines, "lrlrrrrr")
