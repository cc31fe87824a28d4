"""Charts of the Zipfian reads: throughput by the size of the data, and how the caches fill."""

from typing import Final

import altair as alt
import polars as pl

from tierwise.analysis.published import published_series
from tierwise.analysis.statistics import estimable
from tierwise.analysis.views import ROWS
from tierwise.core import studies
from tierwise.costs.iops import simulated_iops
from tierwise.report import theme
from tierwise.report.display import Figure, Sentence
from tierwise.report.figures import parts
from tierwise.report.run import Run

STUDY: Final = "ram_or_ssd"
READ_BENCHMARK: Final = "data/published/ram_or_ssd.csv"
"""The author's logs: tier, dataset_gib, end_s (from dropped caches), reads_per_s (mean of a minute)."""
QUERY: Final = studies.path(STUDY, ROWS)
SEEDS: Final = "reading/seeds.sql"
"""The query of the study for the measured phase of every clean seed."""
WARM_UP_S: Final = 600
TIERS: Final = {"hdd": "disk", "ssd": "SSD"}
COLOURS: Final = {"disk": theme.VERMILLION, "SSD": theme.BLUE}
HOW: Final = {"simulated": "circle", "published": "cross", "Che": "triangle-up"}
AXIS_PX: Final = 70


def throughput(run: Run, pair: str, seeds: pl.DataFrame, approximated: pl.DataFrame) -> Figure | Sentence:
    """Draw the reads per second of the measured phase by the size of the data: every seed, the author's logs, Che's approximation.

    `seeds`, `approximated`: as of `clean_seeds` and `che`.
    """
    if seeds.is_empty():
        return nothing(pair)
    points = pl.concat(
        [
            seeds.select("tier", "dataset_gib", "reads_per_s", how=pl.lit("simulated")),
            published_means().with_columns(how=pl.lit("published")),
            approximated.with_columns(how=pl.lit("Che")),
        ],
    ).with_columns(drive=pl.col("tier").replace_strict(TIERS))
    low, high = points["reads_per_s"].min(), points["reads_per_s"].max()
    assert isinstance(low, float), "a study has rows"
    assert isinstance(high, float), "a study has rows"
    sizes = sorted(set(points["dataset_gib"]))
    chart = (
        alt.Chart(points, width=parts.PLOT_PX, height=300)
        .mark_point(size=60, strokeWidth=1.6)
        .encode(
            x=alt.X("dataset_gib:Q", title="data, GiB", scale=alt.Scale(type="log", base=2), axis=alt.Axis(values=sizes)),
            y=alt.Y(
                "reads_per_s:Q",
                title="reads a second",
                scale=alt.Scale(type="log", domain=[low / 1.3, high * 1.3], nice=False),
                axis=alt.Axis(values=parts.log_ticks(low / 1.3, high * 1.3), format="~s", minExtent=AXIS_PX, maxExtent=AXIS_PX),
            ),
            color=alt.Color("drive:N", title=None, scale=alt.Scale(domain=list(COLOURS), range=list(COLOURS.values()))),
            shape=alt.Shape("how:N", title=None, scale=alt.Scale(domain=list(HOW), range=list(HOW.values()))),
            tooltip=["drive:N", "how:N", "dataset_gib:Q", alt.Tooltip("reads_per_s:Q", format=",.0f")],
        )
    )
    chart = chart.properties(description="Reads per second by size of the data, disk and SSD, simulated and as published.")
    caption = (
        "Reads a second in the ten minutes after ten of warm-up, by the size of the data, on logarithmic axes: each seed (simulated), the "
        f"means of the author's logs (published, `{READ_BENCHMARK}`), and what Che's approximation of an LRU cache would have the SSD "
        f"deliver with as many device reads. {run.note(pair, len(seeds), 'simulated runs', QUERY)}"
    )
    return Figure(chart, caption, AXIS_PX, seeds)


def fill_curves(run: Run, pair: str, simulated: pl.DataFrame) -> Figure | Sentence:
    """Return the series from dropped caches on, over the author's logs at the sizes that these have.

    `simulated`: tier, dataset_gib, end_s, and of the clean seeds there the median reads_per_s, low and high.
    """
    logs = published_series(READ_BENCHMARK).with_columns(drive=pl.col("tier").replace_strict(TIERS), end_s=pl.col("end_s").cast(pl.Float64))
    series = simulated.join(logs.select("tier", "dataset_gib").unique(), on=["tier", "dataset_gib"], how="semi")
    if series.is_empty():
        return nothing(pair)
    series = series.with_columns(drive=pl.col("tier").replace_strict(TIERS))
    sizes = sorted(set(series["dataset_gib"]))
    panels = [
        _fill(series.filter(drive=drive, dataset_gib=size), logs.filter(drive=drive, dataset_gib=size), f"{drive}, {size} GiB")
        for drive in COLOURS
        for size in sizes
    ]
    chart = parts.stacked(
        panels, "Reads per second over twenty minutes from dropped caches, simulated and as logged, for each drive and size."
    )
    caption = (
        f"Reads a second while the page cache fills and after it, every {_interval(run, pair)}: the median of the seeds (line), the range "
        f"of all (band), and the author's log as means of a minute (crosses, published, `{READ_BENCHMARK}`). Left of the dashed line is "
        f"warm-up. {run.note(pair, len(series), 'points', QUERY)}"
    )
    return Figure(chart, caption, AXIS_PX, series)


def _fill(series: pl.DataFrame, log: pl.DataFrame, title: str) -> alt.LayerChart:
    colour = COLOURS[title.split(",", maxsplit=1)[0]]
    ticks = alt.Axis(values=list(range(0, 2 * WARM_UP_S + 1, 200)))
    x = alt.X("end_s:Q", title="seconds at full size", scale=alt.Scale(domain=[0, 2 * WARM_UP_S]), axis=ticks)
    axis = alt.Axis(format=",.0f", minExtent=AXIS_PX, maxExtent=AXIS_PX, tickCount=4)
    y = alt.Y("reads_per_s:Q", title=None, axis=axis, scale=alt.Scale(zero=True))
    layers = [
        alt.Chart(series).mark_area(opacity=0.25, color=colour).encode(x=x, y=alt.Y("low:Q", axis=axis, title=None), y2="high:Q"),
        alt.Chart(series).mark_line(strokeWidth=1.5, color=colour).encode(x=x, y=y),
        alt.Chart(log.with_columns(middle_s=pl.col("end_s") - 30))
        .mark_point(shape="cross", filled=True, size=45, opacity=1, color=theme.MARK)
        .encode(x=alt.X("middle_s:Q"), y=y, tooltip=[alt.Tooltip("reads_per_s:Q", format=",.0f")]),
        alt.Chart(pl.DataFrame({"end_s": [WARM_UP_S]})).mark_rule(strokeDash=[3, 3]).encode(x=x),
    ]
    return alt.LayerChart(layer=layers, width=parts.PLOT_PX, height=72, title=f"{title}: reads a second")


def clean_seeds(run: Run, pair: str) -> pl.DataFrame:
    """Return a row for each seed of the drives and sizes that have enough of them: tier, dataset_gib, reads_per_s, device_iops,
    miss_ratio.
    """
    return estimable(run.query(studies.text(STUDY, SEEDS), [pair]), ["tier", "dataset_gib"])


def published_means() -> pl.DataFrame:
    """Return the measured phase of the author's logs: tier, dataset_gib, reads_per_s."""
    measured = published_series(READ_BENCHMARK).filter(pl.col("end_s") > WARM_UP_S)
    return measured.group_by("tier", "dataset_gib", maintain_order=True).agg(pl.col("reads_per_s").mean())


def che(run: Run, pair: str, seeds: pl.DataFrame, device: str = "") -> pl.DataFrame:
    """Return Che's approximation: the mean device reads of the simulation over its miss ratio; tier, dataset_gib, reads_per_s.

    `device`: a file of ``data/devices`` whose random reads a second take the place of the simulation's.
    """
    record = run.record(STUDY, pair)
    told: dict[str, dict[str, float]] = record.facts["che_miss_ratio"] if record else {}
    ratios = [(tier, int(size), ratio) for tier, sizes in told.items() for size, ratio in sizes.items()]
    found = pl.DataFrame(ratios, schema={"tier": pl.String, "dataset_gib": pl.Int64, "miss": pl.Float64}, orient="row")
    reads = pl.lit(simulated_iops(device)) if device else pl.col("device_iops").mean()
    iops = seeds.group_by("tier", "dataset_gib").agg(reads.alias("device_iops"))
    both = found.join(iops, on=["tier", "dataset_gib"])
    return both.sort("dataset_gib").select("tier", "dataset_gib", reads_per_s=pl.col("device_iops") / pl.col("miss"))


def nothing(pair: str) -> Sentence:
    """Return where the run has no row."""
    return Sentence(f"This run has no simulated benchmark on the pair `{pair}`.")


def _interval(run: Run, pair: str) -> str:
    (scale,) = run.query("select max(scale) from ram_or_ssd_series where pair = ? and how is null", [pair]).row(0)
    return "10 s" if scale == 1 else f"10 s at full size (10/{scale} s at the scale of 1/{scale})"
