"""Transactions per second of every window, by placement."""

from typing import Any, Final

import altair as alt
import polars as pl

from tierwise.report.figures import parts
from tierwise.studies.pgbench_placement.reading import windows
from tierwise.studies.pgbench_placement.reading.names import decided, panels

QUERY: Final = """
select
    size, io_mode, clients, script, memory, slowdown, placement, replicate + 1 as replicate, tps, cpu_share,
    if(flagged, note, 'none') as flag
from pgbench_placement
where pair = $pair and clients = $clients::text and script = $script and memory::double = $memory
order by size, io_mode, slowdown, placement, replicate
"""
UNIT: Final = "windows"
PARAMETERS: Final = {"clients": 8, "script": "tpcb-like", "memory": 1}
LOAD: Final = ("clients", "script", "memory")
derive = decided


def facts(rows: pl.DataFrame) -> dict[str, Any]:
    return {**windows.facts(rows), **(rows.select(LOAD).row(0, named=True) if rows.height else dict.fromkeys(LOAD))}


def draw(rows: pl.DataFrame) -> alt.VConcatChart:
    return parts.stacked([windows.panel(part, title, alt.Scale(zero=True)) for _, title, part in panels(rows)], chrome_px=windows.CHROME_PX)
