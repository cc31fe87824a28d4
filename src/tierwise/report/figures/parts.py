"""What charts of several studies share: panels under each other, log axes, and ratios with their interval and bounds."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import altair as alt
import polars as pl

from tierwise.analysis.claims import Bounds
from tierwise.analysis.statistics import estimable, geometric_estimate
from tierwise.report import colours
from tierwise.report.formats import number

PLOT_PX: Final = 470
BESIDE_PX: Final = 24  # the space between a label and the plot, and right of the plot, in pixels
ROW_PX: Final = 24
BAND_PX: Final = 20
BELOW_PX: Final = 7  # single repeats stand below the interval, which would hide them
SMALL_STEPS: Final = (1, 2, 5)


def label_px(rows: Iterable[str]) -> int:
    return 14 + round(6.1 * max(map(len, rows)))


def labels(width_px: int, **more: Any) -> alt.Axis:
    """Return row labels of one width in every panel, so that the plots stand under each other; `more` as Altair takes it."""
    return alt.Axis(minExtent=width_px, maxExtent=width_px, labelLimit=width_px - 8, **more)


def log_ticks(low: float, high: float) -> list[float]:
    """Return 1, 2 and 5 times the powers of ten within [low, high]; the powers alone where that would be many."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [step * 10.0**power for power in decades for step in SMALL_STEPS if low <= step * 10.0**power <= high]
    powers = [tick for tick in ticks if math.isclose(tick, 10.0 ** round(math.log10(tick)))]
    return ticks if len(ticks) <= 9 else powers


def stacked(panels: Sequence[alt.LayerChart], chrome_px: int = 0) -> alt.VConcatChart:
    """Return the panels below each other; `chrome_px`: the width of what stands beside their plots."""
    apart = alt.Resolve(scale=alt.ScaleResolveMap(x="independent", y="independent"))
    return alt.VConcatChart(vconcat=panels, spacing=18, resolve=apart, usermeta={"chrome_px": chrome_px})


def ratio_panel(
    ratios: pl.DataFrame,
    *,
    title: str,
    order: Sequence[str],
    ends: tuple[float, float],
    bounds: Mapping[str, Bounds],
    width_px: int,
    axis: str | None = None,
    colour: str = colours.BLUE,
) -> alt.LayerChart:
    """Draw ratios by ``row``: every repeat, their geometric mean with its interval, and published `bounds`; rows must be estimable."""
    rows = [row for row in order if row in set(ratios["row"])]
    scale, ticks = alt.Scale(type="log", domain=list(ends), nice=False), log_ticks(*ends)
    by_replicate = {row: dict(ratios.filter(row=row).select("replicate", "ratio").iter_rows()) for row in rows}
    means = pl.DataFrame([{"panel": title, **_mean(row, values)} for row, values in by_replicate.items()])
    x = alt.X("ratio:Q", scale=scale, title=axis, axis=alt.Axis(values=ticks, format="~g"))
    y = alt.Y("row:N", sort=list(order), title=None, axis=labels(width_px))
    titles = {"row": "case", "mean": "ratio", "interval": "95 % interval", "n": "repeats"}
    tips = [alt.Tooltip(f"{name}:N", title=title) for name, title in titles.items()]
    layers = [
        alt.Chart(pl.DataFrame({"ratio": [1.0]})).mark_rule(strokeDash=[3, 3]).encode(x=x),
        alt.Chart(ratios)
        .mark_circle(size=24, opacity=0.8, color=colours.MARK, yOffset=BELOW_PX)
        .encode(x=x, y=y, tooltip=[alt.Tooltip("row:N", title="case"), alt.Tooltip("replicate:Q"), alt.Tooltip("ratio:Q", format=".3r")]),
        alt.Chart(means).mark_rule(strokeWidth=3, color=colour).encode(x=alt.X("low:Q", scale=scale), x2="high:Q", y=y, tooltip=tips),
        alt.Chart(means).mark_point(shape="diamond", size=90, filled=True, opacity=1, color=colour).encode(x=x, y=y, tooltip=tips),
        alt.Chart(means).mark_text(align="left", dx=10, fontWeight=600).encode(x=alt.X("high:Q", scale=scale), y=y, text="mean:N"),
    ]
    published = {row: (bounds[row].lower or ends[0], bounds[row].upper or ends[1], str(bounds[row])) for row in rows if row in bounds}
    bands = [{"panel": title, "row": row, "from": low, "to": high, "published": text} for row, (low, high, text) in published.items()]
    if bands:
        layers.insert(0, _bands(pl.DataFrame(bands), scale, y))
    return alt.LayerChart(layer=layers, width=PLOT_PX, height=ROW_PX * len(rows), title=title)


def medians(rows: pl.DataFrame, keys: Sequence[str], value: str, clean: pl.Expr) -> pl.DataFrame:
    """Return `keys` and the median of `value` over the `clean` rows of each group that has enough of them."""
    kept = estimable(rows.filter(clean), keys)
    return kept.group_by(list(keys), maintain_order=True).agg(pl.col(value).median())


def top_of(values: Iterable[float], *, least: float, headroom: float) -> float:
    """Return the upper end of a ratio axis: beyond the largest of `values` by `headroom`, which the number beside it needs."""
    return max(least, *values) * headroom


def ratio_range(rows: pl.DataFrame, keys: Sequence[str], *, low: float, high: float, headroom: float) -> tuple[float, float]:
    """Return the ends of a log axis that holds each ratio and interval of `rows`, with `headroom` for the number beside the largest."""
    groups = rows.group_by(list(keys), maintain_order=True)
    means = [geometric_estimate(dict(part.select("replicate", "ratio").iter_rows())) for _, part in groups]
    ends = [*rows["ratio"], *(end for mean in means if mean.interval for end in mean.interval if math.isfinite(end) and end > 0)]
    return min([low, *(end / 1.05 for end in ends)]), top_of(ends, least=high, headroom=headroom)


def _mean(row: str, values: Mapping[int, float]) -> dict[str, Any]:
    estimate = geometric_estimate(values)
    assert estimate.value is not None, "the rows of a chart are estimable"
    assert estimate.interval is not None, "an estimate has an interval"
    low, high = estimate.interval
    return {
        "row": row,
        "ratio": estimate.value,
        "low": low,
        "high": high,
        "mean": number(estimate.value),
        "interval": f"{number(low)} to {number(high)}",
        "n": len(values),
    }


def _bands(bands: pl.DataFrame, scale: alt.Scale, y: alt.Y) -> alt.Chart:
    mark = alt.Chart(bands).mark_rect(opacity=0.28, color=colours.MARK, height=BAND_PX)
    tips = [alt.Tooltip("row:N", title="case"), "published:N"]
    chart: alt.Chart = mark.encode(x=alt.X("from:Q", scale=scale), x2="to:Q", y=y, tooltip=tips)
    return chart
