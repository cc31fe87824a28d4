"""How far virtual time lies from real time, by study, over the cells that were measured in both."""

from importlib.resources import files
from typing import Final

import polars as pl

from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import count, difference
from tierwise.report.run import Run

QUERY: Final = (files("tierwise") / "analysis/figures/clocks.sql").read_text(encoding="utf-8")
UNIT: Final = "cells"
WHAT: Final = {"devices": "time of the devices", "rate": "rate, several sessions", "elapsed": "time of a move"}


def derive(run: Run, pair: str, rows: pl.DataFrame) -> pl.DataFrame:  # noqa: ARG001  of every pair
    """Add what is compared (a key of `WHAT`), and virtual over real time, or the rates."""
    one, rates = pl.col("clock") == "virtual-one", (pl.col("virtual_per_s") > 0) & (pl.col("per_s") > 0)
    ratio = pl.when(one).then(pl.col("virtual_device_s") / pl.col("requests_s")).when(rates).then(pl.col("virtual_per_s") / pl.col("per_s"))
    return rows.with_columns(
        what=pl.when(one).then(pl.lit("devices")).when(rates).then(pl.lit("rate")).otherwise(pl.lit("elapsed")),
        ratio=ratio.otherwise(pl.col("virtual_s") / pl.col("elapsed_s")),
    ).filter(pl.col("ratio").is_finite())


def facts(rows: pl.DataFrame) -> dict[str, object]:
    return {"n": rows.height}


def tabulate(rows: pl.DataFrame) -> Cells:
    groups = rows.group_by("study", "what", maintain_order=True).agg(
        cells=pl.len(),
        flagged=(pl.col("flags").list.len() > 0).sum(),
        least=pl.col("ratio").min(),
        median=pl.col("ratio").median(),
        most=pl.col("ratio").max(),
    )
    return Cells(
        ["Study", "What is compared", "Cells", "Flagged", "Least difference", "Median", "Greatest"],
        [
            [f"`{study}`", WHAT[what], count(cells), count(flagged), *map(difference, ratios)]
            for study, what, cells, flagged, *ratios in groups.rows()
        ],
        "llrrrrr",
    )
