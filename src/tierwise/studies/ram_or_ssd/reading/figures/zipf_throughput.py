"""Reads per second of the measured phase, by the size of the data."""

from typing import Final

import altair as alt
import polars as pl

from tierwise.report.figures import parts
from tierwise.studies.ram_or_ssd.reading.names import COLOURS, SQL
from tierwise.studies.ram_or_ssd.reading.sizes import SSD, simulated, with_references

QUERY: Final = SQL["seeds"]
UNIT: Final = "simulated runs"
PARAMETERS: Final = SSD
HOW: Final = {"simulated": "circle", "published": "cross", "Che": "triangle-up"}
AXIS_PX: Final = 70
derive = with_references
facts = simulated


def draw(rows: pl.DataFrame) -> alt.LayerChart:
    low, high = (float(end) for end in rows.select(low=pl.col("reads_per_s").min() / 1.3, high=pl.col("reads_per_s").max() * 1.3).row(0))
    ticks = alt.Axis(values=parts.log_ticks(low, high), format="~s", minExtent=AXIS_PX, maxExtent=AXIS_PX)
    sizes = alt.Axis(values=sorted(set(rows["dataset_gib"])))
    points = (
        alt.Chart(rows)
        .mark_point(size=60, strokeWidth=1.6)
        .encode(
            x=alt.X("dataset_gib:Q", title="data, GiB", scale=alt.Scale(type="log", base=2), axis=sizes),
            y=alt.Y("reads_per_s:Q", title="reads a second", scale=alt.Scale(type="log", domain=[low, high], nice=False), axis=ticks),
            color=alt.Color("drive:N", title=None, scale=alt.Scale(domain=list(COLOURS), range=list(COLOURS.values()))),
            shape=alt.Shape("how:N", title=None, scale=alt.Scale(domain=list(HOW), range=list(HOW.values()))),
            tooltip=["drive:N", "how:N", "dataset_gib:Q", alt.Tooltip("reads_per_s:Q", format=",.0f")],
        )
    )
    return alt.LayerChart(layer=[points], width=parts.PLOT_PX, height=300, usermeta={"chrome_px": AXIS_PX})
