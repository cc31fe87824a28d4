"""Transactions per second over those with everything on HDD, beside what the source published."""

from functools import partial
from typing import Final

import altair as alt
import polars as pl

from tierwise.analysis.claims import Bounds, Kind, load_claims
from tierwise.analysis.statistics import estimable
from tierwise.report.figures import parts
from tierwise.report.run import Run
from tierwise.studies.pgbench_placement.reading.names import PLACEMENTS, STUDY, decided

UNIT: Final = "paired ratios"
PARAMETERS: Final = {"clients": 8, "script": "tpcb-like", "memory": 1}
KEYS: Final = ["size", "io_mode", "slowdown", "placement"]
SIZES: Final = {"large": "Almost three times the memory", "small": "Fits in memory"}
AXIS: Final = "times the transactions per second"
LABEL_PX: Final = parts.label_px(PLACEMENTS.values())


def derive(run: Run, pair: str, rows: pl.DataFrame) -> pl.DataFrame:
    return estimable(decided(run, pair, rows), KEYS)


def draw(rows: pl.DataFrame) -> alt.VConcatChart:
    span = parts.ratio_range(rows, KEYS, low=0.8, high=1.6, headroom=1.2)
    named = rows.with_columns(row=pl.col("placement").replace_strict(PLACEMENTS))
    panel = partial(parts.ratio_panel, order=list(PLACEMENTS.values()), ends=span, width_px=LABEL_PX)
    charts = []
    for size, io_mode, slowdown in named.select("size", "io_mode", "slowdown").unique().sort("size", "slowdown").rows():
        title = f"{SIZES[size]}, {io_mode} I/O{'' if slowdown == 1 else f', tiers slowed {slowdown:g}-fold'}"
        charts.append(panel(named.filter(size=size, slowdown=slowdown), title=title, bounds=_published(size)))
    for layer in charts[-1].layer:
        layer.encoding.x.title = AXIS
    return parts.stacked(charts, chrome_px=LABEL_PX + parts.BESIDE_PX)


def _published(size: str) -> dict[str, Bounds]:
    return {
        PLACEMENTS[case.select["placement"]]: claim.bounds
        for claim in load_claims().claims
        if claim.kind is Kind.RATIO and claim.bounds
        for case in claim.cases
        if case.study == STUDY and case.select["size"] == size
    }
