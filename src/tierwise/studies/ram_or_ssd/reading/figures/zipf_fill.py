"""Reads per second from dropped caches on, over the author's logs at the sizes that these have."""

from typing import Final

import altair as alt
import polars as pl

from tierwise.analysis.published import published_series
from tierwise.report import theme
from tierwise.report.figures import parts
from tierwise.report.run import Run
from tierwise.studies.ram_or_ssd.reading.names import COLOURS, TIERS, WARM_UP_S
from tierwise.studies.ram_or_ssd.reading.sizes import READ_BENCHMARK

QUERY: Final = """
select
    tier, dataset_gib::bigint as dataset_gib, end_s,
    median(reads_per_s) as reads_per_s, min(reads_per_s) as low, max(reads_per_s) as high
from ram_or_ssd_series
where pair = $pair and how is null and len(flags) = 0
group by all
having enough(reads_per_s)
order by end_s
"""
UNIT: Final = "points"
AXIS_PX: Final = 70


def derive(_run: Run, _pair: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Return the series at the sizes that the author logged, with the drive's name."""
    logged = _logs().select("tier", "dataset_gib").unique()
    series = rows.join(logged, on=["tier", "dataset_gib"], how="semi", maintain_order="left")
    return series.with_columns(drive=pl.col("tier").replace_strict(TIERS, return_dtype=pl.String))


def draw(rows: pl.DataFrame) -> alt.VConcatChart:
    logs = _logs().with_columns(end_s=pl.col("end_s").cast(pl.Float64))
    sizes = sorted(set(rows["dataset_gib"]))
    panels = [
        _panel(rows.filter(tier=tier, dataset_gib=size), logs.filter(tier=tier, dataset_gib=size), drive, size)
        for tier, drive in TIERS.items()
        for size in sizes
    ]
    return parts.stacked(panels, chrome_px=AXIS_PX)


def _panel(series: pl.DataFrame, log: pl.DataFrame, drive: str, size: int) -> alt.LayerChart:
    ticks = alt.Axis(values=list(range(0, 2 * WARM_UP_S + 1, 200)))
    x = alt.X("end_s:Q", title="seconds at full size", scale=alt.Scale(domain=[0, 2 * WARM_UP_S]), axis=ticks)
    axis = alt.Axis(format=",.0f", minExtent=AXIS_PX, maxExtent=AXIS_PX, tickCount=4)
    y, colour = alt.Y("reads_per_s:Q", title=None, axis=axis, scale=alt.Scale(zero=True)), COLOURS[drive]
    layers = [
        alt.Chart(series).mark_area(opacity=0.25, color=colour).encode(x=x, y=alt.Y("low:Q", axis=axis, title=None), y2="high:Q"),
        alt.Chart(series).mark_line(strokeWidth=1.5, color=colour).encode(x=x, y=y),
        alt.Chart(log.with_columns(middle_s=pl.col("end_s") - 30))
        .mark_point(shape="cross", filled=True, size=45, opacity=1, color=theme.MARK)
        .encode(x=alt.X("middle_s:Q"), y=y, tooltip=[alt.Tooltip("reads_per_s:Q", format=",.0f")]),
        alt.Chart(pl.DataFrame({"end_s": [WARM_UP_S]})).mark_rule(strokeDash=[3, 3]).encode(x=x),
    ]
    return alt.LayerChart(layer=layers, width=parts.PLOT_PX, height=72, title=f"{drive}, {size} GiB: reads a second")


def _logs() -> pl.DataFrame:
    return published_series(READ_BENCHMARK)
