"""Charts of the latency study's question: the histogram of each tablespace, ours and the published one, on one axis of latencies."""

from typing import Final

import altair as alt
import polars as pl

from tierwise.analysis.published import published_series
from tierwise.analysis.views import ROWS
from tierwise.core import studies
from tierwise.report import theme
from tierwise.report.display import Figure, Sentence
from tierwise.report.figures import parts
from tierwise.report.formats import count, seconds
from tierwise.report.no_answer import in_place
from tierwise.report.run import Run

STUDY: Final = "read_latency"
READ_HISTOGRAMS: Final = "data/published/read_latency.csv"
"""The source's five histograms: tablespace (all: the global one), from_ns (a bucket ends at twice that), reads."""
QUERY: Final = studies.path(STUDY, ROWS)
SPACES: Final = {
    "all": "All reads",
    "cached": "Held by the OS cache",
    "ssd": "SSD mirror",
    "hdd": "RAID10 of disks",
    "aux": "System's drives",
}
"""Tablespace -> what it is called here, in the order of the figures."""
PUBLISHED_NAMES: Final = {"all": "all", "pg_clog": "cached", "ts_ssd": "ssd", "ts_main": "hdd", "ts_aux": "aux"}
"""The source's tablespaces by ours."""
HISTOGRAMS: Final = "reading/histograms.sql"
"""The query of the study for the reads by tablespace and bucket."""
CLEAN: Final = "from read_latency_clean where pair = $1"
"""SQL: by tablespace the windows whose reads are told."""
SSD_BUCKET: Final = 18
"""The bucket from 262 to 524 µs: the source's "250 µs"."""
HOW: Final = {"here": theme.BLUE, "published": theme.VERMILLION}
PANEL_PX: Final = 72
AXIS_PX: Final = 46


def histograms(run: Run, pair: str, found: pl.DataFrame) -> Figure | Sentence:
    """Return a panel for each tablespace: share of its reads by power of two of microseconds; `found` as of `counted`."""
    if found.is_empty():
        return nothing(run, pair)
    both = pl.concat(
        [
            found.select("tablespace", "bucket", "reads", how=pl.lit("here")),
            published().select("tablespace", "bucket", "reads", how=pl.lit("published")),
        ]
    ).with_columns(share=pl.col("reads") / pl.col("reads").sum().over("tablespace", "how"), from_us=2.0 ** pl.col("bucket") / 1000)
    bounds = [2.0**edge / 1000 for edge in (int(both["bucket"].to_numpy().min()), int(both["bucket"].to_numpy().max()) + 1)]
    panels = [_panel(both.filter(tablespace=space), title, bounds) for space, title in SPACES.items() if space in set(both["tablespace"])]
    chart = parts.stacked(panels, "Histograms of read latencies by tablespace, as recorded here and as published.")
    caption = (
        "How long reads of 8 KiB took, by tablespace, in buckets that end at twice their beginning: share of the tablespace's reads, all "
        f"{count(recorded(found))} reads of the clean windows together (bars, {run.evidence(pair)}), and as the source printed them "
        f"(line, published, `{READ_HISTOGRAMS}`). {run.note(pair, len(both), 'counts', QUERY)}"
    )
    return Figure(chart, caption, AXIS_PX, both)


def _panel(rows: pl.DataFrame, title: str, bounds: list[float]) -> alt.LayerChart:
    rows = rows.with_columns(to_us=2 * pl.col("from_us"), middle_us=pl.col("from_us") * 2**0.5)
    axis = alt.Axis(values=parts.log_ticks(*bounds), format="~s", grid=True)
    x = alt.X("from_us:Q", title="µs", scale=alt.Scale(type="log", domain=bounds, nice=False), axis=axis)
    y = alt.Y("share:Q", title=None, axis=alt.Axis(format="%", tickCount=3, minExtent=AXIS_PX, maxExtent=AXIS_PX))
    colour = alt.Color("how:N", title=None, scale=alt.Scale(domain=list(HOW), range=list(HOW.values())))
    tips = [
        alt.Tooltip("how:N"),
        alt.Tooltip("from_us:Q", title="from, µs", format=",.0f"),
        alt.Tooltip("to_us:Q", title="to, µs", format=",.0f"),
        alt.Tooltip("reads:Q", format=",d"),
        alt.Tooltip("share:Q", format=".1%"),
    ]
    here, there = rows.filter(how="here"), _without_gaps(rows.filter(how="published"))
    bars = alt.Chart(here).mark_rect(opacity=1).encode(x=x, x2="to_us:Q", y=y, y2=alt.datum(0), color=colour, tooltip=tips)
    middle = alt.X("middle_us:Q")
    line = alt.Chart(there).mark_line(strokeWidth=1.5, interpolate="linear").encode(x=middle, y=y, color=colour)
    points = alt.Chart(there).mark_point(size=30, filled=True, opacity=1).encode(x=middle, y=y, color=colour, tooltip=tips)
    return alt.LayerChart(layer=[bars, line, points], width=parts.PLOT_PX, height=PANEL_PX, title=title)


def _without_gaps(rows: pl.DataFrame) -> pl.DataFrame:
    """`rows` of one histogram with the empty buckets between the others, so that a line through them tells no reads that are not there."""
    every = pl.DataFrame(
        {"bucket": range(rows["bucket"].to_numpy().min(), rows["bucket"].to_numpy().max() + 1)}, schema={"bucket": pl.Int32}
    )
    from_us = 2.0 ** pl.col("bucket") / 1000
    filled = (
        every.join(rows.select("bucket", "reads", "share"), on="bucket", how="left")
        .sort("bucket")
        .with_columns(
            pl.col("reads", "share").fill_null(0), how=pl.lit("published"), tablespace=pl.lit(rows["tablespace"][0]), from_us=from_us
        )
    )
    return filled.with_columns(to_us=2 * pl.col("from_us"), middle_us=pl.col("from_us") * 2**0.5)


def counted(run: Run, pair: str) -> pl.DataFrame:
    """Return the reads by tablespace and bucket, all clean windows together, where there are enough of these.

    Reads that memory served are seen in all windows or in none.
    """
    return run.query(studies.text(STUDY, HISTOGRAMS), [pair, True])


def recorded(found: pl.DataFrame) -> int:
    """Return how many reads the histograms of `counted` hold: all, or where these were rejected, those of each tablespace."""
    every = found.filter(tablespace="all")
    return int((found if every.is_empty() else every)["reads"].sum())


def published() -> pl.DataFrame:
    """Return the source's histograms by our names: tablespace, bucket, reads."""
    return published_series(READ_HISTOGRAMS).select(
        pl.col("tablespace").replace_strict(PUBLISHED_NAMES),
        bucket=pl.col("from_ns").log(2).round().cast(pl.Int32),
        reads="reads",
    )


def nothing(run: Run, pair: str) -> Sentence:
    """Return where the run has no row, or too few clean windows."""
    return in_place(run, STUDY, pair)


def bucket_text(bucket: int) -> str:
    """Return ``18`` -> ``262 to 524 µs``."""
    low, high = (seconds(2.0**edge / 1e9) for edge in (bucket, bucket + 1))
    unit = low[-3:]
    return f"{low.removesuffix(unit)} to {high}" if high.endswith(unit) else f"{low} to {high}"


def held(histogram: pl.DataFrame, low: int, high: int | None = None) -> int:
    """Count the reads in the buckets from `low` to `high`, or in `low` alone."""
    return int(histogram.filter(pl.col("bucket").is_between(low, low if high is None else high))["reads"].sum())


def total(histogram: pl.DataFrame) -> int:
    return int(histogram["reads"].sum())


def middle_us(bucket: int) -> float:
    """Return the middle of a bucket, by logarithms."""
    return float(2.0 ** (bucket + 0.5) / 1000)


def mean_us(histogram: pl.DataFrame) -> float:
    """Return mean read by the buckets' middles, which is all that a printed histogram tells."""
    return float((2.0 ** (histogram["bucket"] + 0.5) * histogram["reads"]).sum()) / total(histogram) / 1000


def quantile_bucket(histogram: pl.DataFrame, share: float) -> int:
    ordered = histogram.sort("bucket")
    below = ordered["reads"].cum_sum() / ordered["reads"].sum()
    return int(ordered.filter(below >= share)["bucket"][0])
