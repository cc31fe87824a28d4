"""The tiers of a reader's server: which tablespaces lie on each, and how long a read takes there by the number of requests."""

import random
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from itertools import count
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from pydantic import Field

from tierwise.advisor.copying import REQUEST_BYTES, in_order_s
from tierwise.advisor.service import SEED, NewDevice, pace_s
from tierwise.core.errors import InputError
from tierwise.core.toml import FileName, Strict, read_toml
from tierwise.core.units import GIB, MB, PAGE_BYTES
from tierwise.devices.model import build
from tierwise.devices.protocol import Operation
from tierwise.devices.spec import load_device

DEPTHS: Final = (1, 2, 4, 8, 16)
REQUESTS: Final = 400
PLACES: Final = 64 * GIB // PAGE_BYTES
"""Reads are random over this much of a device, or over all of a smaller one (assumed)."""
SLOW, FAST = "hdd", "ssd"
REMEDY: Final = "see the example in docs/commands.md"

Latency = Callable[[float], float]
"""Requests at a time -> seconds that each takes."""


class ServerTier(Strict):
    """One tier; what was measured tells its latency (`read_ms`, or the reads in the file of `device`), else `device` is simulated."""

    tablespaces: tuple[str, ...] = Field(default=(), description="tablespaces of the server that lie there now")
    wal: bool = Field(default=False, description="whether the write-ahead log lies there now")
    device: str = Field(default="", description="name of a file in data/devices, or of a cloud volume with its size and IOPS")
    temporary: bool = Field(default=False, description="whether temporary files lie there now (temp_tablespaces)")
    read_ms: tuple[tuple[float, float], ...] = Field(default=(), description="calibrated reads: requests at a time, milliseconds of each")
    sync_ms: tuple[tuple[float, float], ...] = Field(
        default=(),
        description="calibrated flushes of the log: 1 and the random reads beside it, milliseconds of each; of both tiers or of none",
    )
    copy_mb_s: tuple[float, float] | None = Field(
        default=None, description="MB/s read and written, one page after another; left out, those of `device`"
    )
    calibrated_on: str = Field(default="", description="mark of the machine on which the times in this file were measured")
    usd_a_month_per_gib: float | None = Field(default=None, ge=0, description="price of a GiB; left out, the price book's of `device`")

    @property
    def evidence(self) -> str:
        return "stated" if self.read_ms else "measured" if self._measured else "simulated"

    @property
    def deepest(self) -> float:
        """The most requests at a time whose latency is known."""
        return max((depth for depth, _ in self._measured), default=float(DEPTHS[-1]))

    @cached_property
    def _measured(self) -> tuple[tuple[float, float], ...]:
        spec = load_device(self.device) if self.device and not self.read_ms else None
        reads = [one for one in getattr(spec, "measured", ()) if one.random and one.operation == "read" and one.block_bytes == PAGE_BYTES]
        return self.read_ms or tuple((float(one.queue_depth), one.mean_ms) for one in reads)

    def check_host(self, host: str, where: str) -> None:
        """Refuse times that were measured on another machine than the watched server's `host`, or on a machine that nobody knows."""
        stated = self.read_ms or self.sync_ms or self.copy_mb_s
        calibrated_on = getattr(load_device(self.device), "calibrated_on", "") if self.device else ""
        for field, mark in (("calibrated_on", self.calibrated_on if stated else None), ("device", calibrated_on or None)):
            if mark is not None and (mark != host or not host):
                rule = (
                    f"must be measured on the server's machine, {host}" if host else "was measured, and the server watched from elsewhere"
                )
                remedy = "run tierwise watch and tierwise device calibrate on the server's machine"
                raise InputError(where, field=field, value=getattr(self, field), rule=rule, remedy=remedy)

    def latency(self) -> Latency:
        """Return the seconds of a random read of a page, by the number of requests at a time."""
        return _curve(self._measured or _simulated(self.device))

    def flush(self) -> Latency | None:
        """Return the seconds of a flush of the log, by 1 and the number of reads beside it; None is not calibrated."""
        return _curve(self.sync_ms) if self.sync_ms else None

    def sequential(self) -> "Sequential | None":
        """Return how fast a relation is read and written as a whole; None is unknown."""
        if self.copy_mb_s:
            return Sequential(*(rate * MB for rate in self.copy_mb_s))
        return _copying(self.device) if self.device else None


class Sequential(NamedTuple):
    """Bytes a second."""

    read: float
    write: float


class ServerTiers(Strict):
    """The file of ``--tiers`` of a watched server."""

    tiers: dict[FileName, ServerTier]


def read_server_tiers(path: Path, *, host: str | None = None) -> dict[str, ServerTier]:
    """Read the tiers `hdd` and `ssd` of a server on the machine `host`, which None does not check.

    Raises:
        InputError: one is absent, nothing says how fast it is, or its disk is of another machine.
    """
    tiers = read_toml(path, ServerTiers).tiers
    if set(tiers) != {SLOW, FAST}:
        raise InputError(str(path), field="tiers", value=sorted(tiers), rule=f"must be {SLOW} and {FAST}", remedy=REMEDY)
    for name, tier in tiers.items():
        if bool(tier.device) == bool(tier.read_ms) and not tier.read_ms:
            raise InputError(str(path), field=f"tiers.{name}", rule="needs read_ms or a device", remedy=REMEDY)
        for field, points in (("read_ms", tier.read_ms), ("sync_ms", tier.sync_ms)):
            if any(depth < 1 or milliseconds <= 0 for depth, milliseconds in points):
                raise InputError(str(path), field=f"tiers.{name}.{field}", value=points, rule="must be above zero, from depth 1 on")
        if tier.copy_mb_s and min(tier.copy_mb_s) <= 0:
            raise InputError(str(path), field=f"tiers.{name}.copy_mb_s", value=tier.copy_mb_s, rule="must be above zero")
        if host is not None:
            tier.check_host(host, f"{path}, tiers.{name}")
    if bool(tiers[SLOW].sync_ms) != bool(tiers[FAST].sync_ms):
        raise InputError(str(path), field="sync_ms", rule="must be given for both tiers or for none", remedy=REMEDY)
    return tiers


@cache
def _simulated(device: str) -> tuple[tuple[float, float], ...]:
    spec, found = load_device(device), []
    for depth in DEPTHS:
        model, draw = build(spec, seed=SEED), random.Random(SEED)
        pages = min(PLACES, model.capacity_bytes // PAGE_BYTES)
        places = (draw.randrange(pages) * PAGE_BYTES for _ in count())
        found.append((float(depth), 1000 * depth * pace_s(model, (Operation.READ,), places, PAGE_BYTES, depth=depth, requests=REQUESTS)))
    return tuple(found)


@cache
def _copying(device: str) -> Sequential:
    new = NewDevice(load_device(device), SEED, 1.0)
    return Sequential(*(REQUEST_BYTES / in_order_s(new, operation) for operation in (Operation.READ, Operation.WRITE)))


def _curve(points: Sequence[tuple[float, float]]) -> Latency:
    """Return seconds by depth from (depth, milliseconds)."""
    depths, seconds = np.array([(depth, milliseconds / 1000) for depth, milliseconds in sorted(points)]).T
    return lambda depth: _interpolated(depth, depths, seconds)


def _interpolated(depth: float, depths: np.ndarray, seconds: np.ndarray) -> float:
    """Return the latency between the nearest depths; beyond the deepest, requests queue at its rate."""
    if depth > depths[-1]:
        return float(seconds[-1] * depth / depths[-1])
    return float(np.interp(depth, depths, seconds))
