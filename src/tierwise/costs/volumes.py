"""Which rented volume meets a size, a rate of reads and a throughput, what binds it, and when a GiB of memory would be cheaper."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final, Literal

from pydantic import Field

from tierwise.core.errors import InputError, MissingError
from tierwise.core.toml import Strict
from tierwise.core.units import GIB, KIB, MIB
from tierwise.costs.bill import NOTHING, Bill, phrase, remarks, total
from tierwise.costs.book import Book
from tierwise.costs.fitting import VolumeLoad, fit, relieved
from tierwise.costs.hardware import load_hardware
from tierwise.costs.renting import Rented, cheapest, ram_gib_bill, sufficient
from tierwise.costs.units import MONTHS_A_YEAR
from tierwise.devices.naming import named
from tierwise.devices.parameter import ASSUMED, Parameter, older_than_a_year
from tierwise.devices.spec import SsdSpec, load_device
from tierwise.devices.volume import CloudSpec, Limit, tightest

READ_KIB: Final = 16
STRIPED_MOST: Final = 16
"""Volumes or disks side by side that are still offered: assumed."""
VCPUS: Final = 4
"""The processors of the machines that say what a GiB of memory costs, where no machine is named or it has no twin."""
STEPS: Final = 60
"""How many steps of bisection find the reads a second from which on memory pays."""

Meets = Literal["yes", "no", "open: within the band"]


class Wanted(Strict):
    """The requirements of a volume; reads of `read_kib` each. `reads_per_gib`: what a GiB more of memory saves, a second."""

    gib: float = Field(le=2**30)
    iops: float = Field(le=1e9)
    mib_s: float = Field(le=1e7)
    latency_ms: float | None = None
    read_kib: float = Field(default=READ_KIB, le=2**20)
    reads_per_gib: float | None = Field(default=None, le=1e12)


class Latency(Strict):
    """Latency of a read alone: the median or its stand-in, its band where nobody states it, the 99th percentile where one is published."""

    ms: float
    low_ms: float
    high_ms: float
    p99_ms: float | None
    assumed: bool
    meets: Meets | None


class Machine(Strict):
    """The cheapest instance that takes all of it."""

    name: str
    per_month: float


class Memory(Strict):
    """`reads_per_s`: so many must a GiB of memory save to be cheaper; `None`: however many it saves, it is not."""

    gib_month: float
    reads_per_s: float | None
    cheaper: bool | None


class Offer(Strict):
    """What meets the wish: `count` volumes of `gib` each with `iops` and `mib_s`; money a month of all of them, `None`: no page has it."""

    volume: str
    provider: str
    count: int
    gib: float
    iops: float
    mib_s: float
    per_month: float | None
    binds: str
    used: float
    machine: Machine | None
    latency: Latency
    memory: Memory | None
    note: str


class Refused(Strict):
    """A volume that does not meet the wish, and why."""

    volume: str
    why: str


class Volumes(Strict):
    """Money in `currency`, of the day `on`; of each provider, the cheapest first."""

    on: str
    currency: str
    wanted: Wanted
    offers: tuple[Offer, ...]
    refused: tuple[Refused, ...]
    warnings: tuple[str, ...]


def volumes(book: Book, wanted: Wanted) -> Volumes:
    """Return every volume of ``hardware.toml`` against `wanted`.

    Raises:
        InputError: a size, rate or latency that cannot be, or a day on which no volume has a price.
    """
    _check(wanted)
    offers, refused, bills = [], [], [NOTHING]
    warnings = []
    for name in load_hardware().volumes:
        spec = load_device(name)
        assert isinstance(spec, CloudSpec | SsdSpec), "a rented device is a volume or flash"
        found, bill = _offer(name, spec, wanted, book)
        if isinstance(found, Refused):
            refused.append(found)
            continue
        offers.append(found)
        bills.append(bill)
        if aged := older_than_a_year(spec, book.on):
            warnings.append(phrase("volumes.old", volume=name, values=len(aged), on=book.on, dates=sorted(set(aged.values()))))
    if offers and all(offer.per_month is None for offer in offers):
        raise InputError("--on", value=book.on.isoformat(), rule="no volume has a price by then", remedy="give a later day")
    return Volumes(
        on=book.on.isoformat(),
        currency=book.currency,
        wanted=wanted,
        offers=tuple(sorted(offers, key=lambda offer: (offer.per_month is None, offer.per_month or 0.0))),
        refused=tuple(refused),
        warnings=(*remarks(bills, book), *warnings),
    )


def _check(wanted: Wanted) -> None:
    options = {
        "gib": "--gib",
        "iops": "--iops",
        "mib_s": "--mibs",
        "latency_ms": "--latency-ms",
        "read_kib": "--read-kib",
        "reads_per_gib": "--reads-per-gib",
    }
    for field, option in options.items():
        value = getattr(wanted, field)
        if value is not None and not 0 < value < float("inf"):
            raise InputError(option, value=value, rule="must be above zero")


def _offer(name: str, spec: CloudSpec | SsdSpec, wanted: Wanted, book: Book) -> tuple[Offer | Refused, Bill]:
    latency = _latency(spec, wanted)
    if latency.meets == "no":
        return Refused(volume=name, why=phrase("volumes.slow", ms=latency.ms, low=latency.low_ms, high=latency.high_ms)), NOTHING
    load = VolumeLoad(wanted.gib * GIB, wanted.iops, wanted.mib_s * MIB, wanted.read_kib * KIB)
    found, provider = fit(name, spec, load, book), named(name).provider
    if found.count > STRIPED_MOST:
        return Refused(volume=name, why=phrase("volumes.many", count=found.count, limit=_described(found.binds))), NOTHING
    machine, limits = None, found.limits
    if isinstance(spec, CloudSpec):
        if not sufficient(provider, iops=load.iops, rate=load.needed_rate, most=1):
            return Refused(volume=name, why=phrase("volumes.no_machine", provider=provider)), NOTHING
        machine = _machine(provider, load, book)
        limits = [*limits, *_machine_limits(machine, load)]
    limit, used = tightest(limits)
    money = None if found.bill is None else found.bill.cost(book) / MONTHS_A_YEAR
    twins = (machine.instance.vcpus, VCPUS) if machine else (VCPUS,)
    memory_bill = next((bill for vcpus in twins if (bill := ram_gib_bill(provider, vcpus, book))), None)
    return (
        Offer(
            volume=name,
            provider=provider,
            count=found.count,
            gib=found.gib,
            iops=found.iops,
            mib_s=found.mib_s,
            per_month=money,
            binds=_described(limit),
            used=used,
            machine=None if machine is None else Machine(name=machine.name, per_month=machine.bill.cost(book) / MONTHS_A_YEAR),
            latency=latency,
            memory=_memory(memory_bill, wanted, book, lambda iops: relieved(name, spec, replace(load, iops=iops), found.count, book)),
            note=_note(spec, wanted),
        ),
        total(bill for bill in (found.bill, machine.bill if machine else None, memory_bill) if bill is not None),
    )


def _machine(provider: str, load: VolumeLoad, book: Book) -> Rented | None:
    try:
        return cheapest(provider, book, iops=load.iops, rate=load.needed_rate, most=1)
    except MissingError:
        return None


def _machine_limits(machine: Rented | None, load: VolumeLoad) -> list[tuple[Limit, float]]:
    if machine is None:
        return []
    limits = machine.limits
    return [
        (Limit(limits.max_iops.base, f"IOPS of {machine.name}"), load.iops),
        (Limit(limits.max_rate.base / MIB, f"MiB/s of {machine.name}"), load.needed_rate / MIB),
    ]


def _note(spec: CloudSpec | SsdSpec, wanted: Wanted) -> str:
    if isinstance(spec, SsdSpec):
        low, high = (end / MIB for end in spec.read_rate.band)
        return phrase("volumes.inside", low=low, high=high)
    least, most = (end / KIB for end in spec.io_size.band)
    if wanted.read_kib <= least or least == most:
        return ""
    return phrase("volumes.requests", least=least, most=most, iops=wanted.read_kib / least)


def _latency(spec: CloudSpec | SsdSpec, wanted: Wanted) -> Latency:
    median: Parameter = spec.read_latency
    low, high = (1e3 * end for end in median.band)
    p99 = spec.read_latency_p99 if isinstance(spec, CloudSpec) else None
    meets: Meets | None = None
    if wanted.latency_ms is not None:
        meets = "yes" if high <= wanted.latency_ms else "no" if low > wanted.latency_ms else "open: within the band"
    return Latency(
        ms=1e3 * median.base,
        low_ms=low,
        high_ms=high,
        p99_ms=1e3 * p99.base if p99 else None,
        assumed=median.source == ASSUMED,
        meets=meets,
    )


def _memory(gib: Bill | None, wanted: Wanted, book: Book, bill_of: Callable[[float], Bill | None]) -> Memory | None:
    """Find how many reads a second a GiB of memory must save, so that the volume with as many fewer is cheaper by more than the GiB
    costs (`gib`: a year of it).
    """
    if gib is None or (whole := bill_of(wanted.iops)) is None:
        return None
    gib_month = gib.cost(book) / MONTHS_A_YEAR

    def saved(reads_per_s: float) -> float:
        fewer = bill_of(max(0.0, wanted.iops - reads_per_s))
        assert fewer is not None, "the same prices"
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
