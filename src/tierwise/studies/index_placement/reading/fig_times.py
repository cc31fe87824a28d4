"""Every observed time of the count, by what the caches held, state queried and placement of table and index."""

import warnings
from typing import Final

import altair as alt
import polars as pl

from tierwise.report import colours
from tierwise.report.figures import parts
from tierwise.studies.index_placement.reading.names import CACHES, CASES, COLOURS, SHAPES, deciding

UNIT: Final = "observations"
LANE_PX: Final = 9
CLEAN: Final = pl.col("flags") == "none"
UNITS: Final = "datum.value >= 1000 ? format(datum.value / 1000, '~g') + ' s' : format(datum.value, '~g') + ' ms'"
derive = deciding


def facts(rows: pl.DataFrame) -> dict[str, object]:
    return {"medians": parts.medians(rows, ["cache", "row", "placement"], "time_ms", CLEAN).height}


def draw(rows: pl.DataFrame) -> alt.VConcatChart:
    picked = alt.selection_point(fields=["placement"], bind="legend")
    width_px = parts.label_px(rows["row"])
    panels = [_panel(part, title, picked, width_px) for cache, title in CACHES.items() if not (part := rows.filter(cache=cache)).is_empty()]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Automatically deduplicated selection parameter")  # one legend for all panels
        return parts.stacked(panels, chrome_px=width_px + parts.BESIDE_PX).add_params(picked)


def _panel(rows: pl.DataFrame, title: str, picked: alt.Parameter, width_px: int) -> alt.LayerChart:
    low, high = min(rows["time_ms"]) / 1.15, max(rows["time_ms"]) * 1.15
    order, legend = list(COLOURS), alt.Legend(title=None, columns=2)
    axis = alt.Axis(values=parts.log_ticks(low, high), labelExpr=UNITS)
    x = alt.X("time_ms:Q", scale=alt.Scale(type="log", domain=[low, high], nice=False), title="time of a count", axis=axis)
    base = alt.Chart(rows).encode(
        y=alt.Y("row:N", sort=list(CASES), title=None, axis=parts.labels(width_px), scale=alt.Scale(paddingInner=0.2)),
        yOffset=alt.YOffset("placement:N", sort=order),
        color=alt.Color("placement:N", scale=alt.Scale(domain=order, range=list(COLOURS.values())), legend=legend),
        opacity=alt.condition(picked, alt.value(0.85), alt.value(0.08)),
    )
    shape = alt.Shape("placement:N", scale=alt.Scale(domain=order, range=list(SHAPES.values())), legend=legend)
    tips = [alt.Tooltip("row:N", title="case"), *(alt.Tooltip(f"{name}:N") for name in ("placement", "replicate", "flags"))]
    dots = base.mark_point(size=32, filled=True).encode(x=x, shape=shape, tooltip=[*tips, alt.Tooltip("time_ms:Q", format=",.3r")])
    medians = parts.medians(rows, ["row", "placement"], "time_ms", CLEAN)
    middle = [base.properties(data=medians).mark_tick(thickness=2, size=LANE_PX).encode(x=x)] if medians.height else []
    flagged = base.transform_filter("datum.flags != 'none'").mark_point(size=110, filled=False, strokeWidth=1)
    rings = flagged.encode(x=x, color=alt.value(colours.MARK))
    height = rows["row"].n_unique() * (len(order) * LANE_PX + 8)
    return alt.LayerChart(layer=[*middle, rings, dots], width=parts.PLOT_PX, height=height, title=title)
