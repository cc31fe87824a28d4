"""What the reads of a window would have taken where the file system reads whole records, and where flash is held up while it erases.

The source names no file system, but Solaris, where ZFS is at home; and a data sheet's latency has no tail. Both change what a request
asks of its device, so the requests of a counted window, writes and log among them, are replayed through the devices' models.
"""

from bisect import bisect_right, insort
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any, Final

import polars as pl

from tierwise.bench.lab import Lab
from tierwise.bench.replaying import models
from tierwise.core.units import KIB, PAGE_BYTES
from tierwise.simulate.replay import EXTENT_BYTES, Access, Operation, Trace, replay
from tierwise.studies.read_latency.measuring.reads import histograms

RECORD_BYTES: Final = 128 * KIB
RECORD_READ: Final = {
    "default": "Lustre wiki, ZFS recordsize Property: 128K is the default setting; read on 2026-11-23",
    "whole": "C. Siebenmann, Revisiting what the ZFS recordsize is and what it does (utcc.utoronto.ca/~cks, 2020-05-08): since ZFS always "
    "verifies the checksum it must read the entire logical block, and rewrites it whole",
}
"""Where the size of a ZFS record was read, and where that whole ones are read and written."""
RELATION: Final = r"^(?:([a-z]\w*)/)?PG_[^/]+/\d+/"
"""The path of a relation's file below its mount, which begins with its tablespace where the mount has several."""


@dataclass(frozen=True)
class Arm:
    """One way in which devices are asked, or answer."""

    records: bool
    erasing: bool


ARMS: Final = {
    "replayed": Arm(records=False, erasing=False),
    "records": Arm(records=True, erasing=False),
    "erasing": Arm(records=False, erasing=True),
    "records-erasing": Arm(records=True, erasing=True),
}
"""The arms by name; the first changes nothing, and so tells what replaying does."""


def arms_of(lab: Lab, logs: Mapping[str, pl.DataFrame]) -> dict[str, dict[str, Any]]:
    """Return the `histograms` of each arm, from each tier's log of one window (`Mount.requests`).

    A read follows the one of its tablespace that ended last before it began, as long after it as then: whose it was the log does not
    tell. Writes come when they came. Whole records are asked of the device each time: what a cache would keep of them is not modelled.
    """
    found = {}
    for name, arm in ARMS.items():
        devices = models(lab, seed=lab.seed, erasing=arm.erasing)
        parts = [_replayed(tier, log, devices[tier], arm) for tier, log in logs.items() if tier in devices and log.height]
        found[name] = histograms(pl.concat(parts)) if parts else {}
    return found


def _replayed(tier: str, log: pl.DataFrame, device: Any, arm: Arm) -> pl.DataFrame:
    """Tablespace and latency of each read of a relation in `log`, on `device`."""
    requests = log.with_columns(
        relation=pl.col("file").str.contains(RELATION),
        tablespace=pl.col("file").str.extract(RELATION).fill_null(tier),
    ).sort("time_s")
    extents = int(requests["address_bytes"].max()) // EXTENT_BYTES + 2  # type: ignore[arg-type]  # polars cannot know that it is a number
    trace = Trace(list(_accesses(tier, requests, arm)))
    found = replay(trace, {tier: tier}, {tier: device}, {tier: [number * EXTENT_BYTES for number in range(extents)]})
    timed = requests.with_columns(latency_s=pl.Series(found.latencies_s))
    return timed.filter("relation", operation="read").select("tablespace", "latency_s")


def _accesses(tier: str, requests: pl.DataFrame, arm: Arm) -> Iterator[Access]:
    """The requests of one tier in order: reads after each other, the rest by its time."""
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
        if arm.records and row["relation"] and size:
            first, last = address // RECORD_BYTES, -(-(address + size) // RECORD_BYTES)
            address, size = first * RECORD_BYTES, (last - first) * RECORD_BYTES
        yield Access(tier, address // PAGE_BYTES, size, operation, think_s, after)
