"""Histograms of read latencies by tablespace, recorded and published, on one axis of latencies."""

from collections.abc import Mapping
from typing import Final

import altair as alt
import polars as pl

from tierwise.report import colours
from tierwise.report.figures import parts
from tierwise.studies.read_latency.reading.histograms import MEMORY, SPACES, SQL, recorded, with_published

QUERY: Final = SQL["counted"]
UNIT: Final = "counts"
PARAMETERS: Final = MEMORY
HOW: Final = {"here": colours.BLUE, "published": colours.VERMILLION}
PANEL_PX: Final = 72
AXIS_PX: Final = 62
derive = with_published


def facts(rows: pl.DataFrame) -> Mapping[str, object]:
    return {"recorded": recorded(rows)}


def draw(rows: pl.DataFrame) -> alt.VConcatChart:
    """Draw a panel for each tablespace: the share of its reads by power of two of nanoseconds."""
    bounds = [2.0**edge / 1000 for edge in (int(rows["bucket"].to_numpy().min()), int(rows["bucket"].to_numpy().max()) + 1)]
    panels = [_panel(rows.filter(tablespace=space), title, bounds) for space, title in SPACES.items() if space in set(rows["tablespace"])]
    return parts.stacked(panels, chrome_px=AXIS_PX)


def _panel(rows: pl.DataFrame, title: str, bounds: list[float]) -> alt.LayerChart:
    axis = alt.Axis(values=parts.log_ticks(*bounds), format="~s", grid=True)
    x = alt.X("from_us:Q", title="µs a read", scale=alt.Scale(type="log", domain=bounds, nice=False), axis=axis)
    y = alt.Y("share:Q", title="reads", axis=alt.Axis(format="%", tickCount=3, minExtent=AXIS_PX - 16, maxExtent=AXIS_PX - 16))
    colour = alt.Color("how:N", title=None, scale=alt.Scale(domain=list(HOW), range=list(HOW.values())))
    tips = [
        alt.Tooltip("how:N"),
        alt.Tooltip("from_us:Q", title="from, µs", format=",.0f"),
        alt.Tooltip("to_us:Q", title="to, µs", format=",.0f"),
        alt.Tooltip("reads:Q", format=",d"),
        alt.Tooltip("share:Q", format=".1%"),
    ]
    here, there = _edged(rows.filter(how="here")), _edged(_without_gaps(rows.filter(how="published")))
    bars = alt.Chart(here).mark_rect(opacity=1).encode(x=x, x2="to_us:Q", y=y, y2=alt.datum(0), color=colour, tooltip=tips)
    middle = alt.X("middle_us:Q")
    line = alt.Chart(there).mark_line(strokeWidth=1.5, interpolate="linear").encode(x=middle, y=y, color=colour)
    points = alt.Chart(there).mark_point(size=30, filled=True, opacity=1).encode(x=middle, y=y, color=colour, tooltip=tips)
    return alt.LayerChart(layer=[bars, line, points], width=parts.PLOT_PX, height=PANEL_PX, title=title)


def _edged(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(to_us=2 * pl.col("from_us"), middle_us=pl.col("from_us") * 2**0.5)


def _without_gaps(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of one histogram with its empty buckets, so that the line falls to zero there."""
    edges = range(rows["bucket"].to_numpy().min(), rows["bucket"].to_numpy().max() + 1)
    every = pl.DataFrame({"bucket": edges}, schema={"bucket": pl.Int32})
    filled = every.join(rows.select("bucket", "reads", "share"), on="bucket", how="left").sort("bucket")
    same = {name: pl.lit(rows[name][0]) for name in ("how", "tablespace")}
    return filled.with_columns(pl.col("reads", "share").fill_null(0), from_us=2.0 ** pl.col("bucket") / 1000, **same)
