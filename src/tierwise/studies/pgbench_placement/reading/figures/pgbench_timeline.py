"""Transactions per second before, during and after the checkpoint of each window."""

from typing import Final

import altair as alt
import polars as pl

from tierwise.report.figures import parts
from tierwise.studies.pgbench_placement.reading import windows
from tierwise.studies.pgbench_placement.reading.names import decided

QUERY: Final = """
select
    io_mode, placement, phase, replicate + 1 as replicate, phases.transactions / elapsed_s as tps, elapsed_s, phases.cpu_share,
    if(flagged, note, 'none') as flag
from pgbench_placement
join pgbench_placement_phases as phases using (run_id, pair, io_mode, trial, size, placement, replicate)
where
    pair = $pair and size = 'large' and pgbench_placement.clients = '8' and pgbench_placement.script = 'tpcb-like'
    and pgbench_placement.memory = '1' and judged = 'yes' and replicate = coalesce($replicate::int - 1, replicate)
order by io_mode, placement, phase, replicate
"""
UNIT: Final = "phases of windows"
PARAMETERS: Final = {"replicate": None}
PHASES: Final = {"before": "Before the checkpoint", "checkpoint": "During the checkpoint", "after": "After the checkpoint"}
derive = decided
facts = windows.facts


def draw(rows: pl.DataFrame) -> alt.VConcatChart:
    low, high = float(rows["tps"].min()) / 1.2, float(rows["tps"].max()) * 1.2  # type: ignore[arg-type]  # rates are floats
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    ticks = parts.log_ticks(low, high)
    found = [(title, part) for phase, title in PHASES.items() if (part := rows.filter(phase=phase)).height]
    return parts.stacked([windows.panel(part, title, scale, ticks) for title, part in found], chrome_px=windows.CHROME_PX)
