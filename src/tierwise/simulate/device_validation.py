"""The disk model against real drives: measured service times of a recorded trace beside the predicted ones."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from pydantic import Field

from tierwise.core.errors import InputError
from tierwise.core.paths import short
from tierwise.core.text_template import render
from tierwise.core.toml import Strict
from tierwise.core.units import KIB, MB, SECTOR_BYTES
from tierwise.devices.electronics import Electronics, plain_electronics
from tierwise.devices.hdd import Hdd
from tierwise.devices.mechanism import Mechanics
from tierwise.devices.protocol import Operation
from tierwise.simulate.drive_files import bare_lines, read_drive, read_specs


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


FITTED_ON: Final = "the first halves of atlas10k.trace, barracuda.trace and cheetah4LP.trace in ../shared/realdata/devices"


def default_electronics(mechanics: Mechanics) -> Electronics:
    """Return one set for every drive of which nothing is known but its `mechanics`, fitted once (`FITTED_ON`). A command takes the time in
    which 16 of the outermost sectors pass. Without early reports of writes, predictions are 40 to 60 % too long.
    """
    geometry = mechanics.geometry
    sector_s = (geometry.end(SECTOR_BYTES)[0] - geometry.spot(0)[0]) * mechanics.turn_s
    size = 256 * KIB
    return plain_electronics(
        overhead_s=16 * sector_s, interface_rate=5 * MB, segments=4, segment_bytes=size, read_ahead_bytes=size, write_back=True
    )


Part = Literal["all", "first half", "second half"]


class Validation(Strict):
    trace: str
    part: Part
    fitted_on: str | None = Field(description="none: the electronics are the drive's own, and nothing is fitted")
    n: int = Field(description="requests judged")
    mean_measured_s: float
    mean_predicted_s: float
    mean_error: float = Field(description="predicted over measured mean service time, less 1")
    demerit: float = Field(description="root mean square of the horizontal distance of the two distributions, over the measured mean")


@dataclass(frozen=True)
class DriveCase:
    name: str
    mechanics: Mechanics
    requests: Sequence[Request]
    specs: Electronics | None = None
    bus_ms_per_sector: float = 0.0  # what the bus adds

    def judge(self, part: Part = "all") -> Validation:
        """Predict the requests from the first on and compare those of `part`; measured times enter the comparison only."""
        middle = len(self.requests) // 2
        chosen = {"all": slice(None), "first half": slice(middle), "second half": slice(middle, None)}[part]
        issued = self.requests[:middle] if part == "first half" else self.requests
        electronics = self.specs or default_electronics(self.mechanics)
        bus_ms = electronics.bus_ms_per_sector + self.bus_ms_per_sector
        predicted = sorted(predict(issued, self.mechanics, electronics.model_copy(update={"bus_ms_per_sector": bus_ms}))[chosen])
        measured = sorted(request.measured_s for request in self.requests[chosen])
        n = len(measured)
        mean_s, predicted_s = sum(measured) / n, sum(predicted) / n
        return Validation(
            trace=self.name,
            part=part,
            fitted_on=None if self.specs else FITTED_ON,
            n=n,
            mean_measured_s=mean_s,
            mean_predicted_s=predicted_s,
            mean_error=predicted_s / mean_s - 1,
            demerit=math.dist(predicted, measured) / math.sqrt(n) / mean_s,
        )


def read_case(
    trace: Path, model: Path, seek: Path | None = None, *, specs: Path | None = None, bus_ms_per_sector: float = 0.0
) -> DriveCase:
    """Return the files of one drive; without `seek` its curve is the one that `model` says."""
    if not 0 <= bus_ms_per_sector < math.inf:
        raise InputError("--bus-ms-per-sector", value=bus_ms_per_sector, rule="must be zero or more milliseconds")
    mechanics = read_drive(model, seek)
    requests = read_trace(trace, mechanics.geometry.capacity_bytes)
    return DriveCase(short(trace), mechanics, requests, read_specs(specs) if specs else None, bus_ms_per_sector)


def as_text(found: Validation) -> str:
    return render("simulate/text/validation.txt", found=found)
