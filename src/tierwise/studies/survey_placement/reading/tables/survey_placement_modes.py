"""The speed-up of each placement in each I/O mode."""

from typing import Final

import polars as pl

from tierwise.report import io_mode_table
from tierwise.report.exhibit_registry import Cells
from tierwise.studies.survey_placement.reading.names import PLACEMENTS, QUERIES

QUERY: Final = """
select query, placement, io_mode, replicate, 1 / ratio as speedup, if(flagged, 'rejected', 'none') as flag
from survey_placement
where pair = $pair and placement <> 'all_hdd'
order by query, placement, io_mode, replicate
"""
UNIT: Final = io_mode_table.UNIT


def tabulate(rows: pl.DataFrame) -> Cells | None:
    return io_mode_table.tabulate(rows, {"query": ("Query", QUERIES), "placement": ("Placement", PLACEMENTS)}, "speedup")
