"""Every search, by tier."""

from typing import Final

import altair as alt
import polars as pl

from tierwise.report import colours
from tierwise.report.figures import parts

QUERY: Final = """
select tier, replicate + 1 as replicate, elapsed_s, if(flagged, 'rejected', 'none') as flag
from toy_x where pair = $pair and list_contains($tiers, tier) order by all
"""
UNIT: Final = "searches"
PARAMETERS: Final = {"tiers": ["hdd", "ssd"]}


def draw(rows: pl.DataFrame) -> alt.VConcatChart:
    x = alt.X("elapsed_s:Q", title="seconds", scale=alt.Scale(type="log"))
    y = alt.Y("tier:N", title="tier")
    tips = ["tier:N", "replicate:Q", "elapsed_s:Q"]
    dots = alt.Chart(rows, width=parts.PLOT_PX).mark_circle(size=40, color=colours.BLUE).encode(x=x, y=y, tooltip=tips)
    return parts.stacked([dots], chrome_px=parts.BESIDE_PX)
