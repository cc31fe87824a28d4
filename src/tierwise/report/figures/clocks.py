"""Chart of the two clocks: what a query's time is made of where it is counted, and where it is waited for."""

from importlib.resources import files
from typing import Final

import altair as alt
import polars as pl

from tierwise.report import theme
from tierwise.report.display import Figure, Sentence
from tierwise.report.figures import parts
from tierwise.report.run import Run
from tierwise.report.words import cell_words

QUERY: Final = "analysis/figures/clocks.sql"
PARTS: Final = {
    "processor": ("the server's processor time", theme.BLUE),
    "devices": ("what the device models ask for", theme.GREEN),
    "late": ("the emulator's lateness", theme.ORANGE),
    "stalled": ("not let run, and handed over", theme.VERMILLION),
}
MOST: Final = 6
"""Cells in the chart: the longest ones."""


def sql() -> str:
    """Return the text of ``clocks.sql``."""
    return (files("tierwise") / QUERY).read_text(encoding="utf-8")


def held(run: Run) -> pl.DataFrame:
    """Return the rows of ``clocks.sql``."""
    return run.query(sql(), [""])


def composed(run: Run, both: pl.DataFrame) -> Figure | Sentence:
    """Return the time of some cold queries by either clock, by its parts, and what really passed; `both`: rows of ``clocks.sql``."""
    rows = both.filter(pl.col("clock") == "virtual-one", pl.col("cache") == "cold").sort("virtual_s", descending=True).head(MOST)
    if rows.is_empty():
        return Sentence("No query of this run was both counted and waited for, so the two clocks cannot be shown side by side.")
    found = []
    for row in rows.iter_rows(named=True):
        cell = cell_words(row["cell"])
        late_s = max(0.0, row["device_s"] - row["requests_s"])
        stalled_s = max(0.0, row["elapsed_s"] - row["cpu_s"] - row["device_s"])
        virtual = {"processor": row["virtual_cpu_s"], "devices": row["virtual_device_s"]}
        real_time = {"processor": row["cpu_s"], "devices": row["requests_s"], "late": late_s, "stalled": stalled_s}
        for clock, times in (("virtual", virtual), ("real", real_time)):
            found += [
                {"cell": cell, "clock": clock, "part": PARTS[name][0], "order": order, "seconds": seconds}
                for order, (name, seconds) in enumerate(times.items())
            ]
    table = pl.DataFrame(found)
    clocks = ["virtual", "real"]
    colours = alt.Scale(domain=[text for text, _ in PARTS.values()], range=[colour for _, colour in PARTS.values()])
    panels = [
        alt.LayerChart(
            layer=[
                alt.Chart(part)
                .mark_bar(height=parts.BAND_PX)
                .encode(
                    x=alt.X("sum(seconds):Q", title=None, axis=alt.Axis(format="~s", tickCount=5)),
                    y=alt.Y("clock:N", sort=clocks, title=None, axis=parts.labels(parts.label_px(clocks))),
                    color=alt.Color("part:N", scale=colours, legend=alt.Legend(title=None, orient="bottom", columns=2)),
                    order="order:Q",
                    tooltip=["clock:N", "part:N", alt.Tooltip("seconds:Q", format=".3s")],
                )
            ],
            width=parts.PLOT_PX,
            height=2 * parts.ROW_PX,
            title=str(cell),
        )
        for (cell,), part in table.group_by(["cell"], maintain_order=True)
    ]
    chart = parts.stacked(panels, "Bars: the parts of some cold queries' times, counted and waited for.").resolve_scale(color="shared")
    return Figure(
        chart,
        "Seconds of some cold queries by either clock. Counted: the server's processor time and what the devices take, in whatever real "
        "time the machine needed. Waited for: the same, and what a late emulator and a server that was not let run add. "
        f"{run.stamp}, **emulated**, n = {len(rows)} queries, one repetition waited for, medians of the virtual-time ones. "
        f"Query: `{QUERY}`.",
        parts.label_px(clocks) + parts.BESIDE_PX,
        rows,
    )
