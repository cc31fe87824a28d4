"""What a single read takes on a tablespace: calibrated by the reader, seen by `tierwise trace`, or a band."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from tierwise.core.activity import Band
from tierwise.core.errors import InputError
from tierwise.timings.parquet import read_whole
from tierwise.timings.reads import READS

ANY_DEVICE_S: Final = Band(low=50e-6, high=50e-3)  # a read of 8 KiB on anything between flash and a busy disk (assumed)
SCANNED: Final = Band(low=0.01, high=1.0)
"""A page of a scan over a single read, on anything between a disk with read-ahead and flash without (assumed)."""
CACHED_S: Final = 30e-6  # the most that a read from the kernel's page cache takes (assumed)
EXAMPLE: Final = "--service pg_default=8.5@1 --service pg_default=14@4"


@dataclass(frozen=True)
class ServiceTimes:
    """Tablespace -> (depth, seconds) points, and the reads of a trace by file."""

    points: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    trace: pl.DataFrame | None = None

    def of(self, tablespace: str, depth: float) -> float | None:
        """Return the seconds of a read where `depth` requests are under way, between the nearest calibrated depths."""
        points = sorted(self.points.get(tablespace, []))
        if not points:
            return None
        depths, seconds = np.array(points).T
        return float(np.exp(np.interp(np.log(max(depth, 1.0)), np.log(depths), np.log(seconds))))


def parse(given: Sequence[str], trace: Path | None) -> ServiceTimes:
    """Read options such as ``pg_default=8.5@4``: tablespace, milliseconds, requests under way."""
    points: dict[str, list[tuple[float, float]]] = {}
    for one in given:
        tablespace, _, number = one.rpartition("=")
        milliseconds, _, depth = number.partition("@")
        try:
            point = (float(depth or 1), float(milliseconds) / 1000)
        except ValueError:
            point = (0.0, 0.0)
        if not tablespace or point[0] < 1 or point[1] <= 0:
            rule = "must be TABLESPACE=MILLISECONDS or TABLESPACE=MILLISECONDS@DEPTH"
            raise InputError("--service", value=one, rule=rule, remedy=EXAMPLE)
        points.setdefault(tablespace, []).append(point)
    return ServiceTimes(points, None if trace is None else _traced(trace))


def _traced(path: Path) -> pl.DataFrame:
    """Return by file (database/file node) what a trace saw: reads, seconds, and reads that reached a device."""
    if not path.is_file():
        raise InputError("--trace", value=str(path), rule="does not exist", remedy="tierwise trace --out FILE writes it")
    reads = read_whole(path, str(path))
    if missing := {"relation", "latency_s", "time_s"} - set(reads.columns):
        rule = f"must have the columns of a trace ({', '.join(READS)}); there is no {', '.join(sorted(missing))}"
        raise InputError("--trace", value=str(path), rule=rule, remedy="tierwise trace --out FILE writes it")
    return reads.group_by(pl.col("relation").str.replace(r"_(fsm|vm|init)$", "").alias("file")).agg(
        reads=pl.len(), seconds=pl.col("latency_s").sum(), device=(pl.col("latency_s") >= CACHED_S).sum()
    )
