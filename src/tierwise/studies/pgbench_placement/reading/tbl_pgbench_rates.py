"""Transactions per second and gains over whole windows and without their checkpoints, with commits that wait for the log or do not."""

from typing import Final

import polars as pl

from tierwise.report.estimates import cell, estimates
from tierwise.report.exhibit_registry import Cells
from tierwise.studies.pgbench_placement.reading.names import PLACEMENTS, decided

UNIT: Final = "windows"
KEYS: Final = ["size", "placement", "variant"]
COMMITS: Final = {"published": "wait", "async-commit": "do not wait"}
COLUMNS: Final = {
    "Transactions/s": "tps",
    "Without checkpoint": "no_checkpoint_tps",
    "Gain": "ratio",
    "Gain without checkpoint": "no_checkpoint_ratio",
}
"""Header -> column of the rows."""
derive = decided


def tabulate(rows: pl.DataFrame) -> Cells | None:
    found = {header: estimates(rows, KEYS, column) for header, column in COLUMNS.items()}
    groups = [key for key, one in found["Transactions/s"].items() if one.interval]
    if not groups:
        return None
    return Cells(
        ["Set", "Placement", "Commits", *COLUMNS],
        [
            [size, PLACEMENTS[placement], COMMITS[variant], *(cell(by_group[size, placement, variant]) for by_group in found.values())]
            for size, placement, variant in groups
        ],
        "lllrrrr",
    )
