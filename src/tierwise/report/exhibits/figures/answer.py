"""How much faster each placement is than everything on disks, by workload."""

from typing import Final

import altair as alt
import polars as pl

from tierwise.report import colours
from tierwise.report.estimates import estimates
from tierwise.report.figures import parts
from tierwise.report.formats import number
from tierwise.report.run import Run
from tierwise.report.values.front import speedups

UNIT: Final = "paired replicates"
SHAPES: Final = {"indexes": "square", "tables": "circle", "everything": "diamond"}
ROW_PX: Final = 14


def rows(run: Run, pair: str) -> pl.DataFrame:  # noqa: ARG001  of all pairs
    return speedups(run).with_columns(flag=pl.lit("none"))


def draw(rows: pl.DataFrame) -> alt.LayerChart:
    found = estimates(rows, ["workload", "placement"], "speedup")
    gains = [
        {
            "workload": workload,
            "row": f"{workload}: {placement}",
            "on_ssd": placement if placement in colours.PLACEMENTS else "tables",
            "speedup": one.value,
            "low": one.low,
            "high": one.high,
            "shown": number(one.value or 1.0),
        }
        for (workload, placement), one in found.items()
    ]
    marks = pl.DataFrame(gains)
    heads = [*dict.fromkeys(line for workload, row in marks.select("workload", "row").rows() for line in (workload, row))]
    width_px = parts.label_px(part for line in heads for part in line.split(": "))
    low, high = min(0.9, *marks["low"]) / 1.05, max(2.0, *marks["high"]) * 1.6
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    there = [name for name in colours.PLACEMENTS if name in set(marks["on_ssd"])]
    colour = alt.Color("on_ssd:N", title="on the SSD", scale=alt.Scale(domain=there, range=[colours.PLACEMENTS[name] for name in there]))
    shape = alt.Shape("on_ssd:N", title="on the SSD", scale=alt.Scale(domain=there, range=[SHAPES[name] for name in there]))
    weight = {"condition": {"test": "indexof(datum.label, ': ') > 0", "value": "normal"}, "value": 600}
    label = "indexof(datum.label, ': ') > 0 ? split(datum.label, ': ')[1] : datum.label"
    y = alt.Y("row:N", title=None, scale=alt.Scale(domain=heads), axis=parts.labels(width_px, labelExpr=label, labelFontWeight=weight))
    axis = alt.Axis(format="~g", values=parts.log_ticks(low, high), title="times faster than everything on disks", labelOverlap="greedy")
    base, middle = alt.Chart(marks).encode(y=y), alt.X("speedup:Q", scale=scale, axis=axis)
    tips = [alt.Tooltip("row:N", title="placement"), *(alt.Tooltip(f"{name}:Q", format=".3r") for name in ("speedup", "low", "high"))]
    layers = [
        alt.Chart(pl.DataFrame({"speedup": [1.0]}))
        .mark_rule(strokeDash=[4, 4], color=colours.QUIET)
        .encode(x=alt.X("speedup:Q", scale=scale)),
        base.mark_rule(strokeWidth=2, color=colours.MARK).encode(x=alt.X("low:Q", scale=scale, axis=axis), x2="high:Q"),
        base.mark_point(filled=True, size=80, opacity=1).encode(x=middle, color=colour, shape=shape, tooltip=tips),
        base.mark_text(align="left", dx=8).encode(x=alt.X("high:Q", scale=scale), text="shown:N"),
    ]
    return alt.LayerChart(layer=layers, width=parts.PLOT_PX, height=alt.Step(ROW_PX), usermeta={"chrome_px": width_px + parts.BESIDE_PX})
