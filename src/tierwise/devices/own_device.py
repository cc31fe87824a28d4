"""The reader's own device: fitted to what fio or a calibration measured, and written as a file of ``data/devices``."""

import datetime as dt
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from math import ceil
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from tierwise.core.errors import InputError
from tierwise.core.files import write_whole
from tierwise.core.paths import short
from tierwise.core.text_files import read_text
from tierwise.core.toml import Strict, as_toml, validate
from tierwise.core.units import KIB, MB
from tierwise.devices.parameter import BOUNDS, Parameter, assumed
from tierwise.devices.spec import Measured, SsdSpec

PERCENTILES: Final = {"p50_ms": "50", "p95_ms": "95", "p99_ms": "99", "p999_ms": "99.9"}
RUN: Final = "run fio with --rw=randread --output-format=json"
Numbers = Mapping[str, Any]


class Key(NamedTuple):
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


SMALL_BYTES: Final = 16 * KIB  # requests up to this size tell the rate of requests; larger ones tell bytes a second
CAPACITY_GIB: Final = 1000


class OwnDevice(Strict):
    file: str
    device: str
    model: SsdSpec


def fitted(name: str, points: Sequence[Measured], *, source: str, capacity_gib: float | None, date: dt.date, host: str = "") -> SsdSpec:
    """Return flash that does at each queue depth what `points` say, as nearly as channels, a latency and two rates can."""
    reads = [one for one in points if one.operation == "read"]
    if not reads:
        remedy = "run fio with --rw=randread, or --rw=randrw, and --output-format=json"
        raise InputError(name, rule="no reads were measured, and a device model needs them", remedy=remedy)
    writes = [one for one in points if one.operation == "write"]

    def read(value: float, unit: str) -> Parameter:
        return Parameter(value=float(f"{value:.6g}"), unit=unit, source=source, date=date.isoformat())

    latency_ms, iops, rate = _figures(reads)
    write_ms, write_iops, write_rate = _figures(writes) if writes else (latency_ms, iops, rate)
    write = read if writes else assumed
    return SsdSpec(
        kind="ssd",
        name=name,
        description=f"fitted to {source}",
        capacity=read(capacity_gib, "GiB") if capacity_gib else assumed(CAPACITY_GIB, "GiB"),
        channels=read(min(max(1, ceil(iops * latency_ms / 1e3 - 1e-6)), BOUNDS["count"][1]), "1"),
        read_latency=read(latency_ms, "ms"),
        write_latency=write(write_ms, "ms"),
        flush_latency=assumed(0, "ms"),
        read_rate=read(rate, "MB/s"),
        write_rate=write(write_rate, "MB/s"),
        max_read_iops=read(iops, "IOPS"),
        random_write_iops=read(write_iops, "IOPS") if any(one.random for one in writes) else None,
        measured=tuple(points),
        calibrated_on=host,
    )


def _figures(points: Sequence[Measured]) -> tuple[float, float, float]:
    """Return latency in ms of a request alone, without its transfer, most requests and most MB a second."""
    random = [one for one in points if one.random] or points
    small = [one for one in random if one.block_bytes <= SMALL_BYTES] or random
    rate = max(one.rate_mb_s for one in points)
    alone = min(small, key=lambda one: (one.queue_depth, one.block_bytes))
    median_ms = alone.mean_ms if alone.p50_ms is None else alone.p50_ms
    return max(0.0, median_ms - alone.block_bytes / rate / 1e3), max(one.iops for one in small), rate


def write_device(spec: SsdSpec, out: Path) -> OwnDevice:
    if out.suffix != ".toml":
        raise InputError("--out", value=str(out), rule="must end with .toml", remedy="such as data/devices/mine.toml")
    if out.exists():
        remedy = "name another file, or remove this one"
        raise InputError("--out", value=str(out), rule="already exists, and is not overwritten", remedy=remedy)
    table = spec.model_dump(exclude_none=True)
    points = table.pop("measured")
    text = as_toml(table) + "".join(f"\n[[measured]]\n{as_toml(point)}" for point in points)
    validate(tomllib.loads(text), SsdSpec, where=short(out))
    write_whole(out, text)
    return OwnDevice(file=str(out), device=out.stem, model=spec)


READ_BYTES = 8 * KIB  # the size of the random reads of `tiers.directory.calibrate`, in bytes
JOBS = 8
SOURCE = "calibration of this machine's disk"


def calibrated_flash(figures: Mapping[str, float]) -> SsdSpec:
    """Return flash with the figures of `tiers.directory.Calibration`; what it does with writes is not modelled, and takes no time."""
    rate = figures["sequential_read_bytes_per_s"]
    latency_s = max(0.0, figures["random_read_latency_s"] - READ_BYTES / rate)
    read = partial(Parameter, source=SOURCE)
    return SsdSpec(
        kind="ssd",
        name="a real disk",
        description="as calibrated with direct reads",
        capacity=read(value=1, unit="TB"),
        channels=read(value=JOBS, unit="1"),
        read_latency=read(value=latency_s, unit="s"),
        write_latency=read(value=0, unit="s"),
        flush_latency=read(value=0, unit="s"),
        read_rate=read(value=rate / MB, unit="MB/s"),
        write_rate=read(value=rate / MB, unit="MB/s"),
        max_read_iops=read(value=figures["random_read_iops_8jobs"], unit="IOPS"),
    )
