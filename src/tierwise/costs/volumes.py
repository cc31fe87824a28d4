"""Which rented volumes and machine meet a size, a rate of requests and a throughput, what binds them, and when memory would be cheaper."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

from tierwise.core.dates import is_stale
from tierwise.core.errors import InputError, need_above_zero
from tierwise.core.units import GIB, KIB, MIB
from tierwise.costs.bill import NOTHING, Bill, phrase, remarks, total
from tierwise.costs.book import Book
from tierwise.costs.fitting import Fit, burst, fits, least
from tierwise.costs.hardware import load_hardware
from tierwise.costs.managed import managed_offers
from tierwise.costs.renting import LOCAL, Need, Rented, ram_gib_bill, read_by, sufficient
from tierwise.costs.units import MONTHS_A_YEAR
from tierwise.costs.volume_offers import Latency, Machine, Meets, Memory, Offer, Refused, Volumes, Wanted
from tierwise.devices.naming import named
from tierwise.devices.parameter import ASSUMED, Parameter, sourced
from tierwise.devices.spec import SsdSpec, load_device
from tierwise.devices.volume import CloudSpec, Limit, tightest

ABOVE_ZERO: Final = ("gib", "iops", "mib_s", "latency_ms", "read_kib", "reads_per_gib", "pieces")
STEPS: Final = 40  # how many steps of bisection find the reads a second from which on memory pays


def volumes(book: Book, wanted: Wanted) -> Volumes:
    options = {"mibs" if field == "mib_s" else field.replace("_", "-"): getattr(wanted, field) for field in ABOVE_ZERO}
    need_above_zero({f"--{option}": value for option, value in options.items()})
    offers, refused, bills, warnings = [], [], [NOTHING], []
    for name in load_hardware().volumes:
        spec = load_device(name)
        assert isinstance(spec, CloudSpec | SsdSpec), "a rented device is a volume or flash"
        latency = _latency(spec, wanted)
        if latency.meets == "no":
            refused.append(Refused(volume=name, why=phrase("volumes.slow", ms=latency.ms, low=latency.low_ms, high=latency.high_ms)))
            continue
        found, bill = _inside(name, latency, wanted, book) if isinstance(spec, SsdSpec) else _attached(name, spec, latency, wanted, book)
        if isinstance(found, Refused):
            refused.append(found)
            continue
        offers.append(found)
        bills.append(bill)
        if aged := [one.date for _, one in sourced(spec) if one.date and is_stale(one.date, book.on)]:
            warnings.append(phrase("volumes.old", volume=name, values=len(aged), on=book.on, dates=sorted(set(aged))))
    managed, managed_bill = managed_offers(wanted.load, book) if wanted.managed else ((), NOTHING)
    if offers and all(offer.per_month is None for offer in offers if offer.per_month != 0):
        raise InputError("--on", value=book.on.isoformat(), rule="no volume has a price by then", remedy="give a later day")
    return Volumes(
        on=book.on.isoformat(),
        currency=book.currency,
        wanted=wanted,
        offers=tuple(sorted(offers, key=lambda one: (one.total is None, one.total or 0.0, not one.per_month, one.per_month or 0.0))),
        refused=tuple(refused),
        managed=managed,
        warnings=(*remarks([*bills, managed_bill], book), *warnings),
    )


def _need(wanted: Wanted) -> Need:
    load = wanted.load
    return Need(iops=load.iops, rate=load.needed_rate, vcpus=wanted.vcpus, ram_gib=wanted.memory_gib, most=1)


def _attached(name: str, spec: CloudSpec, latency: Latency, wanted: Wanted, book: Book) -> tuple[Offer | Refused, Bill]:
    load, provider = wanted.load, named(name).provider
    spec, known = spec.as_of(book.on)
    chosen = _cheapest(name, spec, wanted, book)
    if chosen is None:
        count, binds = least(spec, load)
        if count > wanted.pieces:
            return Refused(volume=name, why=phrase("volumes.many", count=count, limit=_described(binds))), NOTHING
        return Refused(volume=name, why=phrase("volumes.no_machine", provider=provider, volume=name)), NOTHING
    fit, machine, others = chosen
    limits = [
        *fit.limits,
        (Limit(machine.iops, f"IOPS of {machine.name}"), load.iops),
        (Limit(machine.rate / MIB, f"MiB/s of {machine.name}"), load.needed_rate / MIB),
    ]
    limit, used = tightest(limits)
    hangs_on = _machine(machine, name, book)
    gib = ram_gib_bill(machine, others, book) if book.priced(machine.item) else None

    def relieved(iops: float) -> Bill | None:
        lighter = replace(load, iops=iops + wanted.write_iops)
        counts = range(1, fit.count + 1)  # fewer reads need no more volumes
        bills = (one.bill for one in fits(name, spec, lighter, book, counts) if one.bill)
        return min(bills, key=lambda bill: bill.cost(book), default=None)

    month = _month(fit.bill, book)
    offer = Offer(
        volume=name,
        provider=provider,
        count=fit.count,
        gib=fit.each.capacity.base / GIB,
        iops=fit.each.sold_iops,
        mib_s=fit.each.sold_rate / MIB,
        total=None if month is None or hangs_on.per_month is None else month + hangs_on.per_month,
        per_month=month,
        machine=hangs_on,
        binds=_described(limit),
        used=used,
        limits_known=known,
        latency=latency,
        burst=burst(name, spec, load, book, wanted.pieces),
        memory=_memory(gib, wanted, book, relieved),
        note=_note(name, spec, wanted, book, known=known),
    )
    rent = machine.bill if book.priced(machine.item) else None
    return offer, total(bill for bill in (fit.bill, rent, gib) if bill is not None)


def _cheapest(name: str, spec: CloudSpec, wanted: Wanted, book: Book) -> tuple[Fit, Rented, list[Rented]] | None:
    """Return the volumes that cost the least together with their machine, this machine, and every machine that can take them."""
    provider, load, need, pieces = named(name).provider, wanted.load, _need(wanted), wanted.pieces
    machines = sorted(sufficient(provider, name, book.on, need), key=partial(_by_price, book))
    best, chosen = None, None
    for fit in fits(name, spec, load, book, range(1, pieces + 1)):
        able = [each for each in machines if (each.instance.volumes or fit.count) >= fit.count]
        if not able:
            continue
        month = _month(fit.bill, book)
        rank = (month is None, (month or 0.0) + (_machine(able[0], name, book).per_month or 0.0), fit.count)
        if best is None or rank < best:
            best, chosen = rank, (fit, able[0], able)
    return chosen


def _inside(name: str, latency: Latency, wanted: Wanted, book: Book) -> tuple[Offer | Refused, Bill]:
    """Return the cheapest machine whose own disks meet the requirements: their price is in the machine's."""
    load, provider = wanted.load, named(name).provider
    need = replace(_need(wanted), iops=wanted.iops, size_bytes=load.size_bytes, write_iops=load.write_iops)
    found = sorted(sufficient(provider, LOCAL, book.on, need), key=partial(_by_price, book))
    if not found:
        return Refused(volume=name, why=phrase("volumes.no_disks", provider=provider)), NOTHING
    machine, instance = found[0], found[0].instance
    limits = [
        (Limit(machine.local_bytes / GIB, f"GiB of {machine.name}"), load.size_bytes / GIB),
        (Limit(machine.iops, f"IOPS of {machine.name}"), wanted.iops),
        (Limit(machine.rate / MIB, f"MiB/s of {machine.name} with reads of 4 KiB"), load.needed_rate / MIB),
    ]
    limit, used = tightest(limits)
    priced = _machine(machine, name, book)
    offer = Offer(
        volume=name,
        provider=provider,
        count=instance.local_count,
        gib=machine.local_bytes / GIB / instance.local_count,
        iops=machine.iops / instance.local_count,
        mib_s=machine.rate / MIB / instance.local_count,
        total=priced.per_month,
        per_month=0.0,
        machine=priced,
        binds=_described(limit),
        used=used,
        limits_known=True,
        latency=latency,
        memory=None,
        note=phrase("volumes.inside"),
    )
    return offer, machine.bill if priced.per_month is not None else NOTHING


def _by_price(book: Book, each: Rented) -> tuple[bool, tuple[float, int, float, str]]:
    return (False, each.order(book)) if book.priced(each.item) else (True, (each.instance.vcpus, 1, each.instance.ram_gib, each.name))


def _machine(machine: Rented, volume: str, book: Book) -> Machine:
    instance, read = machine.instance, read_by(named(volume).provider, volume, book.on)
    month = machine.month(book) if book.priced(machine.item) else None
    return Machine(name=machine.name, vcpus=instance.vcpus, ram_gib=instance.ram_gib, per_month=month, limits_known=read)


def _month(bill: Bill | None, book: Book) -> float | None:
    return None if bill is None else bill.cost(book) / MONTHS_A_YEAR


def _note(name: str, spec: CloudSpec, wanted: Wanted, book: Book, *, known: bool) -> str:
    notes = [] if known else [phrase("volumes.limits_unknown", date=spec.limits.since or spec.limits.iops.date)]
    if not read_by(named(name).provider, name, book.on):
        notes.append(phrase("volumes.machine_unknown"))
    least_kib, most_kib = (end / KIB for end in spec.io_size.band)
    if wanted.read_kib > least_kib != most_kib:
        notes.append(phrase("volumes.requests", least=least_kib, most=most_kib, iops=wanted.read_kib / least_kib))
    return "; ".join(notes)


def _latency(spec: CloudSpec | SsdSpec, wanted: Wanted) -> Latency:
    median: Parameter = spec.read_latency
    low, high = (1e3 * end for end in median.band)
    p99 = spec.read_latency_p99 if isinstance(spec, CloudSpec) else None
    meets: Meets | None = None
    if wanted.latency_ms is not None:
        meets = "yes" if high <= wanted.latency_ms else "no" if low > wanted.latency_ms else "open: within the band"
    p99_ms, assumed = 1e3 * p99.base if p99 else None, median.source == ASSUMED
    return Latency(ms=1e3 * median.base, low_ms=low, high_ms=high, p99_ms=p99_ms, assumed=assumed, meets=meets)


def _memory(gib: Bill | None, wanted: Wanted, book: Book, bill_of: Callable[[float], Bill | None]) -> Memory | None:
    """Find how many reads a second a GiB of memory must save to pay for itself by a cheaper volume."""
    if gib is None or (whole := bill_of(wanted.iops)) is None:
        return None
    gib_month = gib.cost(book) / MONTHS_A_YEAR

    def saved(reads_per_s: float) -> float:
        fewer = bill_of(max(0.0, wanted.iops - reads_per_s)) or whole  # of a size that has no price
        return (whole.cost(book) - fewer.cost(book)) / MONTHS_A_YEAR

    low, high = 0.0, wanted.iops
    pays = saved(high) >= gib_month
    for _ in range(STEPS if pays else 0):
        middle = (low + high) / 2
        low, high = (low, middle) if saved(middle) >= gib_month else (middle, high)
    cheaper = None if wanted.reads_per_gib is None else saved(min(wanted.reads_per_gib, wanted.iops)) >= gib_month
    return Memory(gib_month=gib_month, reads_per_s=high if pays else None, cheaper=cheaper)


def _described(limit: Limit) -> str:
    return f"{limit.value:,.0f} {limit.rule}"
