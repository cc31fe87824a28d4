"""Charts of the census study's question: times of every placement, and ratios beside what was published."""

import warnings
from typing import Final

import altair as alt
import polars as pl

from tierwise.analysis.claims import Bounds, Kind, load_claims
from tierwise.analysis.deciding import mode_of
from tierwise.analysis.statistics import estimable
from tierwise.report import theme
from tierwise.report.display import Figure, Sentence
from tierwise.report.figures import parts
from tierwise.report.formats import count, seconds
from tierwise.report.no_answer import in_place
from tierwise.report.run import Run
from tierwise.report.words import CACHES, IO_MODES, case_name

STUDY: Final = "index_placement"
QUERY: Final = "studies/index_placement/reading/rows.sql"
MARKS: Final = "Diamond and line: geometric mean and its 95 % interval, above a dot for each repeat."
LANE_PX: Final = 9
PLACEMENTS: Final = {
    ("hdd", "hdd"): "both on HDD",
    ("hdd", "ssd"): "index on SSD",
    ("ssd", "hdd"): "table on SSD",
    ("ssd", "ssd"): "both on SSD",
}
"""(table, index) -> words."""
COLOURS: Final = (theme.VERMILLION, theme.ORANGE, theme.BLUE, theme.GREEN)
SHAPES: Final = ("circle", "diamond", "square", "triangle-up")
FROM: Final = {"cold": "cold", "hot": "hot", "cross": "cross-filled"}
"""What the caches held, in the words of a caption."""
CASES: Final = tuple(map(case_name, ("FL", "PR", "NV", "FL->PR", "PR->NV", "NV->FL")))


def io_modes(run: Run, pair: str) -> list[str]:
    found = set(
        run.query("select distinct io_mode from index_placement_observations where variant = 'published' and pair = ?", [pair])["io_mode"]
    )
    return [io_mode for io_mode in IO_MODES if io_mode in found]


def main_io_mode(run: Run, pair: str) -> str:
    """Return the I/O mode that decides, as far as it was measured."""
    return mode_of(STUDY, io_modes(run, pair))


def left_out(run: Run, pair: str, cache: str = "%") -> str:
    """Return how many flagged repeats the ratios of `cache` (a pattern) leave out, as the end of a clause; empty where none is."""
    found = run.query(
        "select count(*) from index_placement where variant = 'published' and pair = ? and cache like ? and flagged", [pair, cache]
    ).item()
    return f"; {count(found)} flagged repeats are left out" if found else ""


def placements(run: Run, pair: str, times: pl.DataFrame) -> Figure | Sentence:
    """Draw the time of each placement over that of everything on hdd, with the band published for the index alone.

    `times`: a row for each clean repeat from one cache and with one way of I/O (I/O mode, cache, state, replicate and the four
    placements' times in seconds, as the view ``index_placement`` names them).
    """
    moved = {f"{table}_{index}_s": name for (table, index), name in PLACEMENTS.items() if "ssd" in (table, index)}
    ratios = (
        named(times)
        .unpivot(list(moved), index=["io_mode", "cache", "row", "replicate", "hdd_hdd_s"], variable_name="placement", value_name="time_s")
        .drop_nulls()
        .select(
            *("io_mode", "cache", "row", "replicate"),
            pl.col("placement").replace_strict(moved),
            time_ms=1e3 * pl.col("time_s"),
            ratio=pl.col("time_s") / pl.col("hdd_hdd_s"),
        )
    )
    ratios = estimable(ratios, ["row", "placement"])
    if ratios.is_empty():
        return nothing(run, pair)
    io_mode, cache = times["io_mode"][0], times["cache"][0]
    top = parts.top_of(ratios["ratio"], least=1.05, headroom=1.1)
    width_px = parts.label_px(ratios["row"])
    published = _bounds(cache)
    panels = [
        parts.ratio_panel(
            ratios.filter(placement=name),
            order=CASES,
            scale=alt.Scale(domain=[0, top], nice=False),
            ticks=[tenths / 10 for tenths in range(0, round(top * 10) + 1, 2)],
            title=name.capitalize().replace("ssd", "SSD"),
            bounds=published if name == PLACEMENTS["hdd", "ssd"] else {},
            width_px=width_px,
        )
        for name in moved.values()
        if name in set(ratios["placement"])
    ]
    chart = parts.stacked(
        panels, f"Time from a {FROM[cache]} cache with index, table or both on SSD, over the time with both on HDD, for three states."
    )
    caption = (
        f"Time of the count from a {FROM[cache]} cache over the time with table and index on HDD "
        f"(1: as long; {IO_MODES[io_mode]}{left_out(run, pair, cache=cache)}). {MARKS} Grey band: published by the census study for the "
        f"index "
        "on SSD. "
        f"{run.note(pair, len(ratios), 'paired ratios', QUERY)}"
    )
    return Figure(chart, caption, width_px + parts.BESIDE_PX, ratios)


def times(run: Run, pair: str, observed: pl.DataFrame) -> Figure | Sentence:
    """Draw every observed time of the main I/O mode, by cache, state and placement, on a log axis.

    `observed`: I/O mode, cache, state, replicate, table_tier, index_tier, elapsed_s and flags (a list) of each observation of one variant.
    """
    return _times(run, pair, observed.filter(io_mode=main_io_mode(run, pair)))


def other_times(run: Run, pair: str, observed: pl.DataFrame) -> Figure | Sentence:
    """Return the same of the other I/O mode, where it was measured."""
    others = [io_mode for io_mode in io_modes(run, pair) if io_mode != main_io_mode(run, pair)]
    return _times(run, pair, observed.filter(io_mode=others[0])) if others else Sentence("")


def nothing(run: Run, pair: str) -> Sentence:
    return in_place(run, STUDY, pair)


def _times(run: Run, pair: str, rows: pl.DataFrame) -> Figure | Sentence:
    if rows.is_empty():
        return nothing(run, pair)
    io_mode = rows["io_mode"][0]
    placement = {f"{table}/{index}": name for (table, index), name in PLACEMENTS.items()}
    shown = named(rows).select(
        *("io_mode", "cache", "row", "replicate"),
        (1e3 * pl.col("elapsed_s")).alias("time_ms"),
        pl.when(pl.col("flags").list.len() > 0).then(pl.col("flags").list.join(", ")).otherwise(pl.lit("none")).alias("flags"),
        pl.concat_str("table_tier", "index_tier", separator="/").replace_strict(placement).alias("placement"),
        pl.col("elapsed_s").map_elements(seconds, return_dtype=pl.String).alias("time"),
    )
    picked = alt.selection_point(fields=["placement"], bind="legend")
    width_px = parts.label_px(shown["row"])
    panels = [_times_panel(part, title, picked, width_px) for title, part in _panels(shown)]
    chart = parts.stacked(
        panels, "Every observed time of the count, by what the caches held, state queried and placement of table and index."
    )
    tick = parts.where_medians(shown, ["io_mode", "cache", "row", "placement"], pl.col("flags") == "none", "; the tick is the median")
    caption = (
        f"Time of every count with {IO_MODES[io_mode]}, by what the caches held, state queried and placement of table and index{tick}"
        f"{parts.ringed(shown['flags'], 'a rejected observation')}. Each panel has its own log axis. "
        f"{run.note(pair, len(shown), 'observations', QUERY)}"
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Automatically deduplicated selection parameter")  # wanted: one legend for all panels
        chart = chart.add_params(picked)
    return Figure(chart, caption, width_px + parts.BESIDE_PX, shown)


def ratios(run: Run, pair: str, repeats: pl.DataFrame) -> Figure | Sentence:
    """Draw the time with the index on ssd over that with it on hdd, the table on hdd: published band, every repeat, mean and interval, on a
    log axis.

    `repeats`: I/O mode, variant, cache, state, replicate and ratio of each clean repeat of one variant.
    """
    rows = named(estimable(repeats, ["io_mode", "cache", "state"])).with_columns(placement=pl.lit(PLACEMENTS["hdd", "ssd"]))
    if rows.is_empty():
        return nothing(run, pair)
    low, high = min(0.02, *rows["ratio"]), parts.top_of(rows["ratio"], least=1.0, headroom=1.6)
    width_px = parts.label_px(rows["row"])
    panels = [
        parts.ratio_panel(
            part,
            order=CASES,
            scale=alt.Scale(type="log", domain=[low, high], nice=False),
            ticks=parts.log_ticks(low, high),
            title=title,
            bounds=_bounds(part["cache"][0]),
            width_px=width_px,
        )
        for title, part in _panels(rows)
    ]
    chart = parts.stacked(panels, "Time with the index on SSD over time with the index on HDD, beside the published bands.")
    caption = (
        "Time with the index on SSD over time with the index on HDD, the table on HDD "
        f"(log axis; left of 1: quicker with the index on SSD{left_out(run, pair)}). {MARKS} Grey bands: published by the census study. "
        f"{run.note(pair, len(rows), 'paired ratios', QUERY)}"
    )
    return Figure(chart, caption, width_px + parts.BESIDE_PX, rows)


def named(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.rename({"state": "row"}).with_columns(pl.col("row").map_elements(case_name, return_dtype=pl.String))


def _panels(rows: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    several = rows["io_mode"].n_unique() > 1
    cut = (
        (f"{name}, {told}" if several else name, rows.filter(io_mode=io_mode, cache=cache))
        for io_mode, told in IO_MODES.items()
        for cache, name in CACHES.items()
    )
    return [(title, part) for title, part in cut if not part.is_empty()]


def _bounds(cache: str) -> dict[str, Bounds]:
    """State, in words -> published bounds of the ratio."""
    return {
        case_name(case.name): claim.bounds
        for claim in load_claims().claims
        if claim.kind is Kind.RATIO and claim.bounds
        for case in claim.cases
        if case.study == "index_placement" and case.select.get("cache") == cache
    }


def _times_panel(rows: pl.DataFrame, title: str, picked: alt.Parameter, width_px: int) -> alt.LayerChart:
    low, high = rows["time_ms"].min(), rows["time_ms"].max()
    assert isinstance(low, float)
    assert isinstance(high, float)
    order = list(PLACEMENTS.values())
    legend = alt.Legend(title=None, columns=2)
    scale = alt.Scale(type="log", domain=[low / 1.15, high * 1.15], nice=False)
    unit = "datum.value >= 1000 ? format(datum.value / 1000, '~g') + ' s' : format(datum.value, '~g') + ' ms'"
    axis = alt.Axis(values=parts.log_ticks(low / 1.15, high * 1.15), labelExpr=unit)
    base = alt.Chart(rows).encode(
        y=alt.Y("row:N", sort=list(CASES), title=None, axis=parts.labels(width_px), scale=alt.Scale(paddingInner=0.2)),
        yOffset=alt.YOffset("placement:N", sort=order),
        color=alt.Color("placement:N", scale=alt.Scale(domain=order, range=COLOURS), legend=legend),
        opacity=alt.condition(picked, alt.value(0.85), alt.value(0.08)),
    )
    x = alt.X("time_ms:Q", scale=scale, title=None, axis=axis)
    dots = base.mark_point(size=32, filled=True).encode(
        x=x,
        shape=alt.Shape("placement:N", scale=alt.Scale(domain=order, range=SHAPES), legend=legend),
        tooltip=[alt.Tooltip("row:N", title="case"), *(alt.Tooltip(f"{name}:N") for name in ("placement", "replicate", "time", "flags"))],
    )
    medians = parts.medians(rows, ["row", "placement"], "time_ms", pl.col("flags") == "none")
    middle = [base.properties(data=medians).mark_tick(thickness=2, size=LANE_PX).encode(x=x)] if medians.height else []
    flagged = base.transform_filter("datum.flags != 'none'").mark_point(size=110, filled=False, strokeWidth=1)
    rings = flagged.encode(x=x, color=alt.value(theme.MARK))
    height = rows["row"].n_unique() * (len(order) * LANE_PX + 8)
    return alt.LayerChart(layer=[*middle, rings, dots], width=parts.PLOT_PX, height=height, title=title)
