"""A device from a reader's own measurement: the JSON that fio 2 or 3 writes, as the points that it measured."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from tierwise.core.errors import InputError
from tierwise.core.paths import short
from tierwise.core.text_files import read_text
from tierwise.core.units import KIB
from tierwise.devices.spec import Measured

PERCENTILES: Final = {"p50_ms": "50", "p95_ms": "95", "p99_ms": "99", "p999_ms": "99.9"}
RUN: Final = "run fio with --rw=randread --output-format=json"
Numbers = Mapping[str, Any]


class Key(NamedTuple):
    """Jobs of one group run at the same time: those of the same kind are one load."""

    group: int
    operation: Literal["read", "write"]
    random: bool
    block_bytes: int


def read_fio(path: Path) -> tuple[str, list[Measured]]:
    """Return fio's version and what it measured, by operation, block and queue depth; an `InputError` where that is nothing."""
    where, text = short(path), read_text(path)
    try:
        found = json.loads(text[max(0, text.find("{")) :])  # warnings may stand before it
    except (ValueError, RecursionError) as error:
        raise InputError(where, rule=f"must be the JSON that fio writes ({error})", remedy=RUN) from error
    jobs = found.get("jobs", found.get("client_stats")) if isinstance(found, dict) else None
    if not isinstance(jobs, list) or not all(isinstance(job, dict) for job in jobs):
        raise InputError(where, rule="must be the JSON that fio writes, with a list of jobs", remedy=RUN)
    failed = next((job for job in jobs if job.get("error")), None)
    if failed is not None:
        name = f"{where} job {failed.get('jobname')}"
        raise InputError(name, field="error", value=failed["error"], rule="the job failed", remedy="run it again")
    parts: dict[Key, list[tuple[int, Numbers]]] = {}
    try:
        for job in jobs:
            for key, depth, side in _sides(job, {**found.get("global options", {}), **job.get("job options", {})}):
                parts.setdefault(key, []).append((depth, side))
        points = [_point(key, sides) for key, sides in parts.items()]
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError, ZeroDivisionError) as error:
        raise InputError(where, rule=f"a job has a field that is no number of fio's ({error})", remedy=RUN) from error
    if not points:
        raise InputError(where, rule="no job read or wrote anything", remedy=RUN)
    points.sort(key=lambda one: (one.operation, not one.random, one.block_bytes, one.queue_depth))
    return str(found.get("fio version", "fio")), points


def _sides(job: Numbers, options: Numbers) -> Iterator[tuple[Key, int, Numbers]]:
    together = int(options.get("numjobs", 1)) if "group_reporting" in options else 1
    depth = int(options.get("iodepth", 0)) or _deepest(job.get("iodepth_level", {}))
    random = "rand" in str(options.get("rw", options.get("readwrite", job.get("jobname", ""))))
    operations: tuple[Literal["read", "write"], ...] = ("read", "write")
    for operation in () if job.get("jobname") == "All clients" else operations:
        side = job.get(operation)
        if isinstance(side, dict) and side.get("iops"):
            block = round(_rate(side) / side["iops"] / 512) * 512  # the rates are rounded
            yield Key(int(job.get("groupid", 0)), operation, random, max(512, block)), depth * together, side


def _deepest(levels: Numbers) -> int:
    known = {name: share for name, share in levels.items() if share}
    return int(max(known, key=lambda name: known[name]).lstrip(">=")) if known else 1


def _rate(side: Numbers) -> float:
    """Return bytes a second: fio 3 has them, fio 2 counts KiB under the same name as fio 3 bytes."""
    if "bw_bytes" in side:
        return float(side["bw_bytes"])
    if side.get("io_bytes") and side.get("runtime"):
        worth = 1 if "io_kbytes" in side or "clat_ns" in side else KIB
        return float(side["io_bytes"]) * worth / float(side["runtime"]) * 1e3
    return float(side["bw"]) * float(KIB)


def _latency(side: Numbers) -> tuple[float, dict[str, float]]:
    """Return (mean, percentile -> value) in milliseconds, of the whole latency where fio has it, else from submission to completion."""
    for field, worth in (("lat_ns", 1e-6), ("clat_ns", 1e-6), ("lat", 1e-3), ("clat", 1e-3)):
        found = side.get(field)
        if isinstance(found, dict) and found.get("percentile"):
            return found["mean"] * worth, {f"{float(name):g}": value * worth for name, value in found["percentile"].items()}
    field, worth = ("lat_ns", 1e-6) if "lat_ns" in side else ("lat", 1e-3)
    return side.get(field, {}).get("mean", 0.0) * worth, {}


def _point(key: Key, sides: list[tuple[int, Numbers]]) -> Measured:
    iops = [float(side["iops"]) for _, side in sides]
    latencies = [_latency(side) for _, side in sides]
    means = [mean or depth / rate * 1e3 for (mean, _), (depth, _), rate in zip(latencies, sides, iops, strict=True)]  # without clocks

    def weighted(values: list[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return sum(value * rate for value, rate in zip(known, iops, strict=True)) / sum(iops) if len(known) == len(iops) else None

    return Measured(
        operation=key.operation,
        random=key.random,
        queue_depth=sum(depth for depth, _ in sides),
        block_bytes=key.block_bytes,
        iops=sum(iops),
        rate_mb_s=sum(_rate(side) for _, side in sides) / 1e6,
        mean_ms=sum(mean * rate for mean, rate in zip(means, iops, strict=True)) / sum(iops),
        **{field: weighted([known.get(name) for _, known in latencies]) for field, name in PERCENTILES.items()},
    )
