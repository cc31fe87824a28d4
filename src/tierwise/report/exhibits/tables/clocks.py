"""Cells that were measured in virtual time, and once in real time."""

from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Final

import polars as pl

from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import DASH, difference, listed, number, seconds
from tierwise.report.words import cell_words

QUERY: Final = (files("tierwise") / "analysis/figures/clocks.sql").read_text(encoding="utf-8")
UNIT: Final = "cells"
PARAMETERS: Final = {"tiers": ""}


def tabulate(rows: pl.DataFrame) -> Cells:
    return Cells(
        ["Study", "Cell", "Virtual time", "Real time", "Difference", "Flags of the real-time row"],
        [
            [
                f"`{row['study']}`",
                cell_words(row["cell"]) + ("" if row["cache"] == "none" else f", {row['cache']}"),
                *_figures(row),
                listed(row["flags"]) or DASH,
            ]
            for row in rows.rows(named=True)
        ],
        "llrrrl",
    )


def _figures(row: Mapping[str, Any]) -> list[str]:
    if row["clock"] == "virtual-one":
        ours, theirs = row["virtual_device_s"], row["requests_s"]
        return [seconds(ours), seconds(theirs), difference(ours / theirs) if theirs else DASH]
    ours, theirs = row["virtual_per_s"], row["per_s"]
    if not (ours and theirs):
        ours, theirs = row["virtual_s"], row["elapsed_s"]  # a move, which answers nothing
        return [seconds(ours), seconds(theirs), difference(ours / theirs)]
    return [f"{number(ours)}/s", f"{number(theirs)}/s", difference(ours / theirs)]
