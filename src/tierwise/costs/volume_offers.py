"""The requirements of a volume, and the answer to them."""

from typing import Final, Literal

from pydantic import Field

from tierwise.core.toml import Strict
from tierwise.core.units import GIB, KIB, MIB
from tierwise.costs.fitting import Burst, VolumeLoad
from tierwise.costs.managed import ManagedOffer

READ_KIB: Final = 16
PIECES: Final = 16  # volumes side by side on a machine that are considered, where nobody says otherwise: assumed

Meets = Literal["yes", "no", "open: within the band"]


class Wanted(Strict):
    """The requirements; requests of `read_kib` each. `reads_per_gib`: what a GiB more of memory saves, a second."""

    gib: float = Field(le=2**30)
    iops: float = Field(le=1e9)
    mib_s: float = Field(le=1e7)
    write_iops: float = Field(default=0, ge=0, le=1e9)
    latency_ms: float | None = None
    read_kib: float = Field(default=READ_KIB, le=2**20)
    reads_per_gib: float | None = Field(default=None, le=1e12)
    pieces: int = Field(default=PIECES, le=128)
    vcpus: int = Field(default=0, ge=0, le=10**6)
    memory_gib: float = Field(default=0, ge=0, le=1e9)
    managed: bool = False

    @property
    def load(self) -> VolumeLoad:
        return VolumeLoad(self.gib * GIB, self.iops + self.write_iops, self.mib_s * MIB, self.read_kib * KIB, self.write_iops)


class Latency(Strict):
    """Latency of a read alone: the median or its stand-in, its band where nobody states it, the 99th percentile where one is published."""

    ms: float
    low_ms: float
    high_ms: float
    p99_ms: float | None
    assumed: bool
    meets: Meets | None


class Machine(Strict):
    """The instance that the volumes hang on, or that has the disks; without a price of that day `per_month` is `None`."""

    name: str
    vcpus: int
    ram_gib: float
    per_month: float | None
    limits_known: bool = Field(description="whether its limits had been read by the requested day")


class Memory(Strict):
    """`reads_per_s`: the reads that a GiB of memory must save to be cheaper; `None`: memory is never cheaper."""

    gib_month: float
    reads_per_s: float | None
    cheaper: bool | None


class Offer(Strict):
    """What meets the requirements: `count` volumes of `gib` each. Money a month: `total` is of volumes and machine; `None`: no price."""

    volume: str
    provider: str
    count: int
    gib: float
    iops: float
    mib_s: float
    total: float | None
    per_month: float | None
    machine: Machine
    binds: str
    used: float
    limits_known: bool = Field(description="whether the limits of the requested day were read")
    latency: Latency
    burst: Burst | None = None
    memory: Memory | None
    note: str


class Refused(Strict):
    volume: str
    why: str


class Volumes(Strict):
    """Money in `currency`, of the day `on`; the cheapest first."""

    on: str
    currency: str
    wanted: Wanted
    offers: tuple[Offer, ...]
    refused: tuple[Refused, ...]
    managed: tuple[ManagedOffer, ...]
    warnings: tuple[str, ...]
