"""The latency study's tablespaces and histograms, recorded and published, and what is computed from their buckets."""

from collections.abc import Callable
from typing import Final

import polars as pl

from tierwise.analysis.claims import published_series
from tierwise.analysis.statistics import Estimate
from tierwise.core.sql_files import named_statements
from tierwise.report.estimates import estimates
from tierwise.report.formats import DASH, number, percent, seconds
from tierwise.report.run import Run
from tierwise.report.words import names_in, variant_label

STUDY: Final = "read_latency"
SQL: Final = named_statements(__package__, "queries.sql")
SOURCE_ID: Final = "L"
SPACES: Final = names_in(STUDY, "tablespaces")

READ_HISTOGRAMS: Final = "data/published/read_latency.csv"
"""The source's five histograms: tablespace (all: the global one), from_ns (a bucket ends at twice that), reads."""
PUBLISHED_NAMES: Final = {"all": "all", "pg_clog": "cached", "ts_ssd": "ssd", "ts_main": "hdd", "ts_aux": "aux"}
"""The source's tablespaces by ours."""
MEMORY: Final = {"memory": True}  # parameters of `SQL["counted"]`: whether reads that memory served are counted
SSD_BUCKET: Final = 18  # the bucket from 262 to 524 µs: the source's "250 µs"
SPIKE_BUCKETS: Final = (19, 20)  # buckets from 0.52 to 2.1 ms, where the source has its sub-spike at about 1 ms
SLOW_BUCKET: Final = 21  # the first bucket from 2.1 ms on: slower than the SSD's published modes


def published() -> pl.DataFrame:
    tablespace, bucket = pl.col("tablespace").replace_strict(PUBLISHED_NAMES), pl.col("from_ns").log(2).round().cast(pl.Int32)
    return published_series(READ_HISTOGRAMS).select(tablespace, bucket=bucket, reads="reads")


def with_published(_run: Run, _pair: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Return the recorded counts and the published ones: how, share of the tablespace's reads, from_us; nothing where none was recorded."""
    if rows.is_empty():
        return rows
    named = ((rows, "here"), (published(), "published"))
    both = pl.concat([each.select("tablespace", "bucket", "reads", how=pl.lit(how)) for each, how in named])
    share = pl.col("reads") / pl.col("reads").sum().over("tablespace", "how")
    return both.with_columns(share=share, from_us=2.0 ** pl.col("bucket") / 1000)


def recorded(rows: pl.DataFrame) -> int:
    """Return how many reads were recorded: all, or where these were rejected, the sum of the tablespaces."""
    here = rows.filter(how="here") if rows.height else rows
    every = here.filter(tablespace="all")
    return int((here if every.is_empty() else every)["reads"].sum())


def bucket_text(bucket: int) -> str:
    low, high = (seconds(2.0**edge / 1e9) for edge in (bucket, bucket + 1))
    unit = low[-3:]
    return f"{low.removesuffix(unit)} to {high}" if high.endswith(unit) else f"{low} to {high}"


def held(histogram: pl.DataFrame, low: int, high: int | None = None) -> int:
    return int(histogram.filter(pl.col("bucket").is_between(low, low if high is None else high))["reads"].sum())


def total(histogram: pl.DataFrame) -> int:
    return int(histogram["reads"].sum())


def mean_us(histogram: pl.DataFrame) -> float:
    """Return the mean read by the buckets' middles, which is all that a printed histogram gives."""
    return float((2.0 ** (histogram["bucket"] + 0.5) * histogram["reads"]).sum()) / total(histogram) / 1000


def beside_published(rows: pl.DataFrame) -> pl.DataFrame | None:
    """Return a row for the published histograms and one for each variant that was replayed; `None` without an interval."""
    shares, times, means = (estimates(rows, ["variant", "tablespace"], name) for name in ("share_250_us", "times_ssd", "mean_us"))
    ssd, hdd = (published().filter(tablespace=space) for space in ("ssd", "hdd"))
    lines = [
        {
            "variant": "Published",
            "share": percent(held(ssd, SSD_BUCKET) / total(ssd)),
            "fullest": [bucket_text(SSD_BUCKET)],
            "ssd_us": mean_us(ssd),
            "hdd_us": mean_us(hdd),
            "ratio": number(mean_us(hdd) / mean_us(ssd)),
        }
    ]
    for variant in rows["variant"].unique(maintain_order=True):
        fullest = rows.filter(variant=variant, tablespace="ssd")["mode_bucket"].unique().sort()
        values = {f"{space}_us": one.value for space in ("ssd", "hdd") if (one := means.get((variant, space)))}
        texts = {"share": _interval(shares.get((variant, "ssd")), percent), "ratio": _interval(times.get((variant, "hdd")), number)}
        lines.append({"variant": variant_label(variant), "fullest": list(map(bucket_text, fullest)), **values, **texts})
    return pl.DataFrame(lines) if any(one.interval for one in times.values()) else None


def _interval(one: Estimate | None, form: Callable[[float], str]) -> str:
    if one is None or one.value is None or one.low is None or one.high is None:
        return DASH
    return f"{form(one.value)} ({form(one.low)} to {form(one.high)})"
