"""How long emulated reads took, beside the time that the device model gave."""

from importlib.resources import files
from typing import Final

import polars as pl

from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import DASH, count, percent, seconds

QUERY: Final = (files("tierwise") / "analysis/figures/overshoot.sql").read_text(encoding="utf-8")
UNIT: Final = "tiers"


def tabulate(rows: pl.DataFrame) -> Cells:
    return Cells(
        ["Pair", "Tier", "Evidence", "Reads", "Model, mean", "Took, mean", "Overshoot", "Flagged"],
        [
            [
                f"`{row['pair']}`",
                f"`{row['tier']}`",
                f"**{row['evidence']}**",
                DASH if row["reads"] is None else count(row["reads"]),
                seconds(row["intended_s"] / row["reads"]) if row["reads"] and row["intended_s"] else DASH,
                seconds(row["actual_s"] / row["reads"]) if row["reads"] and row["actual_s"] else DASH,
                percent(row["actual_s"] / row["intended_s"] - 1) if row["actual_s"] and row["intended_s"] else DASH,
                f"{count(row['flagged'])} of {count(row['observations'])}",
            ]
            for row in rows.rows(named=True)
        ],
        "lllrrrrr",
    )
