"""Simulated gains at several scales of the data, and what a line through them gives for the published scale."""

from typing import Final

import polars as pl

from tierwise.analysis.scaling import Extrapolated
from tierwise.core.vocabulary import Evidence
from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import count
from tierwise.report.scaling_table import Sizes, table
from tierwise.studies.pgbench_placement.reading.names import PLACEMENTS
from tierwise.studies.pgbench_placement.reading.simulated import scales

SOURCE: Final = scales
EVIDENCE: Final = Evidence.SIMULATED
UNIT: Final = "gains"


def carried(rows: pl.DataFrame) -> dict[str, Extrapolated]:
    """Return placement -> its gain at the published scale; nothing without rows."""
    found = _sizes(rows) if rows.height else None
    return {placement: found.carried(PLACEMENTS[placement]) for placement in rows["placement"].unique()} if found else {}


def tabulate(rows: pl.DataFrame) -> Cells:
    return table(_sizes(rows), "Placement")


def _sizes(rows: pl.DataFrame) -> Sizes:
    """Return the ratios by placement, scale and seed."""
    lines: dict[str, dict[float, dict[int, float]]] = {}
    for placement, scale, replicate, ratio in rows.select("placement", "scale", "replicate", "ratio").rows():
        lines.setdefault(PLACEMENTS[placement], {}).setdefault(scale, {})[replicate] = ratio
    return Sizes(lines, rows["published_scale"][0], lambda scale: f"Scale {count(round(scale))}")
