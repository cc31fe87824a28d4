"""Devices and prices as numbers, for plain arithmetic that the page and the command do alike."""

from collections.abc import Mapping
from functools import cache, partial
from typing import Final

from pydantic import Field

from tierwise.advisor.service import SEED, Counted
from tierwise.calculator.device_band import Times, times
from tierwise.core import paths
from tierwise.core.errors import InputError, MissingError, suggesting
from tierwise.core.toml import Strict, read_toml
from tierwise.core.units import GIB, MIB, PAGE_BYTES
from tierwise.costs.bill import Bill
from tierwise.costs.book import Book
from tierwise.costs.hardware import capacity_bytes, device_bill, load_hardware, ram_bill
from tierwise.costs.renting import Need, ram_gib_bill, sufficient
from tierwise.costs.units import MONTHS_A_YEAR, measure
from tierwise.devices.model import build
from tierwise.devices.naming import named
from tierwise.devices.spec import ArraySpec, DeviceSpec, load_device
from tierwise.devices.volume import CloudSpec, Provisioned

PLACE: Final = "data/calculator/markets.toml"
RAM: Final = "own-ram"  # the item of RAM at the reader's own price
DEPTHS: Final = (1, 2, 4, 8, 16, 32, 64)


class Step(Strict):
    above: float
    item: str


class Volume(Provisioned):
    """The items of the price book that size, IOPS and throughput of a volume cost."""

    size: str
    iops_steps: list[Step]
    rate_steps: list[Step]


class Device(Strict):
    """A drive has its capacity, how long a read keeps it busy with `DEPTHS` clients waiting, and its bill of a month."""

    label: str
    times: Times
    volume: Volume | None = None
    capacity: float = 0.0
    busy_s: tuple[float, ...] = ()
    bill: dict[str, float] = Field(default={})


class Item(Strict):
    """A price of one byte, piece, ..., its band, and the price of the unit in which it is quoted."""

    name: str
    each: float
    low: float
    high: float
    price: float
    unit: str


class Market(Strict):
    name: str
    on: str
    currency: str
    devices: dict[str, Device]
    local_ssds: list[str]
    ram: dict[str, float]
    items: dict[str, Item]

    def lasting(self) -> "Market":
        """Return the market without drives whose data are lost when the machine stops."""
        return self.model_copy(update={"devices": {name: one for name, one in self.devices.items() if name not in self.local_ssds}})

    def with_ram_price(self, gib_month: float) -> "Market":
        """Return the market where a GiB of RAM costs `gib_month`, whatever machines or modules cost."""
        each = gib_month / GIB
        item = Item(name=RAM, each=each, low=each, high=each, price=gib_month, unit="GiB-month")
        return self.model_copy(update={"ram": {RAM: 1.0}, "items": self.items | {RAM: item}})


class _Listed(Strict):
    devices: list[str]
    local_ssds: list[str] = Field(default=[])
    provider: str | None = None


class _File(Strict):
    markets: dict[str, _Listed]
    names: dict[str, str]


@cache
def _file() -> _File:
    return read_toml(paths.home() / PLACE, _File)


def local_ssds() -> set[str]:
    """Return the devices whose data are lost when the machine stops."""
    return {name for market in _file().markets.values() for name in market.local_ssds}


def listed() -> Mapping[str, _Listed]:
    return _file().markets


def read_market(name: str, book: Book) -> Market:
    """Return the market `name` at the prices of `book`."""
    if name not in listed():
        raise InputError("--market", value=name, rule=f"must be one of {', '.join(listed())}", remedy=suggesting(name, listed()))
    one = listed()[name]
    devices = {device: _device(device, book) for device in (*one.devices, *one.local_ssds)}
    ram = _month(_ram(one.provider, book))
    used = {*ram}
    for device in devices.values():
        used |= {*device.bill}
        if device.volume:
            used |= {device.volume.size, *(step.item for step in (*device.volume.iops_steps, *device.volume.rate_steps))}
    items = {item: _item(item, book) for item in sorted(used)}
    return Market(
        name=name, on=book.on.isoformat(), currency=book.currency, devices=devices, local_ssds=one.local_ssds, ram=ram, items=items
    )


def _month(bill: Bill) -> dict[str, float]:
    return {item: amount / MONTHS_A_YEAR for item, amount in bill.a_year.items() if amount}


def _item(item: str, book: Book) -> Item:
    quote, (low, high) = book.quote(item), book.band(item)
    each = quote.each
    price, unit = each * measure(quote.price.unit)[1], quote.price.unit
    return Item(name=_file().names.get(item, item), each=each, low=min(low, each), high=max(high, each), price=price, unit=unit)


def _ram(provider: str | None, book: Book) -> Bill:
    """Return a year of a byte of memory: bought, or what a machine with more memory costs more than the cheapest."""
    if provider is None:
        return ram_bill(1.0)
    volume = next(device for device in listed()[provider].devices if isinstance(load_device(device), CloudSpec))
    machines = [each for each in sufficient(provider, volume, book.on, Need(most=1)) if book.priced(each.item)]
    machine = min(machines, key=lambda each: each.order(book), default=None)
    gib = ram_gib_bill(machine, machines, book) if machine else None
    if gib is None:
        raise MissingError(f"price of memory of {provider}", why=f"no machine has a price on {book.on}", remedy="give a later day")
    return gib * (1 / GIB)


def _device(name: str, book: Book) -> Device:
    spec, whole = load_device(name), capacity_bytes(name)
    device = Device(label=_label(spec), times=times(spec, whole))
    if isinstance(spec, CloudSpec):
        return device.model_copy(update={"volume": _volume(name, spec.as_of(book.on)[0])})
    new, counted = partial(build, spec, seed=SEED), partial(Counted, reads=1, writes=0, log=False, read_bytes=PAGE_BYTES, write_bytes=0)
    busy_s = tuple(counted(depth=depth, sequential_reads=None).service_s(new, whole) for depth in DEPTHS)
    return device.model_copy(update={"capacity": whole, "busy_s": busy_s, "bill": _month(device_bill(name, book))})


def _label(spec: DeviceSpec) -> str:
    """Return what a reader calls the device: its name may not say whether it is a disk."""
    drives = {"hdd": "disk", "ssd": "SSD", "cloud": "volume"}
    if isinstance(spec, ArraySpec):
        return f"{spec.members.value:g} {drives[spec.member.kind]}s, {spec.level.value.upper()}"
    return drives[spec.kind]


def _volume(name: str, spec: CloudSpec) -> Volume:
    sold, limits = load_hardware().volumes[named(name).stem], spec.limits
    if sold.size is None or limits.with_size or limits.baseline_per_tib:
        raise InputError(PLACE, field="devices", value=name, rule="its requests come with its size, which the calculator does not know")
    return Volume(
        **limits.provisioned.model_dump(),
        size=sold.size,
        iops_steps=[Step(above=step.above, item=step.price) for step in sold.iops],
        rate_steps=[Step(above=step.above * MIB, item=step.price) for step in sold.throughput_mib_s],
    )
