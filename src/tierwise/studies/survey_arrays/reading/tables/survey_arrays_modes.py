"""The speed-up of each subsystem over seven disks in RAID5, in each I/O mode."""

from typing import Final

import polars as pl

from tierwise.report import io_mode_table
from tierwise.report.exhibit_registry import Cells
from tierwise.studies.survey_arrays.reading.names import PLACES, QUERIES

QUERY: Final = """
select query, tier, io_mode, replicate, gain, if(flagged, 'rejected', 'none') as flag
from survey_arrays
where pair = $pair and form = 'printed' and tier <> 'hdd'
order by query, tier, io_mode, replicate
"""
UNIT: Final = io_mode_table.UNIT


def tabulate(rows: pl.DataFrame) -> Cells | None:
    return io_mode_table.tabulate(rows, {"query": ("Query", QUERIES), "tier": ("Storage system", PLACES)}, "gain")
