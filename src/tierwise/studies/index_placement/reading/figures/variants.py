"""Speed-up by the index on the SSD in each variant of the test, beside the published bounds."""

import math
from typing import Final

import altair as alt
import polars as pl

from tierwise.report import theme
from tierwise.report.estimates import estimates
from tierwise.report.figures import parts
from tierwise.report.formats import between, interval
from tierwise.report.words import CASES, variant_label
from tierwise.studies.index_placement.reading.frames import clean_with_direct, speedup_bounds
from tierwise.studies.index_placement.reading.names import CACHES, FASTER

QUERY: Final = """
select
    io_mode, variant, cache, state as row, replicate + 1 as replicate, hdd_hdd_s as index_hdd_s, hdd_ssd_s as index_ssd_s,
    ratio, 1 / ratio as speedup
from index_placement
where pair = $pair and cache in ('cold', 'cross') and not flagged and ratio is not null
order by io_mode, cache, variant, row, replicate
"""
UNIT: Final = "paired ratios"
SEEN: Final = {"within the published bounds": theme.GREEN, "outside": theme.VERMILLION, "undecided": theme.ORANGE}
MARKS: Final = {"Florida": "circle", "Puerto Rico": "square", "Nevada": "triangle-up"}
KEYS: Final = ["io_mode", "variant", "row"]
LANE_PX: Final = 8
derive = clean_with_direct


def draw(rows: pl.DataFrame) -> alt.VConcatChart:
    shown = {cache: _points(rows.filter(cache=cache), cache) for cache in CACHES if cache in set(rows["cache"])}
    whole = pl.concat(shown.values())
    ends = [min(0.9, *whole["low"]) / 1.1, max(35.0, *whole["high"]) * 2.6]
    width_px = parts.label_px(whole["label"])
    panels = [_panel(points, cache, alt.Scale(type="log", domain=ends, nice=False), width_px) for cache, points in shown.items()]
    return parts.stacked(panels, chrome_px=width_px + parts.BESIDE_PX)


def _points(rows: pl.DataFrame, cache: str) -> pl.DataFrame:
    """Return a row for each variant, I/O mode and state: its mean speed-up with the interval; the variants with the largest first."""
    (band, *_), points = speedup_bounds(cache).values(), []
    for (io_mode, variant, case), one in estimates(rows.with_columns(flag=pl.lit("none")), KEYS, "speedup").items():
        low, high = one.interval or (math.nan, math.nan)
        seen = list(SEEN)[0 if band.contain(low, high) else 1 if band.exclude(low, high) else 2]
        state = next(name for name in CASES.values() if case.startswith(name))
        points.append((variant_label(variant, io_mode), case, state, one.value, low, high, interval(low, high), seen))
    names = ["label", "case", "state", "speedup", "low", "high", "interval", "seen"]
    means = pl.DataFrame(points, schema=names, orient="row").with_columns(mean=pl.col("speedup").log().mean().over("label"))
    return means.sort("mean", descending=True, maintain_order=True)


def _panel(rows: pl.DataFrame, cache: str, scale: alt.Scale, width_px: int) -> alt.LayerChart:
    low, high = scale["domain"]
    (band, *_), states = speedup_bounds(cache).values(), [name for name in MARKS if name in set(rows["state"])]
    x = alt.X("speedup:Q", scale=scale, title=FASTER, axis=alt.Axis(values=parts.log_ticks(low, high), format="~g"))
    y = alt.Y("label:N", sort=rows["label"].unique(maintain_order=True).to_list(), title=None, axis=parts.labels(width_px))
    colours = alt.Scale(domain=list(SEEN), range=list(SEEN.values()))
    marks = alt.Scale(domain=states, range=[MARKS[name] for name in states])
    base = alt.Chart(rows).encode(
        y=y,
        yOffset=alt.YOffset("state:N", sort=states),
        color=alt.Color("seen:N", scale=colours, legend=alt.Legend(title=None, symbolType="stroke")),
        tooltip=[*(f"{name}:N" for name in ("label", "case", "interval", "seen")), alt.Tooltip("speedup:Q", format=".3r")],
    )
    shape = alt.Shape("state:N", scale=marks, legend=alt.Legend(title=None, orient="bottom", symbolFillColor=theme.MARK))
    told = [(*key, max(part["high"]), between(min(part["speedup"]), max(part["speedup"]), 3)) for key, part in rows.group_by("label")]
    texts = alt.Chart(pl.DataFrame(told, schema=["label", "high", "text"], orient="row"))
    shaded = alt.Chart(pl.DataFrame({"from": [band.lower or low], "to": [band.upper or high]}))
    layers = [
        shaded.mark_rect(opacity=0.22, color=theme.MARK).encode(x=alt.X("from:Q", scale=scale), x2="to:Q"),
        alt.Chart(pl.DataFrame({"speedup": [1.0]})).mark_rule(strokeDash=[3, 3]).encode(x=x),
        base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", scale=scale), x2="high:Q"),
        base.mark_point(size=45, filled=True, opacity=1).encode(x=x, shape=shape),
        texts.mark_text(align="left", dx=9, fontWeight=600).encode(x=alt.X("high:Q", scale=scale), y=y, text="text:N"),
    ]
    height = rows["label"].n_unique() * (3 * LANE_PX + 8)
    return alt.LayerChart(layer=layers, width=parts.PLOT_PX, height=height, title=CACHES[cache])
