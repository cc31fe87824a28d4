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
from tierwise.simulate.replay import EXTENT_BYTES, Access, Operation, Trace, replay
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
    requests = log.with_columns(
        relation=pl.col("file").str.contains(RELATION), tablespace=pl.col("file").str.extract(RELATION).fill_null(tier)
    ).sort("time_s")
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
