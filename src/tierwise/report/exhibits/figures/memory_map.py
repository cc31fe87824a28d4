"""By the size of the RAM: where "indexes first" turns to "tables first", and the request rate from which more RAM pays."""

from typing import Final

import altair as alt
import polars as pl

from tierwise.report import colours
from tierwise.report.figures import parts
from tierwise.report.run import Run
from tierwise.report.values.validation import memory_map

UNIT: Final = "sizes of memory"
OF_RUN: Final = "nothing"
PARAMETERS: Final = {"load": ""}
HEIGHT_PX: Final = 130
RATIO, RATE = "gain per dollar, index over table", "page requests a second"


def rows(run: Run, pair: str, load: str = "") -> pl.DataFrame:  # noqa: ARG001  nothing of it hangs on a run
    return memory_map(run).filter(pl.col("load").str.contains(load, literal=True))


def draw(rows: pl.DataFrame) -> alt.VConcatChart:
    shown = rows.select("load", "share", pl.col("index_over_table").alias(RATIO), pl.col("ram_pays_from").alias(RATE))
    line = alt.Chart(pl.DataFrame({RATIO: [1.0]})).mark_rule(strokeDash=[4, 4], color=colours.QUIET).encode(y=f"{RATIO}:Q")
    panels = [
        alt.LayerChart(layer=layers, width=parts.PLOT_PX, height=HEIGHT_PX)
        for layers in ([line, _lines(shown, RATIO)], [_lines(shown, RATE)])
    ]
    return parts.stacked(panels, chrome_px=96)


def _lines(shown: pl.DataFrame, name: str) -> alt.Chart:
    loads = sorted(set(shown["load"]))
    colour = alt.Scale(domain=loads, range=[colours.BLUE, colours.VERMILLION, colours.GREEN][: len(loads)])
    chart: alt.Chart = (
        alt.Chart(shown)
        .mark_line(point=True)
        .encode(
            x=alt.X("share:Q", title="RAM as share of data", axis=alt.Axis(format="%")),
            y=alt.Y(
                f"{name}:Q", title=name, scale=alt.Scale(type="log"), axis=alt.Axis(format="~g" if name == RATIO else "~s", tickCount=5)
            ),
            color=alt.Color("load:N", scale=colour, legend=alt.Legend(title=None, columns=3)),
            tooltip=["load:N", alt.Tooltip("share:Q", format="%"), alt.Tooltip(f"{name}:Q", format=",.3r")],
        )
    )
    return chart
