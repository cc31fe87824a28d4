"""Rented machines, what they take from network volumes, and their local disks: ``data/instances``, a header and a table a provider."""

from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from tierwise.core import paths
from tierwise.core.dates import Day
from tierwise.core.errors import InputError
from tierwise.core.text_files import read_csv
from tierwise.core.toml import Strict, read_table, validate
from tierwise.devices.parameter import UNITS, Frequency, Parameter, Rate, Sourced


class InstanceLimits(Strict):
    """What an instance takes from all its volumes together, sustained."""

    name: str
    max_iops: Frequency
    max_rate: Rate


class Instance(Strict):
    """A machine that is rented: rates and local sizes in the units of its file; what no page gives is absent."""

    kind: Literal["", "other"] = Field(default="", description="other: burstable, with accelerators, bare metal or no longer current")
    since: str = Field(default="", pattern=r"^([12][0-9]{3}-[01][0-9])?$", description="month from which it is rented")
    vcpus: int = Field(gt=0)
    ram_gib: float = Field(gt=0, allow_inf_nan=False)
    arm: bool = False
    usd_hour: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    iops: int | None = Field(default=None, gt=0, le=10**9, description="requests a second, from all its volumes together")
    rate: float | None = Field(default=None, gt=0, le=1e6, description="bytes a second, from all its volumes together")
    v2_iops: int | None = Field(default=None, gt=0, le=10**9, description="the same of the volumes that the header's v2 names")
    v2_rate: float | None = Field(default=None, gt=0, le=1e6)
    volumes: int | None = Field(default=None, gt=0, description="most volumes that can be attached")
    local_count: int = Field(default=0, ge=0)
    local_size: float = Field(default=0, ge=0, allow_inf_nan=False, description="of each local disk")
    local_read_iops: int | None = Field(default=None, gt=0, description="of all local disks together, 4 KiB")
    local_write_iops: int | None = Field(default=None, gt=0)


class InstancePrice(Sourced):
    date: Day
    region: str = Field(pattern=r"^([A-Z]{2}(-[A-Z0-9]+)?|world)$")
    currency: str = Field(pattern=r"^[A-Z]{3}([12][0-9]{3})?$")
    note: str = ""


class OtherCaps(Sourced):
    volumes: tuple[str, ...]


class Instances(Sourced):
    rate_unit: Literal["MB/s", "MiB/s"]
    local_unit: Literal["GB", "GiB"] = "GB"
    price: InstancePrice | None = None
    v2: OtherCaps | None = None
    instances: Mapping[str, Instance]

    def limits(self, name: str, volume: str = "") -> InstanceLimits | None:
        """Return what the machine `name` takes from volumes of the type `volume`; `None` where no page gives it."""
        instance = self.instances[name]
        read: Sourced = self.v2 if self.v2 and volume in self.v2.volumes else self
        iops, rate = (instance.v2_iops, instance.v2_rate) if read is self.v2 else (instance.iops, instance.rate)
        if iops is None or rate is None:
            return None
        kept = partial(Parameter, source=read.source, date=read.date)
        return InstanceLimits(name=name, max_iops=kept(value=iops, unit="IOPS"), max_rate=kept(value=rate, unit=self.rate_unit))

    def local_bytes(self, name: str) -> float:
        return self.instances[name].local_size * UNITS[self.local_unit][1]


def load_instances(provider: str) -> Instances | None:
    path = paths.data() / "instances" / f"{provider}.toml"
    return _read(path) if path.exists() else None


@cache
def _read(path: Path) -> Instances:
    return validate({"instances": _table(path.with_suffix(".csv")), **read_table(path)}, Instances, where=paths.short(path))


def _table(path: Path) -> dict[str, dict[str, Any]]:
    if not path.exists():
        return {}
    rows = read_csv(path)
    header = next(rows, [])
    found = {}
    for number, cells in enumerate(rows, start=2):
        if len(cells) != len(header):
            rule = f"must have {len(header)} fields, not {len(cells)}"
            raise InputError(f"{paths.short(path)} row {number}", value=",".join(cells), rule=rule)
        found[cells[0]] = {name: cell for name, cell in zip(header[1:], cells[1:], strict=True) if cell}
    return found


def attached(provider: str, name: str, volume: str = "") -> InstanceLimits:
    there = load_instances(provider)
    known = {each.lower(): each for each in there.instances} if there else {}
    if there is None or name not in there.instances:
        near = [f"did you mean {known[low]}?" for low in get_close_matches(name.lower(), known, n=1, cutoff=0.4)]
        listed = f"data/instances/{provider}.csv lists the {len(known)} machines" if known else "name no machine"
        raise InputError("instance", value=name, rule=f"no such machine of {provider}", remedy=" ".join([*near, listed]))
    if (limits := there.limits(name, volume)) is None:
        rule = f"its limits for {volume or 'network volumes'} are not known: no page that was read gives them"
        raise InputError("instance", value=name, rule=rule, remedy=f"name a machine that has limits in data/instances/{provider}.csv")
    return limits


def price_item(provider: str, name: str) -> str:
    return f"{provider}-{name}".lower().replace(".", "-").replace("_", "-")
