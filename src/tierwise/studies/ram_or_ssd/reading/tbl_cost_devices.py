"""What a gigabyte and a random read per second cost on every device with a price."""

from collections.abc import Mapping
from typing import Final

import polars as pl

from tierwise.core.vocabulary import Evidence
from tierwise.costs.hardware import members, rented
from tierwise.costs.iops import LATENCY_MS
from tierwise.costs.units import MONTHS_A_YEAR
from tierwise.devices.spec import load_device
from tierwise.devices.volume import CloudSpec
from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import count, number
from tierwise.report.run import Run, answer_of

UNIT: Final = "devices"
OF_RUN: Final = "prices"
HEADER: Final = ["Device", "Type", "GB", "Price date", "Purchase", "A month", "per GB", "per IOPS", "IOPS"]
FIELDS: Final = (
    "device",
    "medium",
    "capacity_gb",
    "price_date",
    "purchase",
    "cost_a_year",
    "per_gb_month",
    "per_iops_month",
    "iops",
    "today",
)
MEDIA: Final = {"ssd": "SSD", "hdd": "disk"}
INTERFACES: Final = ("NVMe", "SATA")  # interfaces of an SSD that the description of its device file may state


def rows(run: Run, _pair: str) -> pl.DataFrame:
    """Return the devices that can be priced, those with a price of the last year first; ``left_out``: those without a price."""
    found = answer_of(run)
    rows = pl.DataFrame([{name: getattr(row, name) for name in FIELDS} for row in found.devices])
    rows = rows.with_columns(per_month=pl.col("cost_a_year") / MONTHS_A_YEAR).drop("cost_a_year")
    return rows.with_columns(left_out=pl.lit(", ".join(f"`{each.device}`" for each in found.left_out)), years=pl.lit(found.life_years))


def facts(rows: pl.DataFrame) -> Mapping[str, object]:
    first, limits = rows.row(0, named=True), {f"{kind}_ms": limit for kind, limit in LATENCY_MS.items()}
    return {"evidence": Evidence.SIMULATED, "left_out": first["left_out"], "years": first["years"], **limits}


def tabulate(rows: pl.DataFrame) -> Cells:
    lines = [
        [
            f"`{row['device']}`",
            _type(row["device"], row["medium"]),
            number(row["capacity_gb"]),
            row["price_date"] if row["today"] else f"{row['price_date']}, old",
            "rented" if row["purchase"] is None else number(row["purchase"]),
            *(number(row[name]) for name in ("per_month", "per_gb_month", "per_iops_month")),
            count(round(row["iops"])),
        ]
        for row in rows.rows(named=True)
    ]
    return Cells(HEADER, lines, "llrlrrrrr")


def _type(name: str, medium: str) -> str:
    """Return ``NVMe SSD``, ``array of 4 SATA SSDs``, ``disk``, ``volume (SSD)`` or ``rented local SSD``."""
    member, copies = members(name)
    piece = load_device(member)
    if isinstance(piece, CloudSpec):
        return f"volume ({MEDIA[medium]})"
    if rented(name):
        return f"rented local {MEDIA[medium]}"
    described = piece.description if medium == "ssd" else ""
    words = [*(each for each in INTERFACES if each in described), MEDIA[medium]]
    return " ".join(words) if copies == 1 else f"array of {copies} {' '.join(words)}s"
