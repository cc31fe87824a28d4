"""Charts of windows: a dot for each, a row for each placement."""

from typing import Any, Final

import altair as alt
import polars as pl

from tierwise.analysis.statistics import estimable
from tierwise.report import theme
from tierwise.report.figures import parts
from tierwise.studies.pgbench_placement.reading.names import COLOURS, PLACEMENTS, SHAPES

ROW_PX: Final = 30
LABEL_PX: Final = parts.label_px(PLACEMENTS.values())
CHROME_PX: Final = LABEL_PX + parts.BESIDE_PX
CLEAN: Final = pl.col("flag") == "none"
PANEL: Final = ("size", "slowdown", "phase", "placement")


def facts(rows: pl.DataFrame) -> dict[str, Any]:
    """Return whether some row of a panel has enough clean windows for a median."""
    return {"medians": rows.height > 0 and estimable(rows.filter(CLEAN), [name for name in PANEL if name in rows.columns]).height > 0}


def panel(rows: pl.DataFrame, title: str, scale: alt.Scale, ticks: list[float] | None = None) -> alt.LayerChart:
    """Draw the transactions per second (``tps``) of each window by placement, the median of clean ones, and rings around rejected ones."""
    named, order = rows.with_columns(row=pl.col("placement").replace_strict(PLACEMENTS)), list(PLACEMENTS.values())
    axis = alt.Axis(format=",~r", tickCount=6, values=ticks or alt.Undefined)
    x = alt.X("tps:Q", title="transactions per second", scale=scale, axis=axis)
    y = alt.Y("row:N", sort=order, title=None, axis=parts.labels(LABEL_PX))
    tips = [
        *(alt.Tooltip(f"{name}:N", title=words) for name, words in (("row", "placement"), ("replicate", "replicate"), ("flag", "flag"))),
        alt.Tooltip("tps:Q", format=",.0f", title="transactions per second"),
        alt.Tooltip("cpu_share:Q", format=".0%", title="processors busy"),
    ]
    colour = alt.Color("row:N", scale=alt.Scale(domain=order, range=list(COLOURS.values())), legend=None)
    shape = alt.Shape("row:N", scale=alt.Scale(domain=order, range=list(SHAPES.values())), legend=None)
    medians, rejected = parts.medians(named, ["row"], "tps", CLEAN), named.filter(~CLEAN)
    layers = [alt.Chart(medians).mark_tick(thickness=2, size=16, color=theme.MARK).encode(x=x, y=y)] if medians.height else []
    layers.append(alt.Chart(named).mark_point(size=36, filled=True, opacity=0.85).encode(x=x, y=y, color=colour, shape=shape, tooltip=tips))
    if rejected.height:
        layers.append(alt.Chart(rejected).mark_point(size=120, filled=False, strokeWidth=1, color=theme.MARK).encode(x=x, y=y))
    return alt.LayerChart(layer=layers, width=parts.PLOT_PX, height=ROW_PX * named["row"].n_unique(), title=title)
