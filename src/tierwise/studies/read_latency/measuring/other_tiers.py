"""What the same single reads would have cost on another tier: each session's reads replayed through that tier's device model."""

from collections.abc import Mapping
from typing import Any, Final

import polars as pl

from tierwise.bench.replaying import models
from tierwise.bench.testbed import Testbed
from tierwise.core.units import PAGE_BYTES
from tierwise.core.vocabulary import Evidence
from tierwise.simulate.replay import Access, Operation, Trace, lay_out, replay

MEMORY_S: Final = 64e-6  # faster reads were served by memory, since no device of the pairs is so fast; they are not moved


def on_other_tiers(testbed: Testbed, reads: pl.DataFrame, pages: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return mean latencies of the device reads of each tablespace (`reads`, of one window), as recorded and on each tier.

    A session issues its next read as long after the previous one as recorded. Only the reads of one tablespace are moved; writes and log
    are not replayed. `pages` of each tablespace's table: smaller ones are spread out as far as the largest, so that a drive's own buffer
    holds no more of them.
    """
    devices, largest = list(models(testbed, seed=testbed.seed)), max(pages.values())
    device_reads = reads.filter(pl.col("latency_s") >= MEMORY_S, pl.col("pid").is_not_null())
    rows = []
    for tablespace, held in pages.items():
        own = device_reads.filter(tablespace=tablespace).with_columns(page=pl.col("page") * (largest // held))
        if own.height < 2:
            continue
        trace = _trace(own)
        sizes = {name: (page + 1) * PAGE_BYTES for name, page in own.group_by("relation").agg(pl.col("page").max()).rows()}
        for tier in devices:
            model = models(testbed, seed=testbed.seed)[tier]
            found = replay(trace, dict.fromkeys(sizes, tier), {tier: model}, lay_out(sizes))
            latencies = pl.Series(found.latencies_s)
            rows.append(
                {
                    "tablespace": tablespace,
                    "tier": tier,
                    "evidence": str(Evidence.SIMULATED),
                    "reads": own.height,
                    "recorded_mean_s": own["latency_s"].mean(),
                    "mean_s": latencies.mean(),
                    "median_s": latencies.median(),
                }
            )
    return rows


def _trace(reads: pl.DataFrame) -> Trace:
    ordered = reads.with_columns(begun_s=pl.col("time_s") - pl.col("latency_s")).sort("begun_s").with_row_index("number")
    before = ordered.with_columns(
        after=pl.col("number").shift(1).over("pid"), ready_s=pl.col("time_s").shift(1).over("pid").fill_null(ordered["begun_s"].min())
    )
    accesses = [
        Access(row["relation"], row["page"], row["size_bytes"], Operation.READ, max(0.0, row["begun_s"] - row["ready_s"]), row["after"])
        for row in before.iter_rows(named=True)
    ]
    return Trace(accesses)


def lone_reads(testbed: Testbed, tier: str, sizes_bytes: tuple[int, ...]) -> list[dict[str, Any]]:
    """Return the model's time for a single read of each size on an idle tier; empty for a real disk."""
    found = []
    for size_bytes in sizes_bytes:
        model = models(testbed, seed=testbed.seed).get(tier)
        if model is None:
            return []
        trace = Trace([Access("lone", 0, size_bytes, Operation.READ, 0.0)])
        found.append({"size_bytes": size_bytes, "latency_s": replay(trace, {"lone": tier}, {tier: model}, {"lone": [0]}).latencies_s[0]})
    return found
