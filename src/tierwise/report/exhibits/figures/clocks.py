"""Chart of the two clocks: what a query's time is made of where it is counted, and where it is waited for."""

from importlib.resources import files
from typing import Final

import altair as alt
import polars as pl

from tierwise.report import theme
from tierwise.report.figures import parts
from tierwise.report.run import Run
from tierwise.report.words import cell_words

QUERY: Final = (files("tierwise") / "analysis/figures/clocks.sql").read_text(encoding="utf-8")
UNIT: Final = "queries"
PARAMETERS: Final = {"tiers": ""}
PARTS: Final = {
    "processor": ("the server's processor time", theme.BLUE),
    "devices": ("what the device models ask for", theme.GREEN),
    "late": ("the emulator's lateness", theme.ORANGE),
    "stalled": ("not let run, and handed over", theme.VERMILLION),
}
MOST: Final = 6
"""Cells in the chart: the longest ones."""


def derive(run: Run, pair: str, rows: pl.DataFrame) -> pl.DataFrame:  # noqa: ARG001  of whichever pair
    """Keep the longest cold queries of one session."""
    return rows.filter(pl.col("clock") == "virtual-one", pl.col("cache") == "cold").sort("virtual_s", descending=True).head(MOST)


def draw(rows: pl.DataFrame) -> alt.VConcatChart:
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
    chart: alt.VConcatChart = parts.stacked(panels, chrome_px=parts.label_px(clocks) + parts.BESIDE_PX).resolve_scale(color="shared")
    return chart
