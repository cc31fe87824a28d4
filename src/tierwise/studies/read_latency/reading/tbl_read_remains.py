"""The SSD's reads and the ratio of the means in each variant that was replayed, below the published histograms."""

from typing import Any, Final

import polars as pl

from tierwise.analysis.statistics import Estimate
from tierwise.core.vocabulary import Evidence
from tierwise.report.estimates import estimates
from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import DASH, listed, number, percent, seconds
from tierwise.report.words import variant_label
from tierwise.studies.read_latency.reading.histograms import SSD_BUCKET, bucket_text, held, mean_us, published, total

UNIT: Final = "window means"
EVIDENCE: Final = Evidence.SIMULATED
HEADER: Final = ["Variant", f"SSD: {bucket_text(SSD_BUCKET)}", "SSD: fullest bucket", "Mean, SSD", "Mean, RAID10", "RAID10 over SSD"]


def tabulate(rows: pl.DataFrame) -> Cells | None:
    shares, times, means = (estimates(rows, ["variant", "tablespace"], name) for name in ("share_250_us", "times_ssd", "mean_us"))
    lines = []
    for variant in rows["variant"].unique(maintain_order=True):
        buckets = sorted(set(rows.filter(variant=variant, tablespace="ssd")["mode_bucket"]))
        lines.append(
            [
                variant_label(variant),
                _cell(shares.get((variant, "ssd")), percent),
                listed(bucket_text(bucket) for bucket in buckets),
                *(_mean(means.get((variant, space))) for space in ("ssd", "hdd")),
                _cell(times.get((variant, "hdd")), number),
            ]
        )
    return Cells(HEADER, [_published(), *lines], "lrlrrr") if any(one.interval for one in times.values()) else None


def _published() -> list[str]:
    ssd, hdd = (published().filter(tablespace=space) for space in ("ssd", "hdd"))
    means = [mean_us(ssd), mean_us(hdd)]
    share = percent(held(ssd, SSD_BUCKET) / total(ssd))
    return ["Published", share, bucket_text(SSD_BUCKET), *(seconds(mean / 1e6) for mean in means), number(means[1] / means[0])]


def _mean(one: Estimate | None) -> str:
    return DASH if one is None or one.value is None else seconds(one.value / 1e6)


def _cell(one: Estimate | None, say: Any) -> str:
    if one is None or one.value is None or one.low is None or one.high is None:
        return DASH
    return f"{say(one.value)} ({say(one.low)} to {say(one.high)})"
