"""Devices as they are written down: ``data/devices/*.toml``, every parameter with its unit and where it was read."""

from functools import partial
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from tierwise.core import paths
from tierwise.core.errors import InputError
from tierwise.core.toml import Strict, read_table, validate

ASSUMED = "assumed"
"""The source of a parameter that nobody of this study has read anywhere."""

UNITS: dict[str, tuple[str, float]] = {
    "s": ("time", 1.0),
    "ms": ("time", 1e-3),
    "us": ("time", 1e-6),
    "B": ("size", 1.0),
    "KiB": ("size", 2.0**10),
    "MiB": ("size", 2.0**20),
    "GB": ("size", 1e9),
    "MB/s": ("rate", 1e6),
    "rpm": ("rotation", 1 / 60),
    "1": ("count", 1.0),
}
"""Unit -> what it measures, and its worth in seconds, bytes, bytes per second, turns per second or pieces."""


class Sourced(Strict):
    """Anything that somebody must have read somewhere."""

    source: str = Field(min_length=1, description=f"what was read, or exactly `{ASSUMED}`")
    fitted_on: str | None = Field(default=None, description="the data that the value was fitted on; no claim on them is judged with it")


class Parameter(Sourced):
    """One number of a device."""

    value: float = Field(allow_inf_nan=False)
    unit: str

    @property
    def base(self) -> float:
        """The value in seconds, bytes, bytes per second, turns per second or pieces."""
        return self.value * UNITS[self.unit][1]


class Flag(Sourced):
    """One yes or no of a device."""

    value: bool


class Level(Sourced):
    """How an array spreads its data."""

    value: Literal["raid0", "raid5", "raid10"]


def _measures(parameter: Parameter, *, dimension: str, zero: bool = False) -> Parameter:
    units = [unit for unit, (measures, _) in UNITS.items() if measures == dimension]
    if parameter.unit not in units:
        raise ValueError(f"its unit must be one of {', '.join(units)}, not {parameter.unit!r}")
    if parameter.value < 0 or (parameter.value == 0 and not zero):
        raise ValueError(f"its value must be {'zero or more' if zero else 'above zero'}, not {parameter.value:g} {parameter.unit}")
    if dimension == "count" and parameter.value % 1:
        raise ValueError(f"its value must be a whole number, not {parameter.value:g}")
    return parameter


Time = Annotated[Parameter, AfterValidator(partial(_measures, dimension="time", zero=True))]
Size = Annotated[Parameter, AfterValidator(partial(_measures, dimension="size"))]
Rate = Annotated[Parameter, AfterValidator(partial(_measures, dimension="rate"))]
Rotation = Annotated[Parameter, AfterValidator(partial(_measures, dimension="rotation"))]
Count = Annotated[Parameter, AfterValidator(partial(_measures, dimension="count"))]


class HddSpec(Strict):
    """A disk drive. The seek curve goes through its three times; the rate falls linearly from the outer edge to the inner."""

    kind: Literal["hdd"]
    name: str
    description: str
    capacity: Size
    rotation: Rotation
    surfaces: Count = Field(description="tracks of one cylinder, between which no seek is needed")
    track_seek: Time = Field(description="to the next cylinder")
    average_seek: Time = Field(description="mean over all pairs of cylinders")
    full_seek: Time = Field(description="from the first cylinder to the last")
    outer_rate: Rate = Field(description="sustained, at address 0")
    inner_rate: Rate = Field(description="sustained, at the last address")
    interface_rate: Rate = Field(description="from the drive's buffer to the host")
    overhead: Time = Field(description="of one command, before anything moves")
    read_ahead: Size = Field(description="how far the drive goes on reading after a read")

    @property
    def curve_s(self) -> tuple[float, float, float]:
        """(a, b, c) of ``seek(x) = a + b sqrt(x) + c x``, x the share of the full stroke.

        Between two uniform random places E[sqrt x] = 8/15 and E[x] = 1/3, so the three times give a, b and c exactly.
        """
        track_s, mean_s, full_s = self.track_seek.base, self.average_seek.base, self.full_seek.base
        root_s = 5 * (mean_s - track_s) - 5 / 3 * (full_s - track_s)
        return track_s, root_s, full_s - track_s - root_s

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if min(self.curve_s) < 0:
            raise ValueError("no seek curve a + b sqrt(x) + c x that never falls has these track_seek, average_seek and full_seek")
        if self.inner_rate.base > self.outer_rate.base:
            raise ValueError("inner_rate must not exceed outer_rate")
        return self


class SsdSpec(Strict):
    """A flash drive: requests are served side by side in its channels and share one link to the host."""

    kind: Literal["ssd"]
    name: str
    description: str
    capacity: Size
    channels: Count
    read_latency: Time
    write_latency: Time
    flush_latency: Time
    read_rate: Rate
    write_rate: Rate


class WriteCache(Strict):
    """A controller's memory that takes writes before the members do."""

    battery_backed: Flag = Field(description="yes: a flush returns at once; no: it waits until the cache has drained")
    size: Size
    latency: Time = Field(description="of a write that finds room")


class ArraySpec(Strict):
    """Equal drives behind one controller."""

    kind: Literal["array"]
    name: str
    description: str
    member: Annotated[HddSpec | SsdSpec, Field(discriminator="kind", description="in the file: the name of a file in data/devices")]
    members: Count
    level: Level
    stripe: Size = Field(description="contiguous bytes on one member")
    write_cache: WriteCache | None = None

    @model_validator(mode="after")
    def _possible(self) -> Self:
        members, level = int(self.members.base), self.level.value
        if level == "raid10" and members % 2:
            raise ValueError(f"raid10 needs an even number of members, not {members}")
        if level == "raid5" and members < 3:
            raise ValueError(f"raid5 needs at least three members, not {members}")
        return self


DeviceSpec = HddSpec | SsdSpec | ArraySpec

_KINDS: dict[str, type[DeviceSpec]] = {"hdd": HddSpec, "ssd": SsdSpec, "array": ArraySpec}


def load_device(name: str) -> DeviceSpec:
    """The device `name` of ``data/devices``, an array together with its member.

    Raises:
        InputError: no such file, an unknown field, an impossible value, a missing source or unit.
    """
    path = paths.data() / "devices" / f"{name}.toml"
    table = read_table(path)
    model = _KINDS.get(str(table.get("kind")))
    if model is None:
        raise InputError(paths.short(path), field="kind", value=table.get("kind"), rule=f"must be one of {', '.join(_KINDS)}")
    if model is ArraySpec and isinstance(table.get("member"), str):
        table["member"] = load_device(table["member"]).model_dump()
    return validate(table, model, where=paths.short(path))
