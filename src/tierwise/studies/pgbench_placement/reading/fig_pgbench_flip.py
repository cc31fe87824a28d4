"""Gains of indexes and of tables on SSD over the size of the indexes, simulated, and emulated where pgbench ran too."""

from typing import Final

import altair as alt
import polars as pl

from tierwise.core.vocabulary import Evidence
from tierwise.report import colours
from tierwise.report.figures import parts
from tierwise.report.formats import percent
from tierwise.report.run import Run
from tierwise.studies.pgbench_placement.reading.names import COLOURS, COORDINATES, PLACEMENTS, SQL, points

QUERY: Final = SQL["live_gains"]
EVIDENCE: Final = Evidence.SIMULATED
UNIT: Final = "gains"
LAYOUTS: Final = {"strewn": "spread out", "recent": "adjacent", "random-keys": "adjacent, keys at random"}
"""Where popular rows lie in the table."""
SHOWN: Final = ("index_ssd", "table_ssd")
CROSSES: Final = ("cross", "M.42,.99L0,.57L-.42,.99L-.99,.42L-.57,0L-.99,-.42L-.42,-.99L0,-.57L.42,-.99L.99,-.42L.57,0L.99,.42Z")
"""Shapes of emulated gains: an upright cross for the largest share of updates, whose line is solid, and an x for the smaller one."""
AXIS_PX: Final = 54
PANEL_PX: Final = 105
COLUMNS: Final = ("panel", "index_to_memory", "updates", "writes", "gain", "placement", "how")


def derive(run: Run, pair: str, live: pl.DataFrame) -> pl.DataFrame:
    known = points(run, pair)
    where = ["index_to_memory", *COORDINATES]
    simulated = known.unpivot(SHOWN, index=where, variable_name="placement", value_name="gain")
    emulated = known.select(where).join(live.filter(pl.col("placement").is_in(SHOWN)), on=COORDINATES)
    both = [
        frame.select(*where, "placement", "gain", how=pl.lit(str(how)))
        for frame, how in ((simulated, Evidence.SIMULATED), (emulated, Evidence.EMULATED))
    ]
    skewed = pl.format("Skew {}, popular rows {}", "skew", pl.col("layout").replace(LAYOUTS))
    panel = pl.when(pl.col("skew") > 0).then(skewed).otherwise(pl.lit("Every row equally popular"))
    updates = pl.col("writes").map_elements(percent, return_dtype=pl.String)
    return pl.concat(both).with_columns(panel=panel, updates=updates, placement=pl.col("placement").replace(PLACEMENTS)).select(COLUMNS)


def facts(rows: pl.DataFrame) -> dict[str, int]:
    emulated = rows.filter(how=str(Evidence.EMULATED)).height if rows.height else 0
    return {"n": rows.height - emulated, "emulated": emulated}


def draw(rows: pl.DataFrame) -> alt.VConcatChart:
    top = parts.top_of(rows["gain"], least=2.0, headroom=1.15)
    panels = rows.group_by("panel", maintain_order=True)
    updates = rows.sort("writes", descending=True)["updates"].unique(maintain_order=True).to_list()  # the first is drawn solid
    return parts.stacked([_panel(part, str(title), top, updates) for (title,), part in panels], chrome_px=AXIS_PX)


def _panel(rows: pl.DataFrame, title: str, top: float, updates: list[str]) -> alt.LayerChart:
    across = alt.Scale(type="log", nice=False)
    x = alt.X("index_to_memory:Q", title="size of the indexes / memory", scale=across, axis=alt.Axis(format="~g"))
    axis = alt.Axis(values=parts.log_ticks(0.9, top), format="~g", minExtent=AXIS_PX - 16, maxExtent=AXIS_PX)
    y = alt.Y("gain:Q", title="times faster", axis=axis, scale=alt.Scale(type="log", domain=[0.9, top], nice=False))
    domain = alt.Scale(domain=[PLACEMENTS[name] for name in SHOWN], range=[COLOURS[name] for name in SHOWN])
    colour = alt.Color("placement:N", title=None, scale=domain)
    dash = alt.StrokeDash("updates:N", title="updates (lines)", sort=updates, legend=alt.Legend(symbolType="stroke"))
    shape = alt.Shape("updates:N", title="updates (crosses)", scale=alt.Scale(domain=updates, range=[*CROSSES]))
    tips = ["placement:N", "updates:N", "how:N", alt.Tooltip("index_to_memory:Q", format=".2r"), alt.Tooltip("gain:Q", format=".3r")]
    simulated, emulated = (rows.filter(how=str(how)) for how in (Evidence.SIMULATED, Evidence.EMULATED))
    layers = [alt.Chart(simulated).mark_line(point=True).encode(x=x, y=y, color=colour, strokeDash=dash, tooltip=tips)]
    if not emulated.is_empty():
        cross = alt.Chart(emulated).mark_point(size=110, filled=True, stroke=colours.MARK, strokeWidth=0.5)
        layers.append(cross.encode(x=x, y=y, color=colour, shape=shape, tooltip=tips))
    return alt.LayerChart(layer=layers, width=parts.PLOT_PX, height=PANEL_PX, title=title)
