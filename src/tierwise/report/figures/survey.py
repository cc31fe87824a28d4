"""Charts of source H's questions: times of every query by place, and the hunt for the published scan."""

import math
from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import Any, Final

import altair as alt
import polars as pl

from tierwise.analysis.published import published_series
from tierwise.analysis.statistics import MINIMUM_PAIRS, enough
from tierwise.analysis.views import ROWS
from tierwise.core import studies
from tierwise.report import theme
from tierwise.report.display import Figure, Sentence
from tierwise.report.figures import parts
from tierwise.report.instead import in_place
from tierwise.report.run import Run
from tierwise.report.words import ARMS

SURVEY: Final = "data/published/survey.csv"
"""Source H's bars, as they are inferred: study, query, place, seconds."""
ARRAYS: Final = "survey_arrays"
PLACEMENT: Final = "survey_placement"
QUERIES: Final = {
    ARRAYS: {"indexed": "Indexed columns", "non_indexed": "Non-indexed columns", "mixed": "Mixed columns"},
    PLACEMENT: {
        "light_curves": "Light curves",
        "variable_light_curves": "Variable light curves",
        "join_single": "Source and Detection joined by a single index",
        "join_several": "Source and Detection joined by several indexes",
    },
}
PLACES: Final = {
    ARRAYS: {"hdd": "7 disks, RAID5", "hdd_raid0": "7 disks, RAID0", "ssd": "one SSD", "ssd_raid5": "6 SSDs, RAID5"},
    PLACEMENT: {
        "all_hdd": "all on disks",
        "index_ssd": "indexes on SSDs",
        "source_ssd": "Source on SSDs",
        "detection_ssd": "Detection on SSDs",
    },
}
COLUMN: Final = {ARRAYS: "tier", PLACEMENT: "placement"}
FORMS: Final = {"printed": "as printed", "meant": "as meant"}
COLOURS: Final = (theme.VERMILLION, theme.ORANGE, theme.BLUE, theme.GREEN)
ROW_PX: Final = 26
SCAN: Final = "non_indexed"
"""The query whose published times imply the rates of a scan."""


def survey_seconds(study: str) -> dict[tuple[str, str], float]:
    """Seconds that the source's chart of `study` is taken to show, by (query, place)."""
    rows = published_series(SURVEY).filter(study=study)
    return {(query, place): float(seconds) for query, place, seconds in rows.select("query", "place", "seconds").rows()}


def nothing(run: Run, study: str, pair: str) -> Sentence:
    """What stands in place of a figure that has no rows, or too few clean ones."""
    return in_place(run, study, pair)


def query_of(study: str) -> str:
    """Path of the study's SQL in the package."""
    return studies.path(study, ROWS)


def times(run: Run, pair: str, study: str) -> Figure | Sentence:
    """Every observation, by place; a panel for each query, form and way of I/O."""
    form = "form" if study == ARRAYS else "'printed' as form"
    rows = run.query(
        f"select query, {form}, arm, {COLUMN[study]} as place, block + 1 as block, elapsed_s, flags from {study} where pair = ?", [pair]
    )
    if rows.is_empty():
        return nothing(run, study, pair)
    rows = rows.with_columns(row=pl.col("place").replace_strict(PLACES[study]))
    order = [name for place, name in PLACES[study].items() if place in set(rows["place"])]
    width_px = parts.label_px(order)
    panels = [
        _times_panel(part, _title(study, query, form, arm), order, width_px)
        for arm in ARMS
        for form in FORMS
        for query in QUERIES[study]
        if not (part := rows.filter(query=query, form=form, arm=arm)).is_empty()
    ]
    caption = (
        "Seconds of every query from empty caches, on logarithmic axes; the tick is the median "
        f"of {MINIMUM_PAIRS} clean ones or more, a ring marks a rejected observation. The data are scaled down, so "
        "times are to be compared within a panel alone. "
        f"{run.note(pair, len(rows), 'queries', query_of(study))}"
    )
    return Figure(parts.stacked(panels, "Times of each query by place of the files."), caption, width_px + parts.BESIDE_PX, rows)


def _title(study: str, query: str, form: str, arm: str) -> str:
    told = [QUERIES[study][query], *([FORMS[form]] if study == ARRAYS else []), ARMS[arm]]
    return ", ".join(told)


def _times_panel(rows: pl.DataFrame, title: str, order: list[str], width_px: int) -> alt.LayerChart:
    low, high = _range(rows["elapsed_s"])
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    unit = "datum.value >= 1 ? format(datum.value, '~g') + ' s' : format(1000 * datum.value, '~g') + ' ms'"
    x = alt.X("elapsed_s:Q", title=None, scale=scale, axis=alt.Axis(values=parts.log_ticks(low, high), labelExpr=unit))
    y = alt.Y("row:N", sort=order, title=None, axis=parts.labels(width_px))
    tips = [alt.Tooltip("row:N", title="place"), "block:Q", alt.Tooltip("elapsed_s:Q", format=".3~g", title="seconds"), "flags:N"]
    colour = alt.Color("row:N", scale=alt.Scale(domain=order, range=COLOURS[: len(order)]), legend=None)
    dots = alt.Chart(rows).mark_circle(size=36, opacity=0.85).encode(x=x, y=y, color=colour, tooltip=tips)
    medians = parts.medians(rows, ["row"], "elapsed_s", pl.col("flags") == "none")
    tick = alt.Chart(medians).mark_tick(thickness=2, size=16, color=theme.MARK).encode(x=alt.X("elapsed_s:Q", scale=scale), y=y)
    middle = [tick] if medians.height else []
    rings = alt.Chart(rows).transform_filter("datum.flags != 'none'").mark_point(size=110, filled=False, strokeWidth=1, color=theme.MARK)
    layers = [*middle, rings.encode(x=x, y=y), dots]
    return alt.LayerChart(layer=layers, width=parts.PLOT_PX, height=ROW_PX * len(order), title=title)


def hunted(run: Run, pair: str, query: str, form: str = "printed") -> list[dict[str, Any]]:
    """What the manifest keeps of `query` in `form` at the published size: one entry an arm of which enough seeds
    were simulated on each subsystem; empty where there is none."""
    record = run.record(ARRAYS, pair)
    known = (arm for arm in (record.facts.get(query, []) if record else []) if arm["form"] == form and arm["seconds"])
    return [arm for arm in known if all(enough(len(seeds)) for seeds in arm["seconds"].values())]


NOT_HUNTED: Final = "The published size was simulated with too few seeds for an answer, or not at all, on the pair `{}`."


def hunt(run: Run, pair: str) -> Figure | Sentence:
    """Simulated seconds of the scan on each subsystem, by arm, beside the published ones."""
    arms = hunted(run, pair, SCAN)
    if not arms:
        return Sentence(NOT_HUNTED.format(pair))
    simulated = [
        {"row": arm["arm"], "place": PLACES[ARRAYS][tier], "seconds": fmean(values), "how": "simulated", "seeds": len(values)}
        for arm in arms
        for tier, values in arm["seconds"].items()
    ]
    published = [
        {"row": "published", "place": PLACES[ARRAYS][place], "seconds": seconds, "how": "published", "seeds": None}
        for (query, place), seconds in survey_seconds(ARRAYS).items()
        if query == SCAN
    ]
    points = pl.DataFrame([*published, *simulated])
    order = ["published", *(arm["arm"] for arm in arms)]
    places = list(PLACES[ARRAYS].values())
    width_px = parts.label_px(order)
    low, high = _range(points["seconds"])
    chart = (
        alt.Chart(points, width=parts.PLOT_PX, height=ROW_PX * len(order))
        .mark_point(size=60, filled=True, opacity=0.9)
        .encode(
            x=alt.X(
                "seconds:Q",
                title="seconds",
                scale=alt.Scale(type="log", domain=[low, high], nice=False),
                axis=alt.Axis(values=parts.log_ticks(low, high), format="~g"),
            ),
            y=alt.Y("row:N", sort=order, title=None, axis=parts.labels(width_px)),
            color=alt.Color("place:N", title=None, scale=alt.Scale(domain=places, range=COLOURS)),
            shape=alt.Shape("place:N", title=None, scale=alt.Scale(domain=places, range=["circle", "diamond", "square", "triangle-up"])),
            tooltip=["row:N", "place:N", alt.Tooltip("seconds:Q", format=",.0f"), "how:N"],
        )
    ).properties(description="Seconds of the scan by way of reading, on four subsystems, simulated, beside the published ones.")
    caption = (
        "Seconds of the query on non-indexed columns at the published size: the devices **simulated** for each way of reading, means of "
        f"the seeds; in the first row the **published** ones, inferred from a chart (`{SURVEY}`). Each arm changes one thing of the ideal "
        f"reading. {run.stamp}, pair `{pair}`, n = {len(points)} points; from the manifest's facts."
    )
    return Figure(chart, caption, width_px + parts.BESIDE_PX, points)


def _range(values: Iterable[float]) -> tuple[float, float]:
    """The range of a log axis that holds `values`, with a tick on either side of them."""
    known = list(values)
    decades = range(math.floor(math.log10(min(known))) - 1, math.ceil(math.log10(max(known))) + 1)
    ticks = [step * 10.0**power for power in decades for step in parts.SMALL_STEPS]
    low, high = max(tick for tick in ticks if tick < min(known)), min(tick for tick in ticks if tick > max(known))
    return low / 1.02, high * 1.02


def medians(run: Run, pair: str, study: str, value: str) -> Mapping[tuple[str, str], float]:
    """The median of column `value`, by (query as printed, place), over the unflagged blocks of the first way of I/O that was measured,
    where there are enough of them."""
    where = " and form = 'printed'" if study == ARRAYS else ""
    rows = run.query(
        f"select query, {COLUMN[study]} as place, median({value}) as middle from {study} "
        f"where pair = ? and arm = ? and not flagged{where} group by all having enough({value})",
        [pair, arm_of(run, pair, study)],
    ).drop_nulls()
    return {(query, place): middle for query, place, middle in rows.rows()}


def arm_of(run: Run, pair: str, study: str) -> str:
    """Direct I/O where it was measured."""
    found = set(run.query(f"select distinct arm from {study} where pair = ?", [pair])["arm"])
    return next((arm for arm in ARMS if arm in found), "direct")
