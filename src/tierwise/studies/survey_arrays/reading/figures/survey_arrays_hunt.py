"""The hunt for the published scan: which way of reading gives the source's seconds."""

from statistics import fmean
from typing import Final

import altair as alt
import polars as pl

from tierwise.report.figures import parts
from tierwise.report.figures.places import ROW_PX, log_range
from tierwise.report.published_bars import published_seconds
from tierwise.report.run import Run
from tierwise.studies.survey_arrays.reading.catalog import hunted
from tierwise.studies.survey_arrays.reading.names import COLOURS, PLACES, SCAN, STUDY

UNIT: Final = "points"
EVIDENCE: Final = "simulated"
SHAPES: Final = ["circle", "diamond", "square", "triangle-up"]
SCHEMA: Final = {"row": pl.String, "place": pl.String, "seconds": pl.Float64, "how": pl.String, "seeds": pl.Int64}


def seconds(run: Run, pair: str) -> pl.DataFrame:
    """Return the published seconds of the scan on each subsystem, and the simulated ones of each way of reading, means over the seeds."""
    rows = [
        ("published", PLACES[place], bar, "published", None) for (query, place), bar in published_seconds(STUDY).items() if query == SCAN
    ]
    ways = [(way["method"], tier, values) for way in hunted(run, pair, SCAN) for tier, values in way["seconds"].items()]
    simulated = [(method, PLACES[tier], fmean(values), "simulated", len(values)) for method, tier, values in ways]
    return pl.DataFrame([*rows, *simulated] if simulated else [], schema=SCHEMA, orient="row")


SOURCE: Final = seconds


def draw(rows: pl.DataFrame) -> alt.Chart:
    order, names = rows["row"].unique(maintain_order=True).to_list(), list(PLACES.values())
    width_px = parts.label_px(order)
    low, high = log_range(rows["seconds"])
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    axis = alt.Axis(values=parts.log_ticks(low, high), format="~g")
    marks = alt.Chart(rows, width=parts.PLOT_PX, height=ROW_PX * len(order)).mark_point(size=60, filled=True, opacity=0.9)
    chart: alt.Chart = marks.encode(
        x=alt.X("seconds:Q", title="seconds", scale=scale, axis=axis),
        y=alt.Y("row:N", sort=order, title=None, axis=parts.labels(width_px)),
        color=alt.Color("place:N", title=None, scale=alt.Scale(domain=names, range=[COLOURS[place] for place in PLACES])),
        shape=alt.Shape("place:N", title=None, scale=alt.Scale(domain=names, range=SHAPES)),
        tooltip=["row:N", "place:N", alt.Tooltip("seconds:Q", format=",.0f"), "how:N"],
    ).properties(usermeta={"chrome_px": width_px + parts.BESIDE_PX})
    return chart
