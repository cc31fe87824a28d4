"""The reader's own device: fitted to measurements of it, and written as a file of ``data/devices``."""

import datetime as dt
import tomllib
from collections.abc import Sequence
from math import ceil
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from tierwise.core.errors import InputError
from tierwise.core.files import write_whole
from tierwise.core.paths import short
from tierwise.core.toml import Strict, validate
from tierwise.core.units import KIB
from tierwise.devices.parameter import BOUNDS, Parameter, assumed
from tierwise.devices.spec import Measured, SsdSpec

SMALL_BYTES: Final = 16 * KIB  # requests up to this size tell the rate of requests; larger ones tell bytes a second
CAPACITY_GIB: Final = 1000


class OwnDevice(Strict):
    """What was written: the file, the name that commands take, the model, and the points that it was fitted to."""

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
    """Write `spec` to the new file `out`, which then can be named as a device."""
    if out.suffix != ".toml":
        raise InputError("--out", value=str(out), rule="must end with .toml", remedy="such as data/devices/mine.toml")
    if out.exists():
        raise InputError(
            "--out", value=str(out), rule="already exists, and is not overwritten", remedy="name another file, or remove this one"
        )
    lines = [f"{name} = {_toml(value)}" for name, value in _fields(spec) if name != "measured"]
    for point in spec.measured:
        lines += ["", "[[measured]]", *(f"{name} = {_toml(value)}" for name, value in _fields(point))]
    text = "\n".join(lines) + "\n"
    validate(tomllib.loads(text), SsdSpec, where=short(out))
    write_whole(out, text)
    return OwnDevice(file=str(out), device=out.stem, model=spec)


def _fields(model: BaseModel) -> list[tuple[str, Any]]:
    return [(name, value) for name in type(model).model_fields if (value := getattr(model, name)) is not None]


def _toml(value: object) -> str:
    if isinstance(value, BaseModel):
        return "{ " + ", ".join(f"{name} = {_toml(inner)}" for name, inner in _fields(value)) + " }"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    quoted = "".join(char if char.isprintable() else " " for char in str(value)).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{quoted}"'
