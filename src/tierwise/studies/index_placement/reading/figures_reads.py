"""Why a variant of the census study's question has the ratio that it has: through which reads, their time, and how far apart they lie."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import altair as alt
import polars as pl

from tierwise.report import theme
from tierwise.report.display import Figure, Sentence
from tierwise.report.figures import parts
from tierwise.report.formats import count, seconds
from tierwise.report.run import Run
from tierwise.report.variants import variants
from tierwise.report.words import CASES, IO_MODES, case_name, variant_label
from tierwise.studies.index_placement.reading.figures import QUERY, nothing
from tierwise.timings.traces import TrialKey, read_trace

STUDY: Final = "index_placement"
PARTS: Final = {"table": theme.BLUE, "index": theme.ORANGE, "primary key": theme.GREEN, "server": "#a9b2bd"}
"""The colour of each part of a query's time, by whose reads take it; the rest is the server's own."""
WAITS: Final = {"table": "heap_io_s", "index": "index_io_s", "primary key": "other_io_s"}
TIMES_TOLD: Final = (
    " Time: that of the requests for each relation, among them one page of the primary key, which planning reads; the rest is the server's "
    "own; beside it a bar's whole time."
)
DISTANCES_TOLD: Final = " Distance: mean step from one read of a relation to the next, index on HDD, as recorded once; 1 is the next page."
PLACES: Final = ("index on HDD", "index on SSD")
BAR_PX: Final = 12
DOT_PX: Final = 20
GAP_PX: Final = 10
PART_COLOUR: Final = alt.Color("part:N", scale=alt.Scale(domain=list(PARTS), range=list(PARTS.values())), legend=alt.Legend(title=None))
HEADROOM: Final = 1.45
"""Right of the longest bar, for what it adds up to."""


def shown_state(run: Run, pair: str) -> str:
    """Return the state that the most variants have counted cold: what one figure of them all can show."""
    found = run.query(
        "select state, count(distinct variant) from index_placement_through where pair = ? and cache = 'cold' group by state", [pair]
    )
    variants_of = dict(found.iter_rows())
    return max(CASES, key=lambda state: (variants_of.get(state, 0), -list(CASES).index(state)))


def reads_by_variant(run: Run, pair: str, found: pl.DataFrame) -> Figure | Sentence:
    """Draw why: pages read of table and index, the time that they take, and how far apart they lie, in each variant.

    `found`: the rows of the view ``index_placement_through`` of one state, from a cold cache and with one way of I/O.
    """
    if found.is_empty():
        return nothing(run, pair)
    io, state = found["io_mode"][0], found["state"][0]
    (claim,) = (claim for claim in run.verdicts if claim.id == "M1")
    order = [variant_label(one.variant) for one in variants(claim) if one.io_mode == io]
    rows = found.with_columns(
        pl.col("variant").map_elements(variant_label, return_dtype=pl.String).alias("label"),
        ("index on " + pl.col("placement").str.split("/").list.last().str.to_uppercase()).alias("place"),
    )
    width_px = parts.label_px(order)
    pages = _bars(rows, {"table": "heap_reads", "index": "index_reads"}, _whole, lambda both: " + ".join(map(_whole, both)))
    panels = [_bar_panel(pages, f"Pages read, {case_name(state)}, cold: table + index", "format(datum.value, ',')", order, width_px)]
    timed = rows.drop_nulls([*WAITS.values(), "elapsed_s"]).with_columns(
        server=pl.max_horizontal(0.0, pl.col("elapsed_s") - pl.sum_horizontal(WAITS.values()))
    )
    if not timed.is_empty():
        times = _bars(timed, {**WAITS, "server": "server"}, seconds, lambda all_s: seconds(sum(all_s)))
        panels.append(_bar_panel(_as_shares(times), "Where the time goes", "format(datum.value, '.0%')", order, width_px))
    apart = _distances(run, pair, rows.filter(placement="hdd/hdd"))
    if not apart.is_empty():
        panels.append(_distance_panel(apart, order, width_px))
    chart = parts.stacked(panels, "Pages that a cold count reads of table and index, their time, and how far apart they lie, by variant.")
    caption = (
        f"Why, for {case_name(state)}: a cold count in each variant, the table on HDD ({IO_MODES[io]}; medians; upper bar: "
        "index on HDD, lower bar: index on SSD)."
        f"{TIMES_TOLD if not timed.is_empty() else ''}{DISTANCES_TOLD if not apart.is_empty() else ''}"
        f" {run.note(pair, len(rows), 'medians', QUERY)}"
    )
    return Figure(chart, caption, width_px + parts.BESIDE_PX, rows.drop("label"))


def _whole(value: float) -> str:
    return count(round(value))


def _bars(rows: pl.DataFrame, columns: Mapping[str, str], told: Callable[[float], str], ends: Callable[[list[float]], str]) -> pl.DataFrame:
    """One row for each variant, place of the index and part; `columns` names each part's column, `ends` tells a whole bar by its parts."""
    return pl.DataFrame(
        [
            {
                **{name: row[name] for name in ("label", "place")},
                "part": part,
                "order": place,
                "value": row[column],
                "told": told(row[column]),
                "total": sum(row[name] for name in columns.values()),
                "end": ends([row[name] for name in columns.values()]),
            }
            for row in rows.rows(named=True)
            for place, (part, column) in enumerate(columns.items())
        ]
    )


def _ticks(full: float) -> list[float]:
    """About four round steps up to `full`, so that no tick stands where a bar's text does."""
    power = 10.0 ** math.floor(math.log10(full / 4))
    step = power * next(round_ for round_ in (1, 2, 2.5, 5, 10) if round_ * power * 4.5 >= full)
    return [step * number for number in range(6)]


def _as_shares(bars: pl.DataFrame) -> pl.DataFrame:
    return bars.with_columns(value=pl.col("value") / pl.col("total"), total=pl.lit(1.0))


def _bar_panel(bars: pl.DataFrame, title: str, unit: str, order: Sequence[str], width_px: int) -> alt.LayerChart:
    full = max(bars["total"])
    scale = alt.Scale(domain=[0, full * HEADROOM], nice=False)
    axis = alt.Axis(values=[tick for tick in _ticks(full) if tick <= full], labelExpr=unit)
    y = alt.Y("label:N", sort=list(order), title=None, axis=parts.labels(width_px), scale=alt.Scale(paddingInner=0.25))
    lane = alt.YOffset("place:N", sort=list(PLACES))
    tips = [alt.Tooltip(f"{name}:N") for name in ("label", "place", "part")] + [alt.Tooltip("told:N", title="value")]
    stacked = (
        alt.Chart(bars)
        .mark_bar(opacity=1)
        .encode(
            x=alt.X("value:Q", scale=scale, stack="zero", title=None, axis=axis),
            y=y,
            yOffset=lane,
            color=PART_COLOUR,
            order="order:O",
            tooltip=tips,
        )
    )
    ends = alt.Chart(bars.unique(["label", "place"], maintain_order=True)).mark_text(align="left", dx=5, fontSize=10)
    text = ends.encode(x=alt.X("total:Q", scale=scale, title=None, axis=axis), y=y, yOffset=lane, text="end:N")
    return alt.LayerChart(layer=[stacked, text], width=parts.PLOT_PX, height=bars["label"].n_unique() * (2 * BAR_PX + GAP_PX), title=title)


def _distances(run: Run, pair: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Mean distance in pages by variant and relation, from the recorded requests of the trials behind `rows`."""
    folder = run.folder
    names = {"census": "table", "pob": "index"}
    return pl.DataFrame(
        [
            {"label": row["label"], "part": names[relation], "pages": distance}
            for row in rows.rows(named=True)
            for relation, distance in mean_distances(folder, TrialKey(STUDY, pair, row["trial"]), row["step"]).items()
            if relation in names and distance > 0
        ],
        schema={"label": pl.String, "part": pl.String, "pages": pl.Float64},
    )


def _distance_panel(apart: pl.DataFrame, order: Sequence[str], width_px: int) -> alt.LayerChart:
    low, high = 0.8, max(apart["pages"]) * 2
    x = alt.X(
        "pages:Q",
        scale=alt.Scale(type="log", domain=[low, high], nice=False),
        title=None,
        axis=alt.Axis(values=parts.log_ticks(low, high), format="~s"),
    )
    y = alt.Y("label:N", sort=list(order), title=None, axis=parts.labels(width_px))
    tips = [alt.Tooltip("label:N"), alt.Tooltip("part:N"), alt.Tooltip("pages:Q", format=",.3r")]
    dots = (
        alt.Chart(apart)
        .mark_point(size=70, filled=True, opacity=1)
        .encode(
            x=x,
            y=y,
            color=PART_COLOUR,
            shape=alt.Shape("part:N", legend=None),
            tooltip=tips,
        )
    )
    height = apart["label"].n_unique() * (DOT_PX)
    return alt.LayerChart(layer=[dots], width=parts.PLOT_PX, height=height, title="Pages from one read to the next")


def mean_distances(run_folder: Path, key: TrialKey, step: int) -> dict[str, float]:
    """Return relation -> mean distance, in its pages, from one read to the next in query `step` of a trial; 1: each reads the next page.

    A relation with a single read has no distance. Empty where nothing was recorded.
    """
    trace = read_trace(run_folder, key)
    if trace is None:
        return {}
    reads = trace.filter(step=step, operation="read")
    distances = reads.select("relation", distance=pl.col("page").diff().over("relation").abs()).drop_nulls()
    return dict(distances.group_by("relation", maintain_order=True).mean().iter_rows())
