"""Chart of the pgbench study's flip map: gains of tables and of indexes on SSD over the size of the indexes, simulated and emulated."""

from typing import Any, Final

import altair as alt
import polars as pl

from tierwise.analysis.statistics import enough, geometric_estimate
from tierwise.core.vocabulary import Evidence
from tierwise.report import theme
from tierwise.report.display import Figure, Sentence
from tierwise.report.figures import parts
from tierwise.report.formats import count, percent
from tierwise.report.prices import run_note
from tierwise.report.run import Run
from tierwise.studies.pgbench_placement.reading.figures import PLACEMENTS, QUERY
from tierwise.timings.replicates import replicates_of

STUDY: Final = "pgbench_placement"
LAYOUTS: Final = {"strewn": "anywhere", "recent": "side by side", "random-keys": "side by side, keys at random"}
"""Layout of popular rows -> words."""
COORDINATES: Final = ("writes", "skew", "layout", "memory", "slowdown")
"""The coordinates by which a point of the map is found."""
LIVE: Final = "reading/live_gains.sql"
"""The query of the study for the gains of pgbench's own windows."""
SHOWN: Final = {"index_ssd": theme.ORANGE, "table_ssd": theme.BLUE}
AXIS_PX: Final = 54
PANEL_PX: Final = 130


def points(run: Run, pair: str) -> list[dict[str, Any]]:
    """Return every point of the map that enough seeds were simulated of, as the run's manifest keeps it."""
    record = run.record(STUDY, pair)
    known: list[dict[str, Any]] = (record.facts.get("flip_map") or []) if record else []
    return [point for point in known if all(enough(len(seeds)) for seeds in point["tps"].values())]


def gain_of(point: dict[str, Any], name: str) -> float:
    """Return transactions a second of `name` over those of everything on hdd: geometric mean over the seeds."""
    rates, bases = point["tps"][name], point["tps"]["all_hdd"]
    value = geometric_estimate(
        {seed: one / base for seed, one, base in zip(replicates_of(point, len(bases)), rates, bases, strict=True)}
    ).value
    assert value is not None, "a point has enough seeds"
    return value


def live_gains(live: pl.DataFrame, point: dict[str, Any]) -> list[dict[str, Any]]:
    return live.filter(**{name: point[name] for name in COORDINATES}).rows(named=True)


def map_gains(run: Run, pair: str, measured: pl.DataFrame) -> pl.DataFrame:
    """Tell every gain of the map, simulated (`points`) or measured there too (`measured`: the rows of `LIVE`).

    Columns: panel, index_to_memory, updates, writes, gain, placement, how, and of the simulated ones the number of seeds.
    """
    every = points(run, pair)
    rows = [
        {
            **_where(point),
            "gain": gain_of(point, name),
            "placement": PLACEMENTS[name],
            "how": str(Evidence.SIMULATED),
            "seeds": len(point["tps"]["all_hdd"]),
        }
        for point in every
        for name in SHOWN
    ]
    live = [
        {**_where(point), "gain": found["gain"], "placement": PLACEMENTS[found["placement"]], "how": str(Evidence.EMULATED)}
        for point in every
        for found in live_gains(measured, point)
        if found["placement"] in SHOWN
    ]
    return pl.DataFrame([*rows, *live], infer_schema_length=None)


def flip(run: Run, pair: str, gains: pl.DataFrame) -> Figure | Sentence:
    """Draw the gains over index/memory, a panel for each skew and layout; `gains` as of `map_gains`."""
    if gains.is_empty():
        return Sentence("")
    table = gains.drop("seeds")
    live, seeds = table.filter(how=str(Evidence.EMULATED)), max(gains["seeds"].drop_nulls())
    top = parts.top_of(table["gain"], least=2.0, headroom=1.15)
    charts = [_panel(table.filter(panel=panel), str(panel), top) for panel in table["panel"].unique(maintain_order=True)]
    measured, crosses = "", ""
    if len(live):
        measured, crosses = (
            f", crosses **{Evidence.EMULATED}** with real pgbench",
            f"; n = {count(len(live))} crosses, **{Evidence.EMULATED}**",
        )
    caption = (
        "Gain over everything on HDD of indexes and of tables on SSD, by the size of the indexes over the memory, on logarithmic axes: "
        f"lines are **{Evidence.SIMULATED}** (geometric mean of {count(seeds)} seeds; dashed: fewer updates){measured}. Where two "
        f"lines meet, the answer flips. {run_note(run, Evidence.SIMULATED, len(table) - len(live), 'points')} Pair `{pair}`{crosses}. "
        f"Query: `{QUERY}`."
    )
    return Figure(
        parts.stacked(charts, "Gain of indexes and of tables on SSD over index size, where popular rows lie."), caption, AXIS_PX, table
    )


def _where(point: dict[str, Any]) -> dict[str, Any]:
    skewed = f"Skew {point['skew']:g}, popular rows {LAYOUTS[point['layout']]}"
    return {
        "panel": skewed if point["skew"] else "Every row as often",
        "index_to_memory": point["index_to_memory"],
        "updates": percent(point["writes"]),
        "writes": point["writes"],
    }


def _panel(rows: pl.DataFrame, title: str, top: float) -> alt.LayerChart:
    x = alt.X("index_to_memory:Q", title="index / memory", scale=alt.Scale(type="log", nice=False), axis=alt.Axis(format="~g"))
    axis = alt.Axis(values=parts.log_ticks(0.9, top), format="~g", minExtent=AXIS_PX, maxExtent=AXIS_PX)
    y = alt.Y("gain:Q", title=None, axis=axis, scale=alt.Scale(type="log", domain=[0.9, top], nice=False))
    names = [PLACEMENTS[name] for name in SHOWN]
    colour = alt.Color("placement:N", title=None, scale=alt.Scale(domain=names, range=list(SHOWN.values())))
    order = rows.sort("writes", descending=True)["updates"].unique(maintain_order=True).to_list()  # the first is drawn solid
    dash = alt.StrokeDash("updates:N", title="updates", sort=order)
    tips = ["placement:N", "updates:N", "how:N", alt.Tooltip("index_to_memory:Q", format=".2r"), alt.Tooltip("gain:Q", format=".3r")]
    simulated, emulated = (rows.filter(how=str(how)) for how in (Evidence.SIMULATED, Evidence.EMULATED))
    layers = [alt.Chart(simulated).mark_line(point=True).encode(x=x, y=y, color=colour, strokeDash=dash, tooltip=tips)]
    if not emulated.is_empty():
        cross = alt.Chart(emulated).mark_point(shape="cross", size=110, filled=True, stroke=theme.MARK, strokeWidth=0.5)
        layers.append(cross.encode(x=x, y=y, color=colour, tooltip=tips))
    return alt.LayerChart(layer=layers, width=parts.PLOT_PX, height=PANEL_PX, title=title)
