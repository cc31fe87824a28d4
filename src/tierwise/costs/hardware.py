"""What is bought with a device, a server or a rented instance: ``data/costs/hardware.toml`` and the bills that follow from it."""

from collections.abc import Sequence
from datetime import date
from functools import cache
from math import ceil, inf
from typing import Annotated, Literal

from pydantic import Field

from tierwise.core import paths
from tierwise.core.errors import MissingError
from tierwise.core.toml import Strict, read_table, read_toml
from tierwise.core.units import GIB, MIB
from tierwise.costs.bill import Bill
from tierwise.costs.book import Book
from tierwise.costs.units import DAYS_A_YEAR, HOURS_A_YEAR, MONTHS_A_YEAR
from tierwise.devices.model import build
from tierwise.devices.naming import named
from tierwise.devices.parameter import Sourced
from tierwise.devices.spec import ArraySpec, CachedSpec, HddSpec, SsdSpec, drive_of, load_device
from tierwise.devices.volume import CloudSpec

PLACE = "data/costs/hardware.toml"
ELECTRICITY = "electricity"
RAM = "ram"
SWEPT = "swept"  # source of what no file says, because it is varied
NONE = "none is stated"
TB = 1e12


Medium = Literal["hdd", "ssd"]  # what data lie on: a volume's medium is what its provider says


class Figure(Sourced):
    """A number whose unit stands in the name of its field."""

    value: Annotated[float, Field(ge=0, strict=True, allow_inf_nan=False)]


class Assumptions(Strict):
    life_years: Figure
    power_usage_effectiveness: Figure
    drive_writes_a_day: Figure
    ram_w_per_gib: Figure
    ram_usable_share: Figure


class Drive(Strict):
    """One piece; without `endurance_tb` writes do not wear it out."""

    price: str
    power_w: Figure
    endurance_tb: Figure | None = None


class Step(Strict):
    """What is provisioned above so much costs `price`, until the next step."""

    above: float = Field(ge=0)
    price: str


class Volume(Strict):
    """Storage by the month; what is below the first step is included. `size` is absent where no page with a price was found."""

    medium: Medium
    size: str | None = None
    sizes_gib: dict[str, str] = Field(default={}, description="price of each size, where sizes are sold whole")
    iops: tuple[Step, ...] = ()
    throughput_mib_s: tuple[Step, ...] = ()
    source: str = Field(pattern=r"\S")


class Server(Strict):
    """A machine that is bought, without drives and with its memory priced apart."""

    price: str
    power_w: Figure
    drive_bays: Figure
    processors: Figure
    ram_most_gib: Figure
    ram_included_gib: Figure = Figure(value=0.0, source=NONE)

    def able_to_hold(self, *, ram_gib: float | None = None, bays: int | None = None) -> "Server":
        """Return the same machine, at the same price, with other space for memory or for drives."""
        other = {"ram_most_gib": ram_gib, "drive_bays": bays}
        return self.model_copy(update={name: Figure(value=float(most), source=SWEPT) for name, most in other.items() if most is not None})

    def enough(self, *, drives: int, ram_bytes: float = 0.0) -> int:
        return max(1, ceil(drives / self.drive_bays.value), ceil(ram_bytes / (self.ram_most_gib.value * GIB)))


class Setting(Strict):
    """The server that holds the drives of a pair, and the day whose prices are taken."""

    day: date
    server: str


class Hardware(Strict):
    """The file ``data/costs/hardware.toml``; drives and volumes bear the names of their files in ``data/devices``."""

    assumptions: Assumptions
    drives: dict[str, Drive]
    volumes: dict[str, Volume]
    servers: dict[str, Server]
    settings: dict[str, Setting]


@cache
def load_hardware() -> Hardware:
    return read_toml(paths.home() / PLACE, Hardware)


@cache
def members(name: str) -> tuple[str, int]:
    """Return (drive or volume by the name of its file, how many) of the device `name`: an array is its drives, a cached one its disk."""
    spec, device = load_device(name), named(name)
    if isinstance(spec, CachedSpec):
        return members(_parts(name)[0])
    if isinstance(spec, ArraySpec):
        return named(str(read_table(device.path)["member"])).stem, int(spec.members.base)
    return device.stem, 1


@cache
def capacity_bytes(name: str) -> int:
    """Return what the device `name` holds: of an array, without mirrors and parity."""
    return build(load_device(name)).capacity_bytes


def device_bill(name: str, book: Book, *, life_years: float | None = None, writes_bytes_a_year: float | None = None) -> Bill:
    """Return what a year of the device `name` takes: its share of the purchase, power, replacement of what writes wear out; or the rent.

    `writes_bytes_a_year` go to every drive; by default `drive_writes_a_day` of its capacity.
    """
    if parts := _parts(name):
        disk, flash = (device_bill(part, book, life_years=life_years, writes_bytes_a_year=writes_bytes_a_year) for part in parts)
        return disk + flash * _cache_share(name)
    hardware, (member, count) = load_hardware(), members(name)
    spec = _piece(name)
    if member in hardware.volumes:
        bought = (spec.sold_iops, spec.sold_rate) if isinstance(spec, CloudSpec) else (0.0, 0.0)
        return volume_bill(member, spec.capacity.base, *bought) * count
    if member not in hardware.drives:
        remedy = "add an entry there, and its price to data/prices"
        raise MissingError(f"price of {name}", why=f"{PLACE} has no entry {member}", remedy=remedy)
    drive, assumed = hardware.drives[member], hardware.assumptions
    life = assumed.life_years.value if life_years is None else life_years
    written = assumed.drive_writes_a_day.value * spec.capacity.base * DAYS_A_YEAR if writes_bytes_a_year is None else writes_bytes_a_year
    lasts = drive.endurance_tb.value * TB / written if drive.endurance_tb and written else inf
    amount = spec.capacity.base if book.price(drive.price).dimension == "byte" else 1.0
    return (Bill({drive.price: amount / min(life, lasts)}) + power_bill(drive.power_w.value)) * count


def volume_bill(name: str, size_bytes: float, iops: float, throughput_bytes_s: float) -> Bill:
    """Return a year's rent of the volume `name`: size, and the IOPS and throughput above what is included."""
    volume = load_hardware().volumes[name]
    size = volume.sizes_gib.get(f"{size_bytes / GIB:.0f}") if volume.sizes_gib else volume.size
    if size is None:
        raise MissingError(f"price of {name}", why="data/prices has none", remedy="add its price to data/prices, and its item to " + PLACE)
    month = Bill({size: size_bytes}) + _above(volume.iops, iops) + _above(volume.throughput_mib_s, throughput_bytes_s / MIB) * MIB
    return month * MONTHS_A_YEAR


def share_bill(name: str, size_bytes: float, book: Book) -> Bill:
    """Return what a year of `size_bytes` on the device `name` takes: a volume of that size with what is provisioned, as far as that is sold
    with it; of a drive or an array the share of its package.
    """
    spec = load_device(name)
    if not size_bytes:
        return Bill({})
    if not isinstance(spec, CloudSpec):
        return device_bill(name, book) * (size_bytes / capacity_bytes(name))
    size = spec.limits.sold_size(max(size_bytes, spec.limits.smallest.base))
    each = spec.with_size(size, spec.max_iops.base, spec.max_rate.base)
    return volume_bill(named(name).stem, each.capacity.base, each.sold_iops, each.sold_rate)


def purchase(name: str, book: Book) -> Bill | None:
    if parts := _parts(name):
        disk, flash = (purchase(part, book) for part in parts)
        return None if disk is None or flash is None else disk + flash * _cache_share(name)
    member, count = members(name)
    if member not in load_hardware().drives:
        return None
    price = load_hardware().drives[member].price
    return Bill({price: count * (_piece(name).capacity.base if book.price(price).dimension == "byte" else 1.0)})


def power_bill(power_w: float) -> Bill:
    """Bill the electricity of a year for what takes `power_w` all the time, cooling and losses included."""
    return Bill({ELECTRICITY: power_w / 1000 * HOURS_A_YEAR * load_hardware().assumptions.power_usage_effectiveness.value})


def ram_bill(ram_bytes: float, *, life_years: float | None = None) -> Bill:
    assumed = load_hardware().assumptions
    life = assumed.life_years.value if life_years is None else life_years
    return Bill({RAM: ram_bytes / life}) + power_bill(assumed.ram_w_per_gib.value * ram_bytes / GIB)


def server_bill(server: Server, *, life_years: float | None = None) -> Bill:
    life = load_hardware().assumptions.life_years.value if life_years is None else life_years
    return Bill({server.price: 1 / life}) + power_bill(server.power_w.value)


def medium(name: str) -> Medium:
    member, _ = members(name)
    spec = _piece(name)
    return load_hardware().volumes[member].medium if isinstance(spec, CloudSpec) else "ssd" if isinstance(spec, SsdSpec) else "hdd"


def rented(name: str) -> bool:
    """Return whether the device `name` is a volume, to which only rented machines attach."""
    return members(name)[0] in load_hardware().volumes


@cache
def _piece(name: str) -> HddSpec | SsdSpec | CloudSpec:
    return drive_of(load_device(name))


def _parts(name: str) -> tuple[str, ...]:
    """Return the names of disk and flash of a cached device; none of another."""
    table = read_table(named(name).path)
    return (str(table["disk"]), str(table["flash"])) if table["kind"] == "cached" else ()


def _cache_share(name: str) -> float:
    spec = load_device(name)
    assert isinstance(spec, CachedSpec)
    return spec.size.base / build(spec.flash).capacity_bytes


def _above(steps: Sequence[Step], amount: float) -> Bill:
    if not steps:
        return Bill({})
    ends = [*(step.above for step in steps[1:]), inf]
    return Bill({step.price: max(0.0, min(amount, end) - step.above) for step, end in zip(steps, ends, strict=True)})
