"""The disk model against real drives: measured service times of a recorded trace beside the predicted ones.

Geometry, seeks and rotation come from the drive's extracted parameters, its electronics from its specs. Where these are not given,
`COMMON` stands in for them, one fitted set for every drive.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, median
from typing import Final, Literal, Self

from pydantic import Field

from tierwise.core.errors import InputError
from tierwise.core.paths import short
from tierwise.core.toml import Strict
from tierwise.devices.hdd import Electronics, Mechanics
from tierwise.devices.parameter import Parameter
from tierwise.devices.protocol import Operation
from tierwise.simulate.drive_files import SECTOR_BYTES, RealMechanics, read_drive
from tierwise.simulate.drive_specs import DriveSpecs, read_specs
from tierwise.simulate.drive_trace import Request, predict, read_trace

FITTED_ON: Final = "the first halves of atlas10k.trace, barracuda.trace and cheetah4LP.trace in ../shared/realdata/devices"


def _fitted(value: float, unit: str) -> Parameter:
    return Parameter(value=value, unit=unit, source="../shared/realdata/devices: service times of three drives", fitted_on=FITTED_ON)


class CommonElectronics(Strict):
    """What extracted parameters do not say of a drive: buffer, link and command handling. Writes are reported once they are buffered."""

    overhead: Parameter = Field(description="of a command, in outermost sectors that pass meanwhile: electronics keep up with the channel")
    interface_rate: Parameter = Field(description="between buffer and host")
    segment: Parameter = Field(description="of the buffer, and read-ahead: it goes on until the segment is full, over what was read before")
    segments: Parameter

    def of(self, mechanics: Mechanics) -> Electronics:
        geometry, segment_bytes = mechanics.geometry, int(self.segment.base)
        sector_s = (geometry.end(SECTOR_BYTES)[0] - geometry.spot(0)[0]) * mechanics.turn_s
        return Electronics(
            overhead_s=self.overhead.base * sector_s,
            interface_rate=self.interface_rate.base,
            cache_bytes=int(self.segments.base) * segment_bytes,
            segments=int(self.segments.base),
            read_ahead_bytes=segment_bytes,
            write_back=True,
        )

    def with_fit(self, overhead_sectors: float, interface_mb_s: float) -> Self:
        """Return the drive with other values of the two parameters on which the times hang."""
        return self.model_copy(update={"overhead": _fitted(overhead_sectors, "1"), "interface_rate": _fitted(interface_mb_s, "MB/s")})


COMMON: Final = CommonElectronics(
    overhead=_fitted(16, "1"), interface_rate=_fitted(5, "MB/s"), segment=_fitted(256, "KiB"), segments=_fitted(4, "1")
)
"""`fit` gives overhead and link. The segment was chosen on the same halves, on which 128 to 512 KiB and 1 to 16 segments
differ by 0.4 % of the mean; without write-behind it is 40 to 60 % too long. No choice of segment suits all three drives: atlas10k keeps
the whole track around a read, the others only what follows it, as here."""

GRID: Final = (8, 12, 16, 20, 24)
"""Overheads, in sectors, that `fit` tries."""

Part = Literal["all", "first half", "second half"]


class Validation(Strict):
    """How far the model is from the measurements of one trace."""

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
    """A drive and what was measured on it."""

    name: str
    mechanics: RealMechanics
    requests: Sequence[Request]
    specs: DriveSpecs | None = None
    bus_ms_per_sector: float = 0.0  # what the bus adds

    def judge(self, common: CommonElectronics = COMMON, part: Part = "all") -> Validation:
        """Predict the requests from the first on and compare those of `part`; measured times enter the comparison only.

        The electronics are those of the drive's specs, without which they are the `common` ones.
        """
        middle = len(self.requests) // 2
        chosen = {"all": slice(None), "first half": slice(middle), "second half": slice(middle, None)}[part]
        issued = self.requests[:middle] if part == "first half" else self.requests
        predicted = sorted(predict(issued, self.mechanics, self._electronics(common))[chosen])
        measured = sorted(request.measured_s for request in self.requests[chosen])
        n = len(measured)
        mean_s, predicted_s = sum(measured) / n, sum(predicted) / n
        distance_s = math.dist(predicted, measured) / math.sqrt(n)
        return Validation(
            trace=self.name,
            part=part,
            fitted_on=None if self.specs else FITTED_ON,
            n=n,
            mean_measured_s=mean_s,
            mean_predicted_s=predicted_s,
            mean_error=predicted_s / mean_s - 1,
            demerit=distance_s / mean_s,
        )

    def _electronics(self, common: CommonElectronics) -> Electronics | DriveSpecs:
        if self.specs:
            return self.specs.on_bus(self.bus_ms_per_sector)
        fitted = common.of(self.mechanics)
        bus_s = self.bus_ms_per_sector / 1e3 / SECTOR_BYTES
        return replace(fitted, interface_rate=1 / (1 / fitted.interface_rate + bus_s)) if bus_s else fitted


def read_case(
    trace: Path, model: Path, seek: Path | None = None, *, specs: Path | None = None, bus_ms_per_sector: float = 0.0
) -> DriveCase:
    """Return the files of one drive; without `seek` its curve is the one that `model` says."""
    if not 0 <= bus_ms_per_sector < math.inf:
        raise InputError("--bus-ms-per-sector", value=bus_ms_per_sector, rule="must be zero or more milliseconds")
    mechanics = read_drive(model, seek)
    requests = read_trace(trace, mechanics.geometry.capacity_bytes)
    return DriveCase(short(trace), mechanics, requests, read_specs(specs) if specs else None, bus_ms_per_sector)


def validate(
    trace: Path, model: Path, seek: Path | None = None, *, specs: Path | None = None, bus_ms_per_sector: float = 0.0, part: Part = "all"
) -> Validation:
    return read_case(trace, model, seek, specs=specs, bus_ms_per_sector=bus_ms_per_sector).judge(part=part)


def as_text(found: Validation) -> str:
    electronics = "fitted electronics" if found.fitted_on else "its own electronics"
    return (
        f"{found.trace}, {found.part}, {electronics}: {found.n} requests, mean {found.mean_measured_s * 1e3:.3f} ms measured, "
        f"{found.mean_predicted_s * 1e3:.3f} ms predicted ({found.mean_error:+.1%}), demerit {found.demerit:.1%}"
    )


def fit(cases: Sequence[DriveCase]) -> CommonElectronics:
    """Fit the electronics to the first halves of `cases` only: the link from what longer writes take longer, as writes wait for the link
    alone, then the overhead of `GRID` with the least sum of squared demerit figures.
    """
    rate = round(fmean(_link_mb_s(case.requests[: len(case.requests) // 2]) for case in cases), 1)

    def loss(common: CommonElectronics) -> float:
        return sum(case.judge(common, "first half").demerit ** 2 for case in cases)

    return min((COMMON.with_fit(sectors, rate) for sectors in GRID), key=loss)


def _link_mb_s(requests: Iterable[Request]) -> float:
    times_s: dict[int, list[float]] = {}
    for request in requests:
        if request.operation is Operation.WRITE:
            times_s.setdefault(request.size_bytes, []).append(request.measured_s)
    less, more = sorted(sorted(times_s, key=lambda size: len(times_s[size]))[-2:])
    return (more - less) / (median(times_s[more]) - median(times_s[less])) / 1e6
