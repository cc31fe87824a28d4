"""What a thousand operations a second cost a month on each measured placement, at its share of everything and whole."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import ceil
from typing import Final

from tierwise.advisor.workload import Workload
from tierwise.core.errors import MissingError
from tierwise.core.units import GIB
from tierwise.core.vocabulary import Evidence, RelationClass
from tierwise.costs.bill import NOTHING, Bill, total
from tierwise.costs.book import Book
from tierwise.costs.hardware import capacity_bytes, device_bill, load_hardware, members, ram_bill, server_bill
from tierwise.costs.renting import HOURS_A_YEAR
from tierwise.costs.units import MONTHS_A_YEAR
from tierwise.devices.instances import load_instances, price_item
from tierwise.devices.naming import named

A_SECOND: Final = 1_000  # the operations a second that are priced
RENTED: Final = ("aws", "m7i.4xlarge")  # the machine of a pair that names none (assumed)


@dataclass(frozen=True)
class Place:
    """One placement at the devices' own pace: seconds of an operation and of each tier in it; the bytes on each tier."""

    name: str
    operation_s: float
    processor_s: float  # of all processors together
    busy_s: Mapping[str, float]
    stored_bytes: Mapping[str, float]


@dataclass(frozen=True)
class Operated:
    """A workload on one pair. Bytes are of the published size; one machine has `memory_bytes`, and does one operation after another, or as
    many at once as were measured.
    """

    workload: str
    operation: str
    pair: str
    evidence: Evidence
    memory_bytes: float
    devices: Mapping[str, str]  # tier -> device; empty where it is a real directory
    places: tuple[Place, ...]


@dataclass(frozen=True)
class Machine:
    """What holds the drives: the bills of a whole one, of its server and of the workload's memory, and that memory's share of a server."""

    whole: Bill
    server: Bill
    memory: Bill
    memory_share: float
    bays: float
    processors: float

    def at_share(self, seconds: float, processor_s: float, bay_s: float) -> Bill:
        """Return the bill for `seconds` of the memory, and of the server for the largest of its shares: memory, processors, drive bays."""
        return self.memory * seconds + self.server * max(seconds * self.memory_share, processor_s / self.processors, bay_s / self.bays)


@dataclass(frozen=True)
class Priced:
    """Money a month for `A_SECOND` operations a second; `None` where something has no price: `missing`."""

    placement: str
    shared: float | None = None
    whole: float | None = None
    missing: str = ""


def operated(workload: Workload, name: str, operation: str, placed: Callable[[str], str]) -> Operated:
    """Return what the placements of `workload` take; `placed`: what a reader calls them. An operation is one query of a job."""
    scaled = {one.name: one.size_bytes * (1 if one.relation_class is RelationClass.WAL else workload.stretch) for one in workload.relations}
    each = 1 / len(workload.queries)
    places = []
    for placement, measured in workload.measured.items():
        if measured.estimate.value is None:
            continue
        stored = dict.fromkeys(measured.placement.values(), 0.0)
        for relation, tier in measured.placement.items():
            stored[tier] += scaled.get(relation, 0.0)
        job_s, busy_s = measured.estimate.value / workload.slowdown, measured.busy_s.items()
        busy = {tier: min(seconds / workload.slowdown, job_s) * each for tier, seconds in busy_s}
        places.append(Place(placed(placement), job_s * each, measured.processor_s * each, busy, stored))
    devices = {tier: workload.device_name(tier) or "" for place in places for tier in place.stored_bytes}
    memory_bytes = workload.memory_bytes * workload.stretch
    return Operated(name, operation, workload.pair, workload.evidence, memory_bytes, devices, tuple(places))


def day_of(pair: str, book: Book) -> Book:
    """Return the book of the day whose prices the drives of `pair` are given."""
    setting = load_hardware().settings.get(pair)
    return replace(book, on=setting.day) if setting else book


def priced(found: Operated, book: Book) -> list[Priced]:
    """Return the cost of each placement, at the prices of the day of its pair."""
    book = day_of(found.pair, book)
    return [_priced(place, found, book) for place in found.places]


def _priced(place: Place, found: Operated, book: Book) -> Priced:
    devices = {tier: found.devices[tier] for tier in place.stored_bytes}
    if not all(devices.values()):
        return Priced(place.name, missing="a real directory has no price")
    try:
        drives = {tier: device_bill(device, book) for tier, device in devices.items()}
        host = _machine(found, tuple(devices.values()))
        shared, whole = (bill.cost(book) / MONTHS_A_YEAR for bill in _bills(place, devices, drives, host))
    except MissingError as missing:
        return Priced(place.name, missing=str(missing))
    return Priced(place.name, shared, whole)


def _bills(place: Place, devices: Mapping[str, str], drives: Mapping[str, Bill], host: Machine) -> tuple[Bill, Bill]:
    """Return the bills of `A_SECOND` operations a second: at the shares, and with whole machines and drives."""
    taken_s = {
        tier: max(place.busy_s.get(tier, 0.0), place.operation_s * stored / capacity_bytes(devices[tier]))
        for tier, stored in place.stored_bytes.items()
    }
    bay_s = sum(members(devices[tier])[1] * seconds for tier, seconds in taken_s.items())
    shared = host.at_share(place.operation_s, place.processor_s, bay_s) + total(drives[tier] * seconds for tier, seconds in taken_s.items())
    machines = ceil(max(place.operation_s, place.processor_s / host.processors) * A_SECOND)
    return shared * A_SECOND, (host.whole + total(drives.values())) * machines


def _machine(found: Operated, devices: tuple[str, ...]) -> Machine:
    memory_gib = found.memory_bytes / GIB
    if setting := load_hardware().settings.get(found.pair):
        server = load_hardware().servers[setting.server]
        count = server.enough(drives=sum(members(device)[1] for device in devices), ram_bytes=found.memory_bytes)
        memory = ram_bill(max(0.0, memory_gib - server.ram_included_gib.value) * GIB)
        one = server_bill(server)
        share, bays = memory_gib / server.ram_most_gib.value, server.drive_bays.value
        return Machine(one * count + memory, one, memory, share, bays, server.processors.value)
    provider, name = next(((known.provider, known.instance) for one in devices if (known := named(one)).instance), RENTED)
    there = load_instances(provider)
    assert there is not None, "its device was built with it"
    assert name is not None, "chosen for its instance"
    one, rented = Bill({price_item(provider, name): HOURS_A_YEAR}), there.instances[name]
    share = memory_gib / rented.ram_gib
    return Machine(one * max(1, ceil(share)), one, NOTHING, share, float("inf"), rented.vcpus)
