"""What a read of an application costs once memory, machines and power are counted, and what it costs to do without flash.

Ariel Weisberg, Cost accounting for SSDs - it's RAM, not disk: "If you have to bring in extra RAM, nodes, rack space, and power
to get away with using disk arrays, that needs to be accounted for." Neither rack space nor people nor the network is counted here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import ceil
from typing import Final

from pydantic import Field

from tierwise.core import paths
from tierwise.core.errors import InputError, MissingError
from tierwise.core.toml import Strict, read_toml
from tierwise.core.units import GIB
from tierwise.costs.bill import Bill
from tierwise.costs.book import Book
from tierwise.costs.fitting import VolumeLoad, cheapest_fit, least
from tierwise.costs.hardware import (
    Medium,
    Server,
    capacity_bytes,
    device_bill,
    load_hardware,
    medium,
    members,
    ram_bill,
    rented,
    server_bill,
)
from tierwise.costs.iops import READ_BYTES, Iops
from tierwise.costs.renting import LOCAL, Need, cheapest
from tierwise.costs.units import SECONDS_A_YEAR
from tierwise.costs.volume_offers import PIECES
from tierwise.devices.naming import named
from tierwise.devices.spec import load_device
from tierwise.devices.volume import CloudSpec

MOST: Final = 1e24  # a load above this, in bytes or reads a second, is a slip of the keyboard, and sums of it may overflow


@dataclass(frozen=True)
class Load:
    """The load: reads over some data, of which `misses_per_read` go to a device while `ram_bytes` of memory cache the rest."""

    data_bytes: float
    ram_bytes: float
    reads_per_s: float
    misses_per_read: float

    def __post_init__(self) -> None:
        for field in ("data_bytes", "ram_bytes", "reads_per_s"):
            if not 0 < getattr(self, field) < MOST:
                raise InputError("load", field=field, value=getattr(self, field), rule=f"must be above zero, and below {MOST:g}")
        if not 0 <= self.misses_per_read < MOST:
            raise InputError("load", field="misses_per_read", value=self.misses_per_read, rule=f"must be zero or more, and below {MOST:g}")


class PublishedLoad(Strict):
    """The load of a publication that is served where a reader names no other; `stamp` says whose."""

    stamp: str
    source: str
    data_gib: float = Field(gt=0)
    ram_gib: float = Field(gt=0)
    device_reads_per_s: float = Field(gt=0)
    reads_a_device_read: float = Field(gt=0)

    @property
    def load(self) -> Load:
        return Load(
            data_bytes=self.data_gib * GIB,
            ram_bytes=self.ram_gib * GIB,
            reads_per_s=self.reads_a_device_read * self.device_reads_per_s,
            misses_per_read=1 / self.reads_a_device_read,
        )


@cache
def published_load() -> PublishedLoad:
    return read_toml(paths.data() / "costs" / "load.toml", PublishedLoad)


@dataclass(frozen=True)
class Plan:
    name: str
    device: str
    medium: Medium
    in_ram: bool
    devices: int
    machines: int
    ram_bytes: float
    bill: Bill
    iops: Iops

    @property
    def flash(self) -> bool:
        return self.medium == "ssd"

    def cost_per_million(self, load: Load, book: Book) -> float:
        return self.bill.cost(book) / (load.reads_per_s * SECONDS_A_YEAR) * 1e6


def newest_server(book: Book) -> Server:
    """Return the server of ``hardware.toml`` whose price is the newest on the book's day."""
    priced = [server for server in load_hardware().servers.values() if book.priced(server.price)]
    if not priced:
        remedy = "give a later day, or add a row to data/prices/hosts.csv"
        raise MissingError(f"a server with a price on {book.on}", why="data/prices has none", remedy=remedy)
    return max(priced, key=lambda server: book.price(server.price).day)


def plans(load: Load, book: Book, rates: Mapping[str, Iops], *, life_years: float | None = None) -> list[Plan]:
    """Return every device of `rates` under `load`, and each disk as the mere store of data that are all in memory; the cheapest first."""
    server = newest_server(book) if any(not rented(name) for name in rates) else None
    ways = [
        plan_on(name, load, book, rates[name], server=server, in_ram=in_ram, life_years=life_years)
        for name in rates
        for in_ram in ((False, True) if medium(name) == "hdd" else (False,))
    ]
    return sorted(ways, key=lambda plan: plan.bill.cost(book))


def plan_on(
    name: str, load: Load, book: Book, rate: Iops, *, server: Server | None, in_ram: bool = False, life_years: float | None = None
) -> Plan:
    """Buy as many pieces of the device `name` as data and misses need, and machines to hold them; what is rented needs no `server`."""
    usable = load_hardware().assumptions.ram_usable_share.value
    ram_bytes = max(load.ram_bytes, load.data_bytes / usable) if in_ram else load.ram_bytes
    misses_per_s = 0.0 if in_ram else load.reads_per_s * load.misses_per_read
    if rented(name):
        devices, machines, bill = _volumes(name, replace(load, ram_bytes=ram_bytes), misses_per_s, book)
    else:
        busy = misses_per_s / rate.value * (1 - 1e-9)  # a rate that just suffices may be off in its last digits
        devices = max(1, ceil(load.data_bytes / capacity_bytes(name)), ceil(busy))
        assert server is not None, "what is owned stands in a server"
        machines = server.enough(drives=devices * members(name)[1], ram_bytes=ram_bytes)
        bill = device_bill(name, book, life_years=life_years) * devices
        bill += server_bill(server, life_years=life_years) * machines + ram_bill(ram_bytes, life_years=life_years)
    label = f"{name}, all in memory" if in_ram else name
    return Plan(label, name, medium(name), in_ram, devices, machines, ram_bytes, bill, rate)


def _volumes(name: str, load: Load, misses_per_s: float, book: Book) -> tuple[int, int, Bill]:
    """(volumes, machines, rent of both): a volume hangs on one machine, and the cheapest number of volumes is taken."""
    found = named(name)
    spec, provider = load_device(name), found.provider
    need = Need(iops=misses_per_s, rate=misses_per_s * READ_BYTES, ram_bytes=load.ram_bytes, machine=found.instance)
    if not isinstance(spec, CloudSpec):
        machine = cheapest(provider, LOCAL, book, replace(need, size_bytes=load.data_bytes))
        return machine.count * machine.instance.local_count, machine.count, machine.bill
    machine = cheapest(provider, found.stem, book, need)
    wanted = VolumeLoad(load.data_bytes, misses_per_s, 0.0, READ_BYTES)
    first, spec = max(machine.count, least(spec, wanted)[0]), spec.model_copy(update={"instance": None})
    fit = cheapest_fit(members(name)[0], spec, wanted, book, range(first, first + PIECES))
    assert fit is not None, "this number is enough"
    if fit.bill is None:
        raise MissingError(f"price of {name}", why="data/prices has none of that size", remedy="add its price to data/prices")
    return fit.count, machine.count, fit.bill + machine.bill


@dataclass(frozen=True)
class WithoutFlash:
    flash: Plan
    disks: Plan
    memory: Plan

    @property
    def bills(self) -> dict[str, Bill]:
        return {plan.name: plan.bill for plan in (self.flash, self.disks, self.memory)}

    def cost(self, book: Book) -> float:
        """Return money a year that not buying flash costs: above zero where flash is cheaper than the cheapest way without it."""
        return min(self.disks.bill.cost(book), self.memory.bill.cost(book)) - self.flash.bill.cost(book)

    def replaces_memory(self, book: Book) -> bool:
        """Return whether flash stands in for memory rather than for disks: without it, memory is the cheaper way."""
        return self.memory.bill.cost(book) < self.disks.bill.cost(book)


def without_flash(ranked: Sequence[Plan]) -> WithoutFlash | None:
    """Return the three ways among `ranked` plans (cheapest first); `None` where one of them is not among them."""
    flash = next((plan for plan in ranked if plan.flash), None)
    disks = next((plan for plan in ranked if not plan.flash and not plan.in_ram), None)
    memory = next((plan for plan in ranked if plan.in_ram), None)
    return WithoutFlash(flash, disks, memory) if flash and disks and memory else None
