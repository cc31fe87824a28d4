"""What a study shows that asks queries of files on several places: times by place, medians, what was simulated at the published size."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import altair as alt
import polars as pl

from tierwise.analysis.deciding import mode_in
from tierwise.analysis.statistics import enough
from tierwise.report import theme
from tierwise.report.display import Figure, Sentence
from tierwise.report.figures import parts
from tierwise.report.no_answer import in_place
from tierwise.report.run import Run
from tierwise.report.shown import Shown
from tierwise.report.words import IO_MODES

COLOURS: Final = (theme.VERMILLION, theme.ORANGE, theme.BLUE, theme.GREEN)
ROW_PX: Final = 20
"""Height of a row: in print eight panels share the height of a page: what is taller is drawn smaller."""
CLEAN: Final = pl.col("flags") == "none"
ONLY_FORM: Final = "printed"
"""The form of a query that is asked in no other."""


def nothing(run: Run, shown: Shown, pair: str) -> Sentence:
    return in_place(run, shown.study, pair)


def by_place(panels: Sequence[tuple[str, pl.DataFrame]], places: Mapping[str, str]) -> alt.VConcatChart:
    """Draw every observation by place, below each other; `panels`: title and rows (place, replicate, elapsed_s, flags) of each."""
    named = [(title, rows.with_columns(row=pl.col("place").replace_strict(places))) for title, rows in panels if not rows.is_empty()]
    order = [name for place, name in places.items() if any(place in rows["place"] for _, rows in named)]
    width_px = parts.label_px(order)
    last = len(named) - 1
    drawn = [_panel(rows, title, order, width_px, "time of a query" if at == last else None) for at, (title, rows) in enumerate(named)]
    return parts.stacked(drawn, chrome_px=width_px + parts.BESIDE_PX)


def _panel(rows: pl.DataFrame, title: str, order: list[str], width_px: int, axis_title: str | None) -> alt.LayerChart:
    low, high = log_range(rows["elapsed_s"])
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    unit = "datum.value >= 1 ? format(datum.value, '~g') + ' s' : format(1000 * datum.value, '~g') + ' ms'"
    x = alt.X("elapsed_s:Q", title=axis_title, scale=scale, axis=alt.Axis(values=parts.log_ticks(low, high), labelExpr=unit))
    y = alt.Y("row:N", sort=order, title=None, axis=parts.labels(width_px))
    tips = [alt.Tooltip("row:N", title="place"), "replicate:Q", alt.Tooltip("elapsed_s:Q", format=".3~g", title="seconds"), "flags:N"]
    colour = alt.Color("row:N", scale=alt.Scale(domain=order, range=COLOURS[: len(order)]), legend=None)
    medians = parts.medians(rows, ["row"], "elapsed_s", CLEAN)
    layers = [alt.Chart(medians).mark_tick(thickness=2, size=16, color=theme.MARK).encode(x=x, y=y)] if medians.height else []
    if (rejected := rows.filter(~CLEAN)).height:
        layers.append(alt.Chart(rejected).mark_point(size=110, filled=False, strokeWidth=1, color=theme.MARK).encode(x=x, y=y))
    layers.append(alt.Chart(rows).mark_circle(size=36, opacity=0.85).encode(x=x, y=y, color=colour, tooltip=tips))
    return alt.LayerChart(layer=layers, width=parts.PLOT_PX, height=ROW_PX * len(order), title=title)


def times(run: Run, pair: str, shown: Shown, observed: pl.DataFrame) -> Figure | Sentence:
    """Draw every observation, by place; a panel for each query, form and way of I/O.

    `observed`: query, form, I/O mode, place, replicate, elapsed_s and flags (text) of each.
    """
    if observed.is_empty():
        return nothing(run, shown, pair)
    rows = observed.with_columns(row=pl.col("place").replace_strict(shown.places))
    order = [name for place, name in shown.places.items() if place in set(rows["place"])]
    width_px = parts.label_px(order)
    panels = [
        _times_panel(part, ", ".join([words, *([shown.forms[form]] if shown.forms else []), IO_MODES[io_mode]]), order, width_px)
        for io_mode in IO_MODES
        for form in shown.forms or (ONLY_FORM,)
        for query, words in shown.queries.items()
        if not (part := rows.filter(query=query, form=form, io_mode=io_mode)).is_empty()
    ]
    tick = parts.where_medians(rows, ["query", "form", "io_mode", "row"], pl.col("flags") == "none", "; the tick is the median")
    caption = (
        f"Seconds of every query from empty caches, on logarithmic axes{tick}"
        f"{parts.ringed(rows['flags'], 'a rejected observation')}. The data are scaled down, so "
        "times are to be compared within a panel alone. "
        f"{run.note(pair, len(rows), 'queries', shown.query)}"
    )
    return Figure(parts.stacked(panels, "Times of each query by place of the files."), caption, width_px + parts.BESIDE_PX, rows)


def _times_panel(rows: pl.DataFrame, title: str, order: list[str], width_px: int) -> alt.LayerChart:
    low, high = log_range(rows["elapsed_s"])
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    unit = "datum.value >= 1 ? format(datum.value, '~g') + ' s' : format(1000 * datum.value, '~g') + ' ms'"
    x = alt.X("elapsed_s:Q", title=None, scale=scale, axis=alt.Axis(values=parts.log_ticks(low, high), labelExpr=unit))
    y = alt.Y("row:N", sort=order, title=None, axis=parts.labels(width_px))
    tips = [alt.Tooltip("row:N", title="place"), "replicate:Q", alt.Tooltip("elapsed_s:Q", format=".3~g", title="seconds"), "flags:N"]
    colour = alt.Color("row:N", scale=alt.Scale(domain=order, range=COLOURS[: len(order)]), legend=None)
    dots = alt.Chart(rows).mark_circle(size=36, opacity=0.85).encode(x=x, y=y, color=colour, tooltip=tips)
    medians = parts.medians(rows, ["row"], "elapsed_s", pl.col("flags") == "none")
    tick = alt.Chart(medians).mark_tick(thickness=2, size=16, color=theme.MARK).encode(x=alt.X("elapsed_s:Q", scale=scale), y=y)
    middle = [tick] if medians.height else []
    rejected = rows.filter(pl.col("flags") != "none")
    rings = [alt.Chart(rejected).mark_point(size=110, filled=False, strokeWidth=1, color=theme.MARK).encode(x=x, y=y)]
    layers = [*middle, *(rings if rejected.height else []), dots]
    return alt.LayerChart(layer=layers, width=parts.PLOT_PX, height=ROW_PX * len(order), title=title)


def log_range(values: Iterable[float]) -> tuple[float, float]:
    """Return the range of a log axis that holds `values`, with a tick on either side of them."""
    known = list(values)
    decades = range(math.floor(math.log10(min(known))) - 1, math.ceil(math.log10(max(known))) + 1)
    ticks = [step * 10.0**power for power in decades for step in parts.SMALL_STEPS]
    low, high = max(tick for tick in ticks if tick < min(known)), min(tick for tick in ticks if tick > max(known))
    return low / 1.02, high * 1.02


def medians(run: Run, pair: str, shown: Shown, value: str) -> Mapping[tuple[str, str], float]:
    """Return the median of column `value`, by (query in its first form, place), over the unflagged replicates of the I/O mode that decides,
    where there are enough of them.
    """
    where = f" and form = '{next(iter(shown.forms))}'" if shown.forms else ""
    rows = run.query(
        f"select query, {shown.column} as place, median({value}) as middle from {shown.study} "
        f"where pair = ? and io_mode = ? and not flagged{where} group by all having enough({value})",
        [pair, io_mode_of(run, pair, shown)],
    ).drop_nulls()
    return {(query, place): middle for query, place, middle in rows.rows()}


def io_mode_of(run: Run, pair: str, shown: Shown) -> str:
    """Return the I/O mode that decides, as far as it was measured."""
    return mode_in(run.store, shown.study, pair)


def simulated_ways(run: Run, pair: str, study: str, query: str, form: str = ONLY_FORM) -> list[dict[str, Any]]:
    """Return what the manifest keeps of `query` in `form` as `study` simulated it at the published size: one entry a way of reading of
    which enough seeds were simulated on each place; empty where there is none.
    """
    record = run.record(study, pair)
    known = (way for way in (record.facts.get(query, []) if record else []) if way["form"] == form and way["seconds"])
    return [way for way in known if all(enough(len(seeds)) for seeds in way["seconds"].values())]
