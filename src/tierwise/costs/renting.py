"""Which rented machine is the cheapest that takes a load from its volumes: memory, requests and bytes a second bind, whichever first."""

from dataclasses import dataclass
from math import ceil

from tierwise.core.errors import MissingError
from tierwise.core.units import GIB
from tierwise.costs.bill import Bill
from tierwise.costs.book import Book
from tierwise.costs.units import HOURS_A_YEAR
from tierwise.devices.instances import Instance, InstanceLimits, load_instances, price_item


@dataclass(frozen=True)
class Rented:
    """`count` machines called `name`; `bill`: of a year."""

    name: str
    instance: Instance
    limits: InstanceLimits
    count: int
    bill: Bill


def sufficient(provider: str, *, ram_bytes: float = 0.0, iops: float, rate: float, most: int | None = None) -> list[Rented]:
    """Return each kind of machine of `provider`, as many as have the memory and take the load from their volumes, at most `most`."""
    there, found = load_instances(provider), []
    if there is None:
        return []
    for name, instance in there.instances.items():
        limits = there.limits(name)
        needs = (ram_bytes / (instance.ram_gib * GIB), iops / limits.max_iops.base, rate / limits.max_rate.base)
        count = max(1, *map(ceil, needs))
        if most is None or count <= most:
            found.append(Rented(name, instance, limits, count, Bill({price_item(provider, name): HOURS_A_YEAR * count})))
    return found


def cheapest(provider: str, book: Book, *, ram_bytes: float = 0.0, iops: float, rate: float, most: int | None = None) -> Rented:
    """Return the cheapest of the machines that are `sufficient`.

    Raises:
        MissingError: none suffices, or none that does has a price on the book's day.
    """
    found = [each for each in sufficient(provider, ram_bytes=ram_bytes, iops=iops, rate=rate, most=most) if _priced(each.bill, book)]
    if not found:
        why = f"no machine in data/instances/{provider}.toml is large enough and has a price on {book.on}"
        raise MissingError(f"a machine of {provider}", why=why, remedy="give a later day or a smaller load, or add a price to data/prices")
    return min(found, key=lambda each: (each.bill.cost(book), each.count))


def ram_gib_bill(provider: str, vcpus: int, book: Book) -> Bill | None:
    """Return a year of a GiB of memory: what a machine with more of it costs more than its twin with as many processors."""
    there = load_instances(provider)
    twins = (
        [(one.ram_gib, Bill({price_item(provider, name): HOURS_A_YEAR})) for name, one in there.instances.items() if one.vcpus == vcpus]
        if there
        else []
    )
    twins = sorted((twin for twin in twins if _priced(twin[1], book)), key=lambda twin: twin[0])
    if len(twins) < 2 or twins[0][0] == twins[-1][0]:
        return None
    (less, cheaper), (more, dearer) = twins[0], twins[-1]
    return (dearer + cheaper * -1.0) * (1 / (more - less))


def _priced(bill: Bill, book: Book) -> bool:
    there = {price.item for price in book.prices if price.day <= book.on}
    return bill.a_year.keys() <= there
