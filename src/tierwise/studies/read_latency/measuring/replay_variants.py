"""What the reads of a window would have taken if the file system read whole records, or flash paused while it erases.

The source names no file system, but Solaris, the home of ZFS; and a datasheet's latency has no tail. Both change the requests of a
device, so the requests of a virtual-time window, writes and log included, are replayed through the devices' models.
"""

from bisect import bisect_right, insort
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any, Final

import polars as pl

from tierwise.bench.replaying import models
from tierwise.bench.testbed import Testbed
from tierwise.core.units import KIB, PAGE_BYTES
from tierwise.core.vocabulary import Evidence
from tierwise.simulate.replay import EXTENT_BYTES, Access, Operation, Trace, lay_out, replay
from tierwise.studies.read_latency.measuring.read_window import histograms

RECORD_BYTES: Final = 128 * KIB
RECORD_READ: Final = {  # sources of the size of a ZFS record, and of whole records being read and written
    "default": "Lustre wiki, ZFS recordsize Property: 128K is the default setting; read on 2026-11-23",
    "whole": "C. Siebenmann, Revisiting what the ZFS recordsize is and what it does (utcc.utoronto.ca/~cks, 2020-05-08): since ZFS always "
    "verifies the checksum it must read the entire logical block, and rewrites it whole",
}
RELATION: Final = r"^(?:([a-z]\w*)/)?PG_[^/]+/\d+/"
"""The path of a relation's file below its mount, with its tablespace first where the mount has several."""


@dataclass(frozen=True)
class ReplayVariant:
    records: bool
    erasing: bool


REPLAY_VARIANTS: Final = {  # the first changes nothing, and so shows what replaying does
    "replayed": ReplayVariant(records=False, erasing=False),
    "records": ReplayVariant(records=True, erasing=False),
    "erasing": ReplayVariant(records=False, erasing=True),
    "records-erasing": ReplayVariant(records=True, erasing=True),
}


def replay_variants(testbed: Testbed, logs: Mapping[str, pl.DataFrame]) -> dict[str, dict[str, Any]]:
    """Return the `histograms` of each variant, from each tier's log of one window (`Mount.requests`).

    A read follows the read of its tablespace that ended last before it, at the recorded distance: the log does not name sessions. Writes
    come at their recorded times. Whole records go to the device each time: a cache for them is not modelled.
    """
    found = {}
    for name, variant in REPLAY_VARIANTS.items():
        devices = models(testbed, seed=testbed.seed, erasing=variant.erasing)
        parts = [_replayed(tier, log, devices[tier], variant) for tier, log in logs.items() if tier in devices and log.height]
        found[name] = histograms(pl.concat(parts)) if parts else {}
    return found


def _replayed(tier: str, log: pl.DataFrame, device: Any, variant: ReplayVariant) -> pl.DataFrame:
    tablespace = pl.col("file").str.extract(RELATION).fill_null(tier)
    requests = log.with_columns(relation=pl.col("file").str.contains(RELATION), tablespace=tablespace).sort("time_s")
    extents = int(requests["address_bytes"].max()) // EXTENT_BYTES + 2  # type: ignore[arg-type]  # polars cannot know that it is a number
    trace = Trace(list(_accesses(tier, requests, variant)))
    found = replay(trace, {tier: tier}, {tier: device}, {tier: [number * EXTENT_BYTES for number in range(extents)]})
    timed = requests.with_columns(latency_s=pl.Series(found.latencies_s))
    return timed.filter("relation", operation="read").select("tablespace", "latency_s")


def _accesses(tier: str, requests: pl.DataFrame, variant: ReplayVariant) -> Iterator[Access]:
    begun_s = requests["time_s"][0]
    ended: dict[str, list[tuple[float, int]]] = {}  # tablespace -> when reads ended that none has followed yet
    for number, row in enumerate(requests.iter_rows(named=True)):
        operation = Operation[row["operation"].upper()]
        after, think_s = None, row["time_s"] - begun_s
        if operation is Operation.READ:
            waiting = ended.setdefault(row["tablespace"], [])
            if place := bisect_right(waiting, (row["time_s"], inf)):
                ended_s, after = waiting.pop(place - 1)
                think_s = row["time_s"] - ended_s
            insort(waiting, (row["time_s"] + row["actual_s"], number))
        address, size = row["address_bytes"], row["size_bytes"]
        if variant.records and row["relation"] and size:
            first, last = address // RECORD_BYTES, -(-(address + size) // RECORD_BYTES)
            address, size = first * RECORD_BYTES, (last - first) * RECORD_BYTES
        yield Access(tier, address // PAGE_BYTES, size, operation, think_s, after)


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
    after, ready_s = (pl.col(name).shift(1).over("pid") for name in ("number", "time_s"))
    before = ordered.with_columns(after=after, ready_s=ready_s.fill_null(ordered["begun_s"].min()))
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
