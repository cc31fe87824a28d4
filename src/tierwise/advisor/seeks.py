"""How much of a run's times hangs on stretched seeks and on how far disks read ahead: its recorded requests, replayed otherwise.

A file of smaller data lies closer together than the published one, so that its seeks are stretched by the inverse of its share. This is
right for requests that are as many whatever the size, and so lie farther apart in a larger file. A dense skip (a page in fifty, in
the order of the file) is as long at any size: the seek as the file lies is right, and the stretched one overstates. What a query takes of
the disks lies between the two.

How far a disk reads ahead no maker of these drives says: until a segment of its buffer is full or another command comes, and how large a
segment is they leave open. So the requests are replayed with a fraction and with a multiple of what is assumed, too.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import duckdb
import polars as pl

from tierwise.advisor.other_devices import device_s
from tierwise.analysis import heat
from tierwise.analysis.evidence import PUBLISHED, VARIANT
from tierwise.core.units import KIB, MIB
from tierwise.devices.parameter import Size
from tierwise.devices.spec import ArraySpec, DeviceSpec, HddSpec

QUERIES: Final = f"""
select trial, step, any_value(cell) as cell from timings
where study = ? and pair = ? and cache = 'cold' and coalesce(cell ->> '{VARIANT}', '{PUBLISHED}') = '{PUBLISHED}'
group by trial, step order by trial, step
"""
SEEKS: Final = {"study": pl.String, "cell": pl.String, "stretch": pl.Float64, "stretched_s": pl.Float64, "as_they_lie_s": pl.Float64}
AHEAD_BYTES: Final = (256 * KIB, 8 * MIB)
"""How far disks may read ahead, the least and the most that is tried: of a buffer of 16 MiB a sixty-fourth, and half; assumed."""
AHEAD: Final = {"study": pl.String, "cell": pl.String, "as_assumed_s": pl.Float64, "least_s": pl.Float64, "most_s": pl.Float64}


class Asked(NamedTuple):
    """A cold query that was recorded on emulated `tiers` (name -> as in the pair's file), and how far its seeks were stretched there."""

    study: str
    cell: str
    query: heat.Recorded
    tiers: dict[str, Any]
    stretch: float


def seek_bounds(connection: duckdb.DuckDBPyConnection, run_folder: Path) -> pl.DataFrame:
    """Return what the devices take of each recorded cold query of the published protocols, its seeks stretched and as the files lie.

    Columns: study, cell, stretch (a factor), stretched_s, as_they_lie_s. Queries that touched a real directory are left out.
    """
    found = (
        (one.study, one.cell, one.stretch, *(device_s(one.query, one.tiers, stretch, {}) for stretch in (one.stretch, 1.0)))
        for one in _asked(connection, run_folder)
    )
    return pl.DataFrame(list(found), schema=SEEKS, orient="row")


def ahead_bounds(connection: duckdb.DuckDBPyConnection, run_folder: Path) -> pl.DataFrame:
    """Return what the devices take of each of the queries of `seek_bounds` where disks read ahead as assumed, least and most.

    Columns: study, cell, as_assumed_s, least_s, most_s (`AHEAD_BYTES`).
    """
    ends = [partial(reading_ahead, ahead_bytes=ahead_bytes) for ahead_bytes in AHEAD_BYTES]
    found = (
        (
            one.study,
            one.cell,
            device_s(one.query, one.tiers, one.stretch, {}),
            *(device_s(one.query, one.tiers, one.stretch, {}, altered) for altered in ends),
        )
        for one in _asked(connection, run_folder)
    )
    return pl.DataFrame(list(found), schema=AHEAD, orient="row")


def reading_ahead(spec: DeviceSpec, ahead_bytes: int) -> DeviceSpec:
    """Return `spec` with disks that read so far ahead, with room for it in the segments of their buffers; flash as it is."""
    match spec:
        case HddSpec():
            room = max(spec.cache.base, ahead_bytes * spec.segments.base)
            return spec.model_copy(update={"read_ahead": _bytes(spec.read_ahead, ahead_bytes), "cache": _bytes(spec.cache, room)})
        case ArraySpec():
            return spec.model_copy(update={"member": reading_ahead(spec.member, ahead_bytes)})
    return spec


def _bytes(parameter: Size, size_bytes: float) -> Size:
    return parameter.model_copy(update={"value": size_bytes, "unit": "B", "low": None, "high": None})


def _asked(connection: duckdb.DuckDBPyConnection, run_folder: Path) -> Iterator[Asked]:
    """The recorded cold queries of the published protocols, study by study."""
    for study, pair in connection.execute("select distinct study, pair from timings where cache = 'cold' order by all").fetchall():
        record = heat.record_of(connection, study, pair)
        if record is None or "traces" not in record.facts:
            continue
        tiers = record.pair.get("tiers") or {}
        for trial, step, cell in connection.execute(QUERIES, [study, pair]).fetchall():
            query = next((one for one in heat.recorded(run_folder, study, pair, trial) or () if one.step == step), None)
            if query is not None and all("device" in tiers.get(tier, {}) for tier in query.requests["tier"].unique()):
                yield Asked(study, cell, query, tiers, record.stretch)
