"""Rented machines and what they take from their network volumes: ``data/instances/*.toml``, one file for each provider."""

from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Literal

from pydantic import Field

from tierwise.core import paths
from tierwise.core.errors import InputError, suggesting
from tierwise.core.toml import Strict, read_toml
from tierwise.devices.parameter import Frequency, Parameter, Rate, Sourced


class InstanceLimits(Strict):
    """What an instance takes from all its volumes together, sustained."""

    name: str
    max_iops: Frequency
    max_rate: Rate


class Instance(Strict):
    """A machine that is rented: `rate` in the `rate_unit` of its file."""

    vcpus: int = Field(gt=0)
    ram_gib: float = Field(gt=0, allow_inf_nan=False)
    iops: int = Field(gt=0, le=10**9, description="requests a second, from all its volumes together")
    rate: float = Field(gt=0, le=1e6, description="bytes a second, from all its volumes together")


class Instances(Sourced):
    rate_unit: Literal["MB/s", "MiB/s"]
    instances: Mapping[str, Instance]

    def limits(self, name: str) -> InstanceLimits:
        instance, read = self.instances[name], partial(Parameter, source=self.source, date=self.date)
        iops, rate = read(value=instance.iops, unit="IOPS"), read(value=instance.rate, unit=self.rate_unit)
        return InstanceLimits(name=name, max_iops=iops, max_rate=rate)


def load_instances(provider: str) -> Instances | None:
    """Return the machines of `provider`; `None` where there is no file of them."""
    path = paths.data() / "instances" / f"{provider}.toml"
    return _read(path) if path.exists() else None


@cache
def _read(path: Path) -> Instances:
    return read_toml(path, Instances)


def attached(provider: str, name: str) -> InstanceLimits:
    there = load_instances(provider)
    if there is None or name not in there.instances:
        known = list(there.instances) if there else []
        remedy = suggesting(name, known, f"name one of: {', '.join(known) or 'none'}")
        raise InputError("instance", value=name, rule=f"no such machine of {provider}", remedy=remedy)
    return there.limits(name)


def price_item(provider: str, name: str) -> str:
    return f"{provider}-{name}".lower().replace(".", "-").replace("_", "-")
