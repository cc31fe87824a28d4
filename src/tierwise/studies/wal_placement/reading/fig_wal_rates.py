"""Commits per second by number of clients, for each place of the log."""

import math
from typing import Final

import altair as alt
import polars as pl

from tierwise.report import colours
from tierwise.report.figures import parts

UNIT: Final = "windows"
PLACES: Final = {"hdd": "disks", "cached": "disks behind a battery-backed cache", "ssd": "SSD"}
COLOURS: Final = {"hdd": colours.VERMILLION, "cached": colours.ORANGE, "ssd": colours.BLUE}
SHAPES: Final = {"hdd": "circle", "cached": "diamond", "ssd": "square"}
PARAMETERS: Final = {"places": list(PLACES)}
PANELS: Final = {"off": "commit_delay 0", "on": "commit_delay of half a flush"}
PANEL_PX: Final = 140
AXIS_PX: Final = 60
PACED: Final = "with_processors_per_s"
CLEAN: Final = pl.col("flag") == "none"


def draw(rows: pl.DataFrame) -> alt.VConcatChart:
    named = rows.with_columns(place=pl.col("wal").replace_strict(PLACES))
    panels = [_panel(part, words) for name, words in PANELS.items() if not (part := named.filter(group_commit=name)).is_empty()]
    return parts.stacked(panels, chrome_px=AXIS_PX)


def _panel(rows: pl.DataFrame, title: str) -> alt.LayerChart:
    clients, places = sorted(rows["clients"].unique()), [place for place in PLACES if place in set(rows["wal"])]
    order = alt.Scale(domain=[PLACES[place] for place in places], range=[COLOURS[place] for place in places])
    shapes = alt.Scale(domain=order.domain, range=[SHAPES[place] for place in places])
    across = alt.Scale(type="log", domain=[clients[0], clients[-1]], nice=False, padding=24)
    paced = rows.drop_nulls(PACED)
    rates = [*rows["commits_per_s"], *paced[PACED]]
    low, high = (10 ** end(math.log10(of(rates))) for end, of in ((math.floor, min), (math.ceil, max)))
    axis = alt.Axis(values=parts.log_ticks(low, high), format=",", minExtent=AXIS_PX - 20)
    x = alt.X("clients:Q", title="clients", scale=across, axis=alt.Axis(values=clients, format="d"))
    y = alt.Y("commits_per_s:Q", title="commits per second", scale=alt.Scale(type="log"), axis=axis)
    colour, shape = alt.Color("place:N", title="log on", scale=order), alt.Shape("place:N", title="log on", scale=shapes)
    tips = [
        *(alt.Tooltip(f"{name}:N", title=title) for name, title in (("place", "log on"), ("clients", "clients"), ("flag", "flag"))),
        alt.Tooltip("commits_per_s:Q", format=",.0f", title="commits per second"),
        alt.Tooltip(f"{PACED}:Q", format=",.0f", title="with processors"),
        alt.Tooltip("latency_ms:Q", format=".3r", title="ms per transaction"),
        alt.Tooltip("flushes_per_commit:Q", format=".2f", title="flushes per commit"),
        alt.Tooltip("cpu_share:Q", format=".0%", title="processors busy"),
    ]
    middle = parts.medians(rows, ["place", "clients"], "commits_per_s", CLEAN)
    layers = [alt.Chart(middle).mark_line(strokeWidth=2).encode(x=x, y=y, color=colour)] if middle.height else []
    layers.append(alt.Chart(rows).mark_point(size=36, filled=True, opacity=0.85).encode(x=x, y=y, color=colour, shape=shape, tooltip=tips))
    if (rejected := rows.filter(~CLEAN)).height:
        layers.append(alt.Chart(rejected).mark_point(size=120, filled=False, strokeWidth=1, color=colours.MARK).encode(x=x, y=y))
    if (with_processors := parts.medians(paced, ["place", "clients"], PACED, CLEAN)).height:
        layers.append(alt.Chart(with_processors).mark_line(strokeWidth=1.5, strokeDash=[4, 3]).encode(x=x, y=f"{PACED}:Q", color=colour))
    if paced.height:
        triangles = alt.Chart(paced).mark_point(shape="triangle-up", size=36, filled=True, opacity=0.85)
        layers.append(triangles.encode(x=x, y=f"{PACED}:Q", color=colour, tooltip=tips))
    return alt.LayerChart(layer=layers, width=parts.PLOT_PX, height=PANEL_PX, title=title)
