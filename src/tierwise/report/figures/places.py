"""What both survey studies show: the times of queries by place of the files, and what was simulated at the published size."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import altair as alt
import polars as pl

from tierwise.analysis.claims import published_series
from tierwise.analysis.statistics import enough
from tierwise.report.colours import MARK
from tierwise.report.figures import parts
from tierwise.report.run import Run

ROW_PX: Final = 20  # height of a row: in print eight panels share the height of a page: what is taller is drawn smaller
CLEAN: Final = pl.col("flags") == "none"
SECONDS, MILLISECONDS = "format(datum.value, '~g') + ' s'", "format(1000*datum.value, '~g') + ' ms'"
BARS: Final = "data/published/survey.csv"
ONLY_FORM: Final = "printed"  # the form of a query that has no other form


def by_place(panels: Sequence[tuple[str, pl.DataFrame]], places: Mapping[str, str], colours: Mapping[str, str]) -> alt.VConcatChart:
    """Draw every observation by place, below each other; `panels`: title and rows (place, replicate, elapsed_s, flags) of each."""
    named = [(title, rows.with_columns(row=pl.col("place").replace_strict(places))) for title, rows in panels if not rows.is_empty()]
    order = [name for place, name in places.items() if any(place in rows["place"] for _, rows in named)]
    colour = alt.Scale(domain=list(places.values()), range=[colours[place] for place in places])
    width_px = parts.label_px(order)
    titles = [None] * (len(named) - 1) + ["time of a query"]
    drawn = [_panel(*panel, order, colour, width_px=width_px, below=below) for panel, below in zip(named, titles, strict=True)]
    return parts.stacked(drawn, chrome_px=width_px + parts.BESIDE_PX)


def _panel(title: str, rows: pl.DataFrame, order: list[str], colours: alt.Scale, *, width_px: int, below: str | None) -> alt.LayerChart:
    low, high = log_range(rows["elapsed_s"])
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    unit = f"datum.value >= 1 ? {SECONDS} : {MILLISECONDS}"
    x = alt.X("elapsed_s:Q", title=below, scale=scale, axis=alt.Axis(values=parts.log_ticks(low, high), labelExpr=unit))
    y = alt.Y("row:N", sort=order, title=None, axis=parts.labels(width_px))
    tips = [alt.Tooltip("row:N", title="place"), "replicate:Q", alt.Tooltip("elapsed_s:Q", format=".3~g", title="seconds"), "flags:N"]
    colour = alt.Color("row:N", scale=colours, legend=None)
    medians = parts.medians(rows, ["row"], "elapsed_s", CLEAN)
    layers = [alt.Chart(medians).mark_tick(thickness=2, size=16, color=MARK).encode(x=x, y=y)] if medians.height else []
    if (rejected := rows.filter(~CLEAN)).height:
        layers.append(alt.Chart(rejected).mark_point(size=110, filled=False, strokeWidth=1, color=MARK).encode(x=x, y=y))
    layers.append(alt.Chart(rows).mark_circle(size=36, opacity=0.85).encode(x=x, y=y, color=colour, tooltip=tips))
    return alt.LayerChart(layer=layers, width=parts.PLOT_PX, height=ROW_PX * len(order), title=title)


def log_range(values: Iterable[float]) -> tuple[float, float]:
    known = list(values)
    decades = range(math.floor(math.log10(min(known))) - 1, math.ceil(math.log10(max(known))) + 1)
    ticks = [step * 10.0**power for power in decades for step in parts.SMALL_STEPS]
    low, high = max(tick for tick in ticks if tick < min(known)), min(tick for tick in ticks if tick > max(known))
    return low / 1.02, high * 1.02


def published_seconds(study: str) -> dict[tuple[str, str], float]:
    """Return (query, place) -> seconds, of the bars that can be distinguished in the source's charts."""
    rows = published_series(BARS).filter(study=study)
    return {(query, place): float(seconds) for query, place, seconds in rows.select("query", "place", "seconds").rows()}


def simulated_ways(run: Run, pair: str, study: str, query: str, form: str = ONLY_FORM) -> list[dict[str, Any]]:
    """Return what `study` simulated of `query` at the published size: one entry a way of reading that has enough seeds on each place."""
    record = run.record(study, pair)
    known = (way for way in (record.facts.get(query, []) if record else []) if way["form"] == form and way["seconds"])
    return [way for way in known if all(enough(len(seeds)) for seeds in way["seconds"].values())]
