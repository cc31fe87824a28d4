"""Charts of the pgbench study's question: transactions a second of every placement, and the gains beside what was published."""

from itertools import product
from typing import Final

import altair as alt
import polars as pl

from tierwise.analysis.claims import Bounds, Kind, load_claims
from tierwise.analysis.deciding import mode_in, mode_of
from tierwise.analysis.statistics import estimable
from tierwise.report import theme
from tierwise.report.display import Figure, Sentence
from tierwise.report.figures import parts
from tierwise.report.formats import count, number
from tierwise.report.no_answer import in_place
from tierwise.report.run import Run
from tierwise.report.words import IO_MODES
from tierwise.timings.traces import TrialKey
from tierwise.timings.transactions import read_transactions

STUDY: Final = "pgbench_placement"
QUERY: Final = "studies/pgbench_placement/reading/rows.sql"
PLACEMENTS: Final = {"all_hdd": "all on HDD", "index_ssd": "indexes on SSD", "table_ssd": "tables on SSD", "all_ssd": "all on SSD"}
COLOURS: Final = (theme.VERMILLION, theme.ORANGE, theme.BLUE, theme.GREEN)
SHAPES: Final = ("circle", "diamond", "square", "triangle-up")
SIZES: Final = {"large": "Almost three times the memory", "small": "Fits in memory"}
ROW_PX: Final = 30
TIMELINE_PX: Final = 170
TPCB: Final = "clients = '8' and script = 'tpcb-like' and memory = '1'"
"""Where the claims are looked up."""
CLIENTS: Final = {"1": "one", "8": "eight"}
"""Numbers of clients in words."""


def nothing(run: Run, pair: str) -> Sentence:
    return in_place(run, STUDY, pair)


def mode(run: Run, pair: str) -> str:
    """Return the I/O mode that decides, as far as it was measured."""
    return mode_in(run.store, STUDY, pair)


def panels(rows: pl.DataFrame) -> list[tuple[str, str, float]]:
    """Return (size, I/O mode, slowdown) of every panel that `rows` need: the large set first, the deciding I/O mode first."""
    order = list(product(SIZES, dict.fromkeys((mode_of(STUDY, rows["io_mode"].unique()), *IO_MODES))))
    return sorted(rows.select("size", "io_mode", "slowdown").unique().rows(), key=lambda row: (order.index(row[:2]), row[2]))


def panel_title(size: str, io_mode: str, slowdown: float) -> str:
    """Return ``Fits in memory, direct I/O, tiers slowed 8-fold``."""
    slowed = "" if slowdown == 1 else f", tiers slowed {slowdown:g}-fold"
    return f"{SIZES[size]}, {IO_MODES[io_mode]}{slowed}"


def rates(run: Run, pair: str, windows: pl.DataFrame) -> Figure | Sentence:
    """Return transactions a second of every window, by placement; one panel for each size, I/O mode and slowdown.

    `windows`: size, I/O mode, slowdown, placement, replicate, tps, cpu_share and flag of each, of one number of clients, script and memory,
    which stand beside them in columns of these names.
    """
    if windows.is_empty():
        return nothing(run, pair)
    load = _load(windows)
    rows = windows.drop("clients", "script", "memory").with_columns(row=pl.col("placement").replace_strict(PLACEMENTS))
    width_px = parts.label_px(PLACEMENTS.values())
    charts = [
        _rates_panel(rows.filter(size=size, io_mode=io_mode, slowdown=slowdown), panel_title(size, io_mode, slowdown), width_px)
        for size, io_mode, slowdown in panels(rows)
    ]
    tick = parts.where_medians(rows, ["size", "io_mode", "slowdown", "row"], pl.col("flag") == "none", "; the tick is the median")
    caption = (
        f"Transactions a second of every window, {load}{tick}"
        f"{parts.ringed(rows['flag'], 'a window that gives no verdict (processors above 85 % busy, or the emulation late)')}. "
        f"{run.note(pair, len(rows), 'windows', QUERY)}"
    )
    chart = parts.stacked(charts, "Transactions a second of each placement, every window a dot, for each size, way of I/O and slowdown.")
    return Figure(chart, caption, width_px + parts.BESIDE_PX, rows)


def gains(run: Run, pair: str, repeats: pl.DataFrame) -> Figure | Sentence:
    """Return transactions a second over those of everything on hdd, with the bounds published for the large set.

    `repeats`: size, I/O mode, slowdown, placement, replicate, tps and ratio of each clean repeat.
    """
    named = repeats.with_columns(row=pl.col("placement").replace_strict(PLACEMENTS))
    rows = estimable(named, ["size", "io_mode", "slowdown", "placement"])
    if rows.is_empty():
        return nothing(run, pair)
    width_px = parts.label_px(PLACEMENTS.values())
    low, high = parts.ratio_range(rows, ["size", "io_mode", "slowdown", "placement"], low=0.8, high=1.6, headroom=1.2)
    charts = [
        parts.ratio_panel(
            part,
            title=panel_title(size, io_mode, slowdown),
            order=list(PLACEMENTS.values()),
            scale=alt.Scale(type="log", domain=[low, high], nice=False),
            ticks=parts.log_ticks(low, high),
            bounds=_bounds(size),
            width_px=width_px,
        )
        for size, io_mode, slowdown in panels(rows)
        if not (part := rows.filter(size=size, io_mode=io_mode, slowdown=slowdown)).is_empty()
    ]
    caption = (
        "Transactions a second over those with everything on HDD, in the same replicate of the interleaving. "
        "Diamond and line: geometric mean and "
        "its 95 % interval, above a dot for each repeat. Grey band: published by the pgbench study for the large set. "
        f"{run.note(pair, len(rows), 'paired ratios', QUERY)}"
    )
    return Figure(parts.stacked(charts, "Gain of each placement over everything on HDD."), caption, width_px + parts.BESIDE_PX, rows)


def timeline(run: Run, pair: str, chosen: pl.DataFrame) -> Figure | Sentence:
    """Return transactions in each second of one window of each placement, the checkpoint shaded.

    `chosen`: the phases of one window of each placement, in their order (placement, trial, replicate, phase, started_s, elapsed_s,
    transactions); all of one replicate.
    """
    if chosen.is_empty():
        return nothing(run, pair)
    curves, spans, kept = [], [], 0
    for (placement,), phases in chosen.group_by("placement", maintain_order=True):
        started_s = float(phases["started_s"][0])
        length_s = int(float(phases["started_s"][-1] + phases["elapsed_s"][-1]) - started_s)
        if not length_s:
            continue  # a window without a whole second has no curve
        inside = _inside(run, pair, phases)
        kept += len(inside)
        counted = inside.group_by(second=(pl.col("ended_s") - started_s).floor()).agg(tps=pl.col("stands_for").sum())
        every = pl.DataFrame({"second": [float(second) for second in range(length_s)]})
        curves.append(
            every.join(counted, on="second", how="left").with_columns(pl.col("tps").fill_null(0.0), row=pl.lit(PLACEMENTS[str(placement)]))
        )
        (checkpoint,) = phases.filter(phase="checkpoint").rows(named=True)
        begun_s = checkpoint["started_s"] - started_s
        spans.append({"row": PLACEMENTS[str(placement)], "from_s": begun_s, "to_s": begun_s + checkpoint["elapsed_s"]})
    if not curves:
        return nothing(run, pair)
    order = [name for name in PLACEMENTS.values() if name in {span["row"] for span in spans}]
    seconds = pl.concat(curves)
    charts = [
        _timeline_panel(
            name, seconds.filter(row=name), pl.DataFrame(spans).filter(row=name), COLOURS[list(PLACEMENTS.values()).index(name)]
        )
        for name in order
    ]
    done = int(chosen["transactions"].sum())
    sampled = f" Of {count(done)} transactions the run keeps {count(kept)}; each stands for its share." if kept < 0.99 * done else ""
    caption = (
        f"Transactions in each second of one window each (replicate {chosen['replicate'][0] + 1}, large set, direct I/O), from pgbench's "
        "own log; the shaded stretch is the "
        f"checkpoint.{sampled} {run.note(pair, len(seconds), 'seconds', QUERY)}"
    )
    return Figure(parts.stacked(charts, "Transactions in each second of a window, with its checkpoint."), caption, 60, seconds)


def _inside(run: Run, pair: str, phases: pl.DataFrame) -> pl.DataFrame:
    key = TrialKey("pgbench_placement", pair, phases["trial"][0])
    kept = read_transactions(run.folder, key, int(phases["replicate"][0]))
    parts_of = []
    for started_s, elapsed_s, transactions in phases.select("started_s", "elapsed_s", "transactions").rows():
        part = kept.filter(pl.col("ended_s").is_between(started_s, started_s + elapsed_s, closed="left"))
        parts_of.append(part.with_columns(stands_for=pl.lit(transactions / max(1, part.height), pl.Float64)))
    return pl.concat(parts_of)


def _load(windows: pl.DataFrame) -> str:
    (clients, script, memory), *_ = windows.select("clients", "script", "memory").rows()
    scripts = {"tpcb-like": "the TPC-B script", "select-only": "the select-only script"}
    fold = "" if memory == "1" else f", {memory} times the memory"
    return f"{CLIENTS.get(clients, clients)} clients, {scripts.get(script, script)}{fold}"


def _bounds(size: str) -> dict[str, Bounds]:
    """Placement, in words -> published bounds of its ratio on the set of `size`."""
    return {
        PLACEMENTS[case.select["placement"]]: claim.bounds
        for claim in load_claims().claims
        if claim.kind is Kind.RATIO and claim.bounds
        for case in claim.cases
        if case.study == "pgbench_placement" and case.select["size"] == size
    }


def _rates_panel(rows: pl.DataFrame, title: str, width_px: int) -> alt.LayerChart:
    order = list(PLACEMENTS.values())
    x = alt.X("tps:Q", title=None, scale=alt.Scale(zero=True), axis=alt.Axis(format=",~r", tickCount=6))
    y = alt.Y("row:N", sort=order, title=None, axis=parts.labels(width_px))
    tips = [
        alt.Tooltip("row:N", title="placement"),
        alt.Tooltip("replicate:Q"),
        alt.Tooltip("tps:Q", format=",.0f", title="transactions/s"),
        alt.Tooltip("cpu_share:Q", format=".0%", title="processors busy"),
        alt.Tooltip("flag:N"),
    ]
    dots = (
        alt.Chart(rows)
        .mark_point(size=36, filled=True, opacity=0.85)
        .encode(
            x=x,
            y=y,
            color=alt.Color("row:N", scale=alt.Scale(domain=order, range=COLOURS), legend=None),
            shape=alt.Shape("row:N", scale=alt.Scale(domain=order, range=SHAPES), legend=None),
            tooltip=tips,
        )
    )
    medians = parts.medians(rows, ["row"], "tps", pl.col("flag") == "none")
    middle = [alt.Chart(medians).mark_tick(thickness=2, size=16, color=theme.MARK).encode(x=alt.X("tps:Q"), y=y)] if medians.height else []
    ringed = alt.Chart(rows.filter(pl.col("flag") != "none")).mark_point(size=120, filled=False, strokeWidth=1, color=theme.MARK)
    layers = [*middle, dots, *([ringed.encode(x=x, y=y)] if (rows["flag"] != "none").any() else [])]
    return alt.LayerChart(layer=layers, width=parts.PLOT_PX, height=ROW_PX * rows["row"].n_unique(), title=title)


def _timeline_panel(name: str, curve: pl.DataFrame, span: pl.DataFrame, colour: str) -> alt.LayerChart:
    x = alt.X("second:Q", title="seconds of the window", axis=alt.Axis(tickCount=6))
    shade = alt.Chart(span).mark_rect(opacity=0.28, color=theme.MARK).encode(x=alt.X("from_s:Q"), x2="to_s:Q")
    line = (
        alt.Chart(curve)
        .mark_line(color=colour, interpolate="step-after")
        .encode(x=x, y=alt.Y("tps:Q", title="transactions/s", scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=3)))
    )
    mean = number(float(curve["tps"].sum()) / max(1, curve.height))
    return alt.LayerChart(
        layer=[shade, line],
        width=parts.PLOT_PX,
        height=TIMELINE_PX * 2 // 3,
        title=f"{name.capitalize().replace('hdd', 'HDD').replace('ssd', 'SSD')}: {mean} a second",
    )
