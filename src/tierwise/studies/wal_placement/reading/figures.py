"""Chart of the question: commits a second by clients, for each place of the log, with group commit and without."""

import math
from typing import Final

import altair as alt
import polars as pl

from tierwise.analysis.views import ROWS
from tierwise.core import studies
from tierwise.report import theme
from tierwise.report.display import Figure, Sentence
from tierwise.report.figures import parts
from tierwise.report.no_answer import in_place
from tierwise.report.run import Run

STUDY: Final = "wal_placement"
QUERY: Final = studies.path(STUDY, ROWS)
PLACES: Final = {"hdd": "disks", "cached": "disks behind a cache with a battery", "ssd": "SSD"}
GROUPED: Final = {"off": "commit_delay 0: commits meet by chance", "on": "commit_delay on: commits wait for others"}
COLOURS: Final = {"hdd": theme.VERMILLION, "cached": theme.ORANGE, "ssd": theme.BLUE}
SHAPES: Final = {"hdd": "circle", "cached": "diamond", "ssd": "square"}
PANEL_PX: Final = 200
AXIS_PX: Final = 60


def rates(run: Run, pair: str, windows: pl.DataFrame) -> Figure | Sentence:
    """Return commits a second of every window by clients, one panel without group commit and one with.

    `windows`: group_commit, wal, clients, replicate, commits_per_s, latency_ms, flushes_per_commit, cpu_share and flag of each.
    """
    if windows.is_empty():
        return in_place(run, STUDY, pair)
    rows = windows.with_columns(place=pl.col("wal").replace_strict(PLACES))
    clients = sorted(rows["clients"].unique())
    places = [place for place in PLACES if place in set(rows["wal"])]
    panels = {words: part for name, words in GROUPED.items() if not (part := rows.filter(group_commit=name)).is_empty()}
    charts = [_panel(part, words, clients, places) for words, part in panels.items()]
    lines = parts.where_medians(rows, ["group_commit", "place", "clients"], pl.col("flag") == "none", "; lines join the medians")
    caption = (
        f"Commits a second of every window by clients and by where the log lies, both axes logarithmic, at the tiers' own pace{lines}"
        f"{parts.ringed(rows['flag'], 'a window that gives no answer')}. "
        f"{run.note(pair, len(rows), 'windows', QUERY)}"
    )
    description = "Commits a second by number of clients, for each place of the log, without group commit and with it."
    return Figure(parts.stacked(charts, description), caption, AXIS_PX, rows)


def _panel(rows: pl.DataFrame, title: str, clients: list[int], places: list[str]) -> alt.LayerChart:
    across = alt.Scale(type="log", domain=[clients[0], clients[-1]], nice=False, padding=24)
    x = alt.X("clients:Q", title="clients", scale=across, axis=alt.Axis(values=clients, format="d"))
    least, most = min(*rows["commits_per_s"], math.inf), max(*rows["commits_per_s"], 0.0)
    ticks = parts.log_ticks(10 ** math.floor(math.log10(least)), 10 ** math.ceil(math.log10(most)))
    axis = alt.Axis(values=ticks, format=",", minExtent=AXIS_PX - 20)
    y = alt.Y("commits_per_s:Q", title="commits/s", scale=alt.Scale(type="log"), axis=axis)
    order = [PLACES[place] for place in places]
    colour = alt.Color("place:N", title="log on", scale=alt.Scale(domain=order, range=[COLOURS[place] for place in places]))
    shape = alt.Shape("place:N", title="log on", scale=alt.Scale(domain=order, range=[SHAPES[place] for place in places]))
    tips = [
        alt.Tooltip("place:N", title="log on"),
        *(alt.Tooltip(f"{name}:Q", title=name) for name in ("clients", "replicate")),
        alt.Tooltip("commits_per_s:Q", format=",.0f", title="commits/s"),
        alt.Tooltip("latency_ms:Q", format=".3r", title="ms a transaction"),
        alt.Tooltip("flushes_per_commit:Q", format=".2f", title="flushes a commit"),
        alt.Tooltip("cpu_share:Q", format=".0%", title="processors busy"),
        alt.Tooltip("flag:N"),
    ]
    middle = parts.medians(rows, ["place", "clients"], "commits_per_s", pl.col("flag") == "none")
    lines = [alt.Chart(middle).mark_line(strokeWidth=2).encode(x=x, y=y, color=colour)] if middle.height else []
    dots = alt.Chart(rows).mark_point(size=36, filled=True, opacity=0.85).encode(x=x, y=y, color=colour, shape=shape, tooltip=tips)
    rejected = rows.filter(pl.col("flag") != "none")
    rings = (
        [alt.Chart(rejected).mark_point(size=120, filled=False, strokeWidth=1, color=theme.MARK).encode(x=x, y=y)]
        if rejected.height
        else []
    )
    return alt.LayerChart(layer=[*lines, dots, *rings], width=parts.PLOT_PX, height=PANEL_PX, title=title)
