"""Which rented machine is the cheapest that takes a load from its volumes: memory, requests and bytes a second bind, whichever first."""

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from math import ceil
from typing import Final

from tierwise.core.dates import first_day
from tierwise.core.errors import MissingError
from tierwise.core.units import GIB, KIB
from tierwise.costs.bill import Bill
from tierwise.costs.book import Book
from tierwise.costs.units import MONTHS_A_YEAR
from tierwise.devices.instances import Instance, load_instances, price_item
from tierwise.devices.parameter import UNITS

HOURS_A_YEAR: Final = 730 * MONTHS_A_YEAR  # the providers bill a month of 730 hours
LOCAL: Final = "local disks"  # what stands for the type of a volume where the machine's own disks serve the load
LOCAL_READ_BYTES: Final = 4 * KIB  # the size of the reads whose rate is stated of local disks


@dataclass(frozen=True)
class Need:
    """What one or several machines must have: each of them `vcpus`, `ram_gib` and slots for `volumes`, all together the rest."""

    iops: float = 0.0
    rate: float = 0.0
    ram_bytes: float = 0.0
    vcpus: int = 0
    ram_gib: float = 0.0
    volumes: int = 1
    size_bytes: float = 0.0
    write_iops: float = 0.0
    machine: str | None = None
    most: int | None = None


@dataclass(frozen=True)
class Rented:
    """`count` machines called `name`, each with `iops` and `rate` for its volumes or from its own disks; `bill`: of a year."""

    name: str
    instance: Instance
    iops: float
    rate: float
    local_bytes: float
    count: int
    item: str

    @property
    def bill(self) -> Bill:
        return Bill({self.item: HOURS_A_YEAR * self.count})

    def month(self, book: Book) -> float:
        return self.bill.cost(book) / MONTHS_A_YEAR

    def order(self, book: Book) -> tuple[float, int, float, str]:
        """Return what puts machines in order: the price, then fewer of them, then more memory."""
        return self.month(book), self.count, -self.instance.ram_gib, self.name


@cache
def _machines(provider: str, volume: str) -> tuple[tuple[str, Instance, float, float, float], ...]:
    there = load_instances(provider)
    found = []
    for name, one in there.instances.items() if there else ():
        disks = one.local_count * there.local_bytes(name) if there else 0.0
        if volume == LOCAL:
            if disks and one.local_read_iops:
                found.append((name, one, float(one.local_read_iops), float(one.local_read_iops * LOCAL_READ_BYTES), disks))
            continue
        second = there is not None and there.v2 is not None and volume in there.v2.volumes
        iops, rate = (one.v2_iops, one.v2_rate) if second else (one.iops, one.rate)
        if there and iops and rate:
            found.append((name, one, float(iops), rate * UNITS[there.rate_unit][1], disks))
    return tuple(found)


def read_by(provider: str, volume: str, on: dt.date) -> bool:
    """Return whether the limits of the machines for `volume` had been read by the day."""
    there = load_instances(provider)
    caps = there and (there.v2 if there.v2 and volume in there.v2.volumes else there)
    return not (caps and caps.date) or first_day(caps.date) <= on


def sufficient(provider: str, volume: str, on: dt.date, need: Need) -> list[Rented]:
    """Return each kind of machine of `provider` that can be rented `on` a day, as many as `need` takes, at most `need.most`."""
    found = []
    for name, one, iops, rate, disks in _machines(provider, volume):
        if (one.kind or one.since > f"{on:%Y-%m}") if need.machine is None else name != need.machine:
            continue
        if one.vcpus < need.vcpus or one.ram_gib < need.ram_gib or (one.volumes or need.volumes) < need.volumes:
            continue
        needs = [need.ram_bytes / (one.ram_gib * GIB), need.iops / iops, need.rate / rate]
        if volume == LOCAL:
            needs += [need.size_bytes / disks, need.write_iops / one.local_write_iops if one.local_write_iops else 0.0]
            if need.write_iops and not one.local_write_iops:
                continue
        count = max(1, *(ceil(each * (1 - 1e-12)) for each in needs))
        if need.most is None or count <= need.most:
            found.append(Rented(name, one, iops, rate, disks, count, price_item(provider, name)))
    return found


def cheapest(provider: str, volume: str, book: Book, need: Need) -> Rented:
    found = [each for each in sufficient(provider, volume, book.on, need) if book.priced(each.item)]
    if not found:
        why = f"no machine in data/instances/{provider}.csv is large enough and has limits and a price on {book.on}"
        raise MissingError(f"a machine of {provider}", why=why, remedy="give a later day or a smaller load, or add a price to data/prices")
    return min(found, key=lambda each: each.order(book))


def ram_gib_bill(machine: Rented, others: Iterable[Rented], book: Book) -> Bill | None:
    """Return a year of a GiB of memory: what the `others` with more memory cost more than `machine`, where a GiB of it costs the least."""
    more = [each for each in others if each.instance.ram_gib > machine.instance.ram_gib and book.priced(each.item)]

    def gib(each: Rented) -> Bill:
        return (each.bill + machine.bill * -1.0) * (1 / (each.instance.ram_gib - machine.instance.ram_gib))

    return min(map(gib, more), key=lambda bill: bill.cost(book), default=None)
