"""How much of a run's times hangs on stretched seeks and on how far disks read ahead: its recorded requests, replayed otherwise.

A file of smaller data lies closer together than the published one, so that its seeks are stretched by the inverse of its share. This is
right for requests that are as many whatever the size, and so lie farther apart in a larger file. A dense skip (a page in fifty, in
the order of the file) is as long at any size: the seek as the file lies is right, and the stretched one overstates. What a query takes of
the disks lies between the two.

How far a disk reads ahead no maker of these drives says: until a segment of its buffer is full or another command comes, and how large a
segment is they leave open. So the requests are replayed with a fraction and with a multiple of what is assumed, too.
"""

from functools import partial
from pathlib import Path
from typing import Final

import duckdb
import polars as pl

from tierwise.advisor.other_devices import device_s
from tierwise.advisor.recorded_queries import RecordedQuery, recorded_queries
from tierwise.core.units import KIB, MIB
from tierwise.core.vocabulary import Cache
from tierwise.devices.parameter import Size
from tierwise.devices.spec import ArraySpec, DeviceSpec, HddSpec, load_device

QUERY: Final = {
    "study": pl.String,
    "pair": pl.String,
    "trial": pl.String,
    "step": pl.Int32,
    "io_mode": pl.String,
    "cell": pl.String,
    "cache": pl.String,
    "lent": pl.Boolean,
}
"""The columns that name a query: those of `recorded_queries.RecordedQuery`."""
SEEKS: Final = {**QUERY, "stretch": pl.Float64, "stretched_s": pl.Float64, "as_they_lie_s": pl.Float64}
AHEAD_BYTES: Final = (256 * KIB, 8 * MIB)
"""How far disks may read ahead, the least and the most that is tried: of a buffer of 16 MiB a sixty-fourth, and half; assumed."""
AHEAD: Final = {**QUERY, "as_assumed_s": pl.Float64, "least_s": pl.Float64, "most_s": pl.Float64}


def seek_bounds(connection: duckdb.DuckDBPyConnection, run_folder: Path) -> pl.DataFrame:
    """Return what the devices take of each recorded cold query of the published protocols, its seeks stretched and as the files lie.

    Columns: `QUERY`'s, stretch (a factor), stretched_s, as_they_lie_s. Queries that touched a real directory are left out.
    """
    found = (
        (*_named(one), one.stretch, *(device_s(one.query, one.tiers, stretch, {}) for stretch in (one.stretch, 1.0)))
        for one in recorded_queries(connection, run_folder)
        if one.cache == Cache.COLD and not one.lent
    )
    return pl.DataFrame(list(found), schema=SEEKS, orient="row")


def ahead_bounds(connection: duckdb.DuckDBPyConnection, run_folder: Path) -> pl.DataFrame:
    """Return what the devices take of each query of `recorded_queries`, whatever was in the caches, where disks read ahead as assumed,
    least and most.

    Columns: `QUERY`'s, as_assumed_s, least_s, most_s (`AHEAD_BYTES`).
    """
    found = ((*_named(one), *_by_reach(one)) for one in recorded_queries(connection, run_folder))
    return pl.DataFrame(list(found), schema=AHEAD, orient="row")


def _named(one: RecordedQuery) -> tuple[object, ...]:
    return tuple(getattr(one, name) for name in QUERY)


def _by_reach(one: RecordedQuery) -> tuple[float, float, float]:
    as_assumed_s = device_s(one.query, one.tiers, one.stretch, {})
    if not set(one.query.requests["tier"]) & {tier for tier, spec in one.tiers.items() if reads_ahead(str(spec.get("device", "")))}:
        return as_assumed_s, as_assumed_s, as_assumed_s
    least_s, most_s = (
        device_s(one.query, one.tiers, one.stretch, {}, partial(reading_ahead, ahead_bytes=ahead_bytes)) for ahead_bytes in AHEAD_BYTES
    )
    return as_assumed_s, least_s, most_s


def reads_ahead(device: str) -> bool:
    """Return whether a file of ``data/devices`` (empty: a real directory) is of disks, whose reach is varied."""
    spec = load_device(device) if device else None
    return spec is not None and reading_ahead(spec, AHEAD_BYTES[0]) != spec


def reading_ahead(spec: DeviceSpec, ahead_bytes: int) -> DeviceSpec:
    """Return `spec` with disks that read so far ahead, with space for it in the segments of their buffers; flash as it is."""
    match spec:
        case HddSpec():
            space = max(spec.cache.base, ahead_bytes * spec.segments.base)
            return spec.model_copy(update={"read_ahead": _bytes(spec.read_ahead, ahead_bytes), "cache": _bytes(spec.cache, space)})
        case ArraySpec():
            return spec.model_copy(update={"member": reading_ahead(spec.member, ahead_bytes)})
    return spec


def _bytes(parameter: Size, size_bytes: float) -> Size:
    return parameter.model_copy(update={"value": size_bytes, "unit": "B", "low": None, "high": None})
