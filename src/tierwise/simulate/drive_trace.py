"""Recorded requests to a real drive with their measured service times, and what the model of that drive says to them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tierwise.core.errors import InputError
from tierwise.core.paths import short
from tierwise.core.units import SECTOR_BYTES
from tierwise.devices.electronics import Electronics
from tierwise.devices.hdd import Hdd
from tierwise.devices.mechanism import Mechanics
from tierwise.devices.protocol import Operation
from tierwise.simulate.parameter_text import bare_lines


@dataclass(frozen=True)
class Request:
    operation: Operation
    address_bytes: int
    size_bytes: int
    measured_s: float
    idle_s: float  # from this completion to the next issue


def read_trace(path: Path, capacity_bytes: int) -> list[Request]:
    """Return the rows ``R|W flag LBN sectors service_us idle_us`` of `path`; the flag is not looked at."""
    rows = enumerate(bare_lines(path), start=1)
    requests = [_request(line, f"{short(path)} line {number}", capacity_bytes) for number, line in rows if line.strip()]
    if not requests:
        raise InputError(short(path), rule="holds no request")
    return requests


def _request(line: str, where: str, capacity_bytes: int) -> Request:
    try:
        operation, _, block, sectors, service_us, idle_us, *_ = line.split()
        request = Request(
            operation={"R": Operation.READ, "W": Operation.WRITE}[operation[:1].upper()],
            address_bytes=int(block) * SECTOR_BYTES,
            size_bytes=int(sectors) * SECTOR_BYTES,
            measured_s=float(service_us) / 1e6,
            idle_s=float(idle_us) / 1e6,
        )
    except (ValueError, KeyError):
        raise InputError(where, value=line, rule="must be `R|W flag LBN sectors service_us idle_us`") from None
    if not (0 <= request.measured_s < math.inf and 0 <= request.idle_s < math.inf):
        raise InputError(where, value=line, rule="times must be zero or more microseconds")
    if request.address_bytes < 0 or request.size_bytes <= 0 or request.address_bytes + request.size_bytes > capacity_bytes:
        raise InputError(where, value=line, rule=f"must lie within the drive's {capacity_bytes // SECTOR_BYTES} blocks")
    return request


def predict(requests: Sequence[Request], mechanics: Mechanics, electronics: Electronics, *, seed: int = 0) -> list[float]:
    """Predict the service time of each request in seconds; each is issued the recorded idle time after the one before has completed."""
    drive = Hdd(mechanics, electronics, seed=seed)
    now_s, took_s = 0.0, []
    for request in requests:
        done_s = served_s(drive, now_s, request.operation, request.address_bytes, request.size_bytes)
        took_s.append(done_s - now_s)
        now_s = done_s + request.idle_s
    return took_s


def served_s(drive: Hdd, now_s: float, operation: Operation, address_bytes: int, size_bytes: int) -> float:
    """Return when `drive` has served the request that is issued at `now_s`, alone."""
    drive.advance(now_s)  # what it has done since
    drive.submit(now_s, 0, operation, address_bytes, size_bytes)
    while not (done := drive.advance(drive.next_event_s())):
        pass
    return done[0][1]
