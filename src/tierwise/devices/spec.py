"""Devices as they are written down: ``data/devices/*.toml``, every parameter with its unit and where it was read."""

from typing import Annotated, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from tierwise.core import paths
from tierwise.core.errors import InputError
from tierwise.core.toml import Strict, read_table, validate
from tierwise.core.units import KIB, SECTOR_BYTES
from tierwise.devices.instances import attached
from tierwise.devices.naming import Named, named
from tierwise.devices.parameter import ASSUMED, Count, Flag, Frequency, Parameter, Rate, Rotation, Size, Sourced, Time, assumed
from tierwise.devices.volume import CloudSpec, sold


def three_point_curve(track: float, mean: float, full: float) -> tuple[float, float, float]:
    """Return (a, b, c) of ``seek(x) = a + b sqrt(x) + c x``, x the share of the full stroke."""
    # Between two uniform random places E[sqrt x] = 8/15 and E[x] = 1/3, so the three times give a, b and c exactly.
    root = 5 * (mean - track) - 5 / 3 * (full - track)
    return track, root, full - track - root


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
    cache: Size = Field(default=assumed(2, "MiB"), description="the drive's buffer, all segments together")
    segments: Count = Field(default=assumed(2, "1"), description="streams that the buffer keeps apart, each in its equal share")
    write_back: Flag = Field(default=Flag(value=False, source=ASSUMED), description="yes: a write is reported once it is in the buffer")
    queue: Count = Field(default=assumed(1, "1"), description="commands that the drive orders by positioning time; 1: first in, first out")
    head_switch: Time = Field(default=assumed(0, "ms"), description="to another track of the same cylinder, or to the same one anew")
    settle: Time = Field(default=assumed(0, "ms"), description="on top of each of the three seek times, until the head keeps to the track")
    write_settle: Time = Field(default=assumed(0, "ms"), description="added to the positioning before a write")

    @property
    def curve_s(self) -> tuple[float, float, float]:
        return three_point_curve(self.track_seek.base, self.average_seek.base, self.full_seek.base)

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
    battery_backed: Flag = Field(description="yes, or by capacitors: a flush returns at once; no: it waits until the cache has drained")
    size: Size
    latency: Time = Field(description="of a write that finds space, and of a read of what is still in the cache")


class Erase(Strict):
    """Time that clearing flash for new data takes, where it is modelled apart; else it is part of the rates."""

    latency: Time = Field(description="of erasing one block, in which its channel serves nothing else")
    block: Size = Field(description="what is erased at once: as much is written before the next time")


class Measured(Strict):
    """What a device did at one queue depth; a percentile that was not recorded is absent."""

    operation: Literal["read", "write"]
    random: bool
    queue_depth: int = Field(gt=0)
    block_bytes: int = Field(gt=0)
    iops: float = Field(gt=0, allow_inf_nan=False)
    rate_mb_s: float = Field(gt=0, allow_inf_nan=False)
    mean_ms: float = Field(ge=0, allow_inf_nan=False)
    p50_ms: float | None = None
    p95_ms: float | None = None
    p99_ms: float | None = None
    p999_ms: float | None = None


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
    ordered_read_latency: Time | None = None
    """Of a read that continues the one before it, which the drive foresees; absent: as of any other."""
    read_rate: Rate
    write_rate: Rate
    max_read_iops: Frequency | None = Field(default=None, description="reads that the controller takes in a second")
    random_write_iops: Frequency | None = None  # sustained: 4 KiB writes in a second that do not continue the write before them
    write_cache: WriteCache | None = None
    measured: tuple[Measured, ...] = Field(default=(), description="what the model was fitted to, where a reader measured the device")
    calibrated_on: str = Field(default="", description="mark of the machine whose disk `tierwise device calibrate` measured")
    erase: Erase | None = Field(default=None, description="modelled only with `build(..., erasing=True)`")


class Level(Sourced):
    value: Literal["raid0", "raid1", "raid5", "raid6", "raid10"]


class ArraySpec(Strict):
    kind: Literal["array"]
    name: str
    description: str
    member: Annotated[HddSpec | SsdSpec | CloudSpec, Field(discriminator="kind")]  # in the file: the name of a file in data/devices
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
        if stripe and member and not SECTOR_BYTES <= stripe.base <= member.capacity.base:
            raise ValueError(f"a stripe must be at least a sector of {SECTOR_BYTES} B and fit on a member")
        return stripe


# A controller that knows no single drives has each as a separate array.
_LEAST_MEMBERS = {"raid0": 1, "raid1": 2, "raid5": 3, "raid6": 4, "raid10": 4}

Part = Annotated[HddSpec | SsdSpec | CloudSpec | ArraySpec, Field(discriminator="kind")]  # in the file: the name of another file


class CacheRule(Sourced):
    value: Literal["bcache", "l2arc", "smq"]


class CachedSpec(Strict):
    """A disk with a part of a flash drive as its cache, as dm-cache (policy *smq*), bcache or ZFS's L2ARC has it."""

    kind: Literal["cached"]
    name: str
    description: str
    disk: Part
    flash: Part
    size: Size = Field(description="bytes of the flash that are the cache")
    policy: CacheRule
    block: Size | None = Field(default=None, description="what smq takes in and gives up at once; absent: 256 KiB")

    @field_validator("size")
    @classmethod
    def _fitting(cls, size: Parameter, info: ValidationInfo) -> Parameter:
        flash = info.data.get("flash")
        if flash and not isinstance(flash, ArraySpec) and size.base > flash.capacity.base:
            raise ValueError("the cache must fit on its flash")
        return size

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.block and (self.policy.value != "smq" or self.block.base % _SMQ_BLOCK_BYTES or self.block.base > self.size.base):
            raise ValueError("only smq has a block, of a multiple of 32 KiB, no larger than the cache")
        return self


_SMQ_BLOCK_BYTES = 32 * KIB  # cache.rst of Linux: "The block size must be between 64 sectors (32KB) and 2097152 sectors"

DeviceSpec = HddSpec | SsdSpec | CloudSpec | ArraySpec | CachedSpec
_KINDS: dict[str, type[DeviceSpec]] = {"hdd": HddSpec, "ssd": SsdSpec, "cloud": CloudSpec, "array": ArraySpec, "cached": CachedSpec}
_PARTS: dict[type[DeviceSpec], tuple[tuple[str, ...], tuple[str, ...], str]] = {
    ArraySpec: (("member",), ("array", "cached"), "must be a drive or a volume, not an array"),
    CachedSpec: (("disk", "flash"), ("cached",), "must be a drive, a volume or an array, without a cache"),
}
"""Kind -> fields that name other devices, the kinds that these may not be, and how an error says so."""


def drive_of(spec: DeviceSpec) -> HddSpec | SsdSpec | CloudSpec:
    """Return the drive or volume where the data lie: of an array its member, of a cached device its disk's."""
    if isinstance(spec, CachedSpec):
        return drive_of(spec.disk)
    return spec.member if isinstance(spec, ArraySpec) else spec


def load_device(name: str) -> DeviceSpec:
    """Return the device `name` with the devices that it is made of: a file of ``data/devices``, or what its name says after the maker's.

    A volume may be provisioned in its name, ``gp3:500GiB,6000IOPS,250MiB/s@m7i.large``; what is left out is as in the file.
    """
    found = named(name)
    table, where = read_table(found.path), paths.short(found.path)
    model = _KINDS.get(str(table.get("kind")))
    if model is None:
        raise InputError(where, field="kind", value=table.get("kind"), rule=f"must be one of {', '.join(_KINDS)}")
    fields, refused, rule = _PARTS.get(model, ((), (), ""))
    for field in fields:
        if isinstance(part := table.get(field), str):
            if read_table(named(part).path).get("kind") in refused:
                raise InputError(where, field=field, value=part, rule=rule)
            table[field] = load_device(part).model_dump()
    return _provisioned(validate(table, model, where=where), found)


def _provisioned(spec: DeviceSpec, name: Named) -> DeviceSpec:
    if not name.amounts and name.instance is None:
        return spec
    if not isinstance(spec, CloudSpec):
        rule = f"{name.stem} is no volume: neither its size nor its speed can be chosen"
        raise InputError("device", value=name.text, rule=rule, remedy=name.stem)
    spec = sold(spec, name.amounts, name.text)
    return spec if name.instance is None else spec.model_copy(update={"instance": attached(name.provider, name.instance, name.stem)})
