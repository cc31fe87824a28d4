"""Devices as they are written down: ``data/devices/*.toml``, every parameter with its unit and where it was read."""

from functools import partial
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, ValidationInfo, field_validator, model_validator

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
    "GiB": ("size", 2.0**30),
    "TiB": ("size", 2.0**40),
    "GB": ("size", 1e9),
    "TB": ("size", 1e12),
    "MB/s": ("rate", 1e6),
    "MiB/s": ("rate", 2.0**20),
    "IOPS": ("frequency", 1.0),
    "rpm": ("rotation", 1 / 60),
    "1": ("count", 1.0),
}
"""Unit -> what it measures, and its worth in seconds, bytes, bytes per second, requests per second, turns per second or pieces."""


class Sourced(Strict):
    """Anything that somebody must have read somewhere."""

    source: str = Field(pattern=r"\S", description=f"what was read, or exactly `{ASSUMED}`")
    fitted_on: str | None = Field(default=None, description="the data that the value was fitted on; no claim on them is judged with it")


class Parameter(Sourced):
    """One number of a device."""

    value: float = Field(strict=True, allow_inf_nan=False)
    unit: str

    @property
    def base(self) -> float:
        """The value in seconds, bytes, bytes per second, requests per second, turns per second or pieces."""
        return self.value * UNITS[self.unit][1]


class Flag(Sourced):
    """One yes or no of a device."""

    value: bool = Field(strict=True)


class Level(Sourced):
    """How an array spreads its data."""

    value: Literal["raid0", "raid1", "raid5", "raid6", "raid10"]


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
Frequency = Annotated[Parameter, AfterValidator(partial(_measures, dimension="frequency"))]
Rotation = Annotated[Parameter, AfterValidator(partial(_measures, dimension="rotation"))]
Count = Annotated[Parameter, AfterValidator(partial(_measures, dimension="count"))]


def _assumed(value: float, unit: str) -> Parameter:
    return Parameter(value=value, unit=unit, source=ASSUMED)


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
    read_ahead: Size = Field(description="how far the drive goes on reading after a read, at most a segment of its cache")
    cache: Size = Field(default=_assumed(2, "MiB"), description="the drive's buffer, all segments together")
    segments: Count = Field(default=_assumed(2, "1"), description="streams that the buffer keeps apart, each in its equal share")
    write_back: Flag = Field(default=Flag(value=False, source=ASSUMED), description="yes: a write is reported once it is in the buffer")
    queue: Count = Field(default=_assumed(1, "1"), description="commands that the drive orders by positioning time; 1: first in, first out")
    head_switch: Time = Field(default=_assumed(0, "ms"), description="to another track of the same cylinder, or to the same one anew")
    settle: Time = Field(default=_assumed(0, "ms"), description="on top of each of the three seek times, until the head keeps to the track")
    write_settle: Time = Field(default=_assumed(0, "ms"), description="added to the positioning before a write")

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
        if self.segments.base > self.cache.base:
            raise ValueError("segments must not be more than the bytes of cache")
        return self


class WriteCache(Strict):
    """Memory that takes writes before the drive or the array behind it does."""

    battery_backed: Flag = Field(description="yes, or by capacitors: a flush returns at once; no: it waits until the cache has drained")
    size: Size
    latency: Time = Field(description="of a write that finds room, and of a read of what is still in the cache")


class SsdSpec(Strict):
    """A flash drive: requests are served side by side in its channels and follow each other on the link to the host."""

    kind: Literal["ssd"]
    name: str
    description: str
    capacity: Size
    channels: Count = Field(description="requests that are served at the same time")
    read_latency: Time
    write_latency: Time = Field(description="of the flash; with a write_cache hidden behind the latency of that")
    flush_latency: Time = Field(description="after the last write before it is down")
    read_rate: Rate
    write_rate: Rate
    max_read_iops: Frequency | None = Field(default=None, description="reads that the controller takes in a second")
    random_write_iops: Frequency | None = Field(
        default=None, description="sustained: 4 KiB writes in a second that do not continue the write before them"
    )
    write_cache: WriteCache | None = None


class Burst(Strict):
    """Credits that a volume saves while it is used less than its baseline."""

    baseline: Rate = Field(description="at which credits come in, and at which the volume goes on without any")
    credits: Size = Field(description="most that can be saved; a volume begins with them")


class CloudSpec(Strict):
    """A volume over a network, with so many requests and bytes a second as were paid for."""

    kind: Literal["cloud"]
    name: str
    description: str
    capacity: Size
    read_latency: Time
    write_latency: Time = Field(description="until the write is durable: there is nothing to flush")
    max_iops: Frequency
    max_rate: Rate
    io_size: Size = Field(description="most that counts as one request; requests that follow each other are counted together")
    burst: Burst | None = Field(
        default=None, description="absent: max_rate can be sustained; credits are spent in whole requests of io_size"
    )

    @field_validator("burst")
    @classmethod
    def _above_its_baseline(cls, burst: Burst | None, info: ValidationInfo) -> Burst | None:
        rate = info.data.get("max_rate")
        if burst and rate and burst.baseline.base >= rate.base:
            raise ValueError("its baseline must be below max_rate")
        return burst


class ArraySpec(Strict):
    """Equal drives behind one controller."""

    kind: Literal["array"]
    name: str
    description: str
    member: Annotated[
        HddSpec | SsdSpec | CloudSpec, Field(discriminator="kind", description="in the file: the name of a file in data/devices")
    ]
    level: Level
    members: Count
    stripe: Size | None = Field(default=None, validate_default=True, description="contiguous bytes on one member; raid1 has none")
    max_iops: Frequency | None = Field(default=None, description="requests that the controller takes in a second")
    max_rate: Rate | None = Field(default=None, description="bytes that the controller moves in a second")
    write_cache: WriteCache | None = None

    @field_validator("members")
    @classmethod
    def _enough(cls, members: Parameter, info: ValidationInfo) -> Parameter:
        if level := info.data.get("level"):
            count, least = int(members.base), _LEAST_MEMBERS[level.value]
            if count < least:
                raise ValueError(f"{level.value} needs at least {least} members, not {count}")
            if level.value == "raid10" and count % 2:
                raise ValueError(f"raid10 needs an even number of members, not {count}")
        return members

    @field_validator("stripe")
    @classmethod
    def _fitting(cls, stripe: Parameter | None, info: ValidationInfo) -> Parameter | None:
        level, member = info.data.get("level"), info.data.get("member")
        if level and (stripe is None) != (level.value == "raid1"):
            raise ValueError("raid1 has no stripe" if stripe else f"{level.value} needs a stripe")
        if stripe and member and not 1 <= stripe.base <= member.capacity.base:
            raise ValueError("a stripe must be at least 1 B and fit on a member")
        return stripe


_LEAST_MEMBERS = {"raid0": 2, "raid1": 2, "raid5": 3, "raid6": 4, "raid10": 4}


DeviceSpec = HddSpec | SsdSpec | CloudSpec | ArraySpec

_KINDS: dict[str, type[DeviceSpec]] = {"hdd": HddSpec, "ssd": SsdSpec, "cloud": CloudSpec, "array": ArraySpec}


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
        table["member"] = _member(path, table["member"]).model_dump()
    return validate(table, model, where=paths.short(path))


def _member(array: Path, name: str) -> DeviceSpec:
    """The device `name`, of which the file `array` wants several."""
    if read_table(array.with_name(f"{name}.toml")).get("kind") == "array":
        raise InputError(paths.short(array), field="member", value=name, rule="must be a drive or a volume, not an array")
    return load_device(name)
