"""Reads per second of the measured phase, by the size of the data: simulated, logged by the author, and by Che's approximation."""

from typing import Final

import altair as alt
import polars as pl

from tierwise.analysis.claims import published_series
from tierwise.analysis.statistics import estimable
from tierwise.costs.iops import simulated_iops
from tierwise.report import colours
from tierwise.report.figures import parts
from tierwise.report.run import Run
from tierwise.studies.ram_or_ssd.reading.money import SQL, STUDY, TIERS

COLOURS: Final = {"disk": colours.VERMILLION, "SSD": colours.BLUE}
WARM_UP_S: Final = 600  # how long the source read before it measured
READ_BENCHMARK: Final = "data/published/ram_or_ssd.csv"
"""The author's logs: tier, dataset_gib, end_s (from dropped caches), reads_per_s (mean of a minute)."""
SSD: Final = {"ssd": ""}  # parameter of `SQL["seeds"]`: a file of ``data/devices`` in place of the SSD in Che's approximation


def with_references(run: Run, pair: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Return the seeds of the drives and sizes that have enough of them, and what they are compared with: how, drive."""
    seeds = estimable(rows, ["tier", "dataset_gib"])
    if seeds.is_empty():
        return seeds
    measured = published_series(READ_BENCHMARK).filter(pl.col("end_s") > WARM_UP_S)
    logged = measured.group_by("tier", "dataset_gib", maintain_order=True).agg(pl.col("reads_per_s").mean())
    parts = (("simulated", seeds.drop("ssd")), ("published", logged), ("Che", _che(run, pair, seeds)))
    both = pl.concat([part.with_columns(how=pl.lit(how)) for how, part in parts], how="diagonal")
    return both.with_columns(drive=pl.col("tier").replace_strict(TIERS))


def simulated(rows: pl.DataFrame) -> dict[str, object]:
    return {"n": rows.filter(how="simulated").height if rows.height else 0}


def _che(run: Run, pair: str, seeds: pl.DataFrame) -> pl.DataFrame:
    """Return the device's reads over the miss ratio of an LRU cache: tier, dataset_gib, reads_per_s."""
    record, device = run.record(STUDY, pair), seeds["ssd"][0]
    missed: dict[str, dict[str, float]] = record.facts["che_miss_ratio"] if record else {}
    ratios = [(tier, int(size), ratio) for tier, sizes in missed.items() for size, ratio in sizes.items()]
    found = pl.DataFrame(ratios, schema={"tier": pl.String, "dataset_gib": pl.Int64, "miss": pl.Float64}, orient="row")
    reads = pl.lit(simulated_iops(device)) if device else pl.col("device_iops").mean()
    both = found.join(seeds.group_by("tier", "dataset_gib").agg(reads.alias("device")), on=["tier", "dataset_gib"])
    return both.sort("dataset_gib").select("tier", "dataset_gib", reads_per_s=pl.col("device") / pl.col("miss"))


QUERY: Final = SQL["seeds"]
UNIT: Final = "simulated runs"
PARAMETERS: Final = SSD
HOW: Final = {"simulated": "circle", "published": "cross", "Che": "triangle-up"}
AXIS_PX: Final = 70
derive = with_references
facts = simulated


def draw(rows: pl.DataFrame) -> alt.LayerChart:
    low, high = (float(end) for end in rows.select(low=pl.col("reads_per_s").min() / 1.3, high=pl.col("reads_per_s").max() * 1.3).row(0))
    ticks = alt.Axis(values=parts.log_ticks(low, high), format="~s", minExtent=AXIS_PX, maxExtent=AXIS_PX)
    sizes = alt.Axis(values=sorted(set(rows["dataset_gib"])))
    points = (
        alt.Chart(rows)
        .mark_point(size=60, strokeWidth=1.6)
        .encode(
            x=alt.X("dataset_gib:Q", title="data, GiB", scale=alt.Scale(type="log", base=2), axis=sizes),
            y=alt.Y("reads_per_s:Q", title="reads a second", scale=alt.Scale(type="log", domain=[low, high], nice=False), axis=ticks),
            color=alt.Color("drive:N", title=None, scale=alt.Scale(domain=list(COLOURS), range=list(COLOURS.values()))),
            shape=alt.Shape("how:N", title=None, scale=alt.Scale(domain=list(HOW), range=list(HOW.values()))),
            tooltip=["drive:N", "how:N", "dataset_gib:Q", alt.Tooltip("reads_per_s:Q", format=",.0f")],
        )
    )
    return alt.LayerChart(layer=[points], width=parts.PLOT_PX, height=300, usermeta={"chrome_px": AXIS_PX})
