"""Everything that ``tierwise cost`` says, from a price book and a load."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final, NamedTuple

from pydantic import Field

from tierwise.core.errors import InputError, MissingError, need_above_zero
from tierwise.core.toml import Strict
from tierwise.core.units import GB, GIB
from tierwise.core.vocabulary import Evidence
from tierwise.costs.bill import Bill, Limits, limits, remarks
from tierwise.costs.book import Book
from tierwise.costs.break_even import BreakEven, device_over, memory_over
from tierwise.costs.delivered import Load, Plan, WithoutFlash, plans, published_load, without_flash
from tierwise.costs.hardware import ELECTRICITY, capacity_bytes, device_bill, load_hardware, medium, members, purchase, rented
from tierwise.costs.iops import LATENCY_MS, Iops, device_iops, latency_limit_ms
from tierwise.costs.units import DAYS_A_YEAR, MONTHS_A_YEAR
from tierwise.devices import naming

PAGE_BYTES: Final = 4096  # the size of a page in the break-evens, in bytes, as in the papers since 2007


class DeviceCost(Strict):
    """Cost of a whole device: `per_gb` and `per_iops` over the life; `latency_ms` is the longest average of a read at `iops`."""

    device: str
    medium: str
    capacity_gb: float
    iops: float
    iops_evidence: Evidence
    price_date: str
    today: bool  # whether the price is not older than a year on the day of the question
    purchase: float | None
    cost_a_year: float
    per_gb: float
    per_iops: float
    per_gb_month: float
    per_iops_month: float
    latency_ms: float | None = None


class LeftOut(Strict):
    device: str
    why: str


class Delivered(Strict):
    plan: str
    device: str
    in_ram: bool
    devices: int
    machines: int
    ram_gib: float
    cost_a_year: float
    per_million_reads: float
    parts_a_year: dict[str, float]
    evidence: Evidence  # the evidence of the load and of the device's IOPS together


class Without(Strict):
    """Flash beside the cheapest ways without it; above zero: not buying flash costs so much more a year."""

    flash: str
    disks: str
    memory: str
    cost_a_year: float
    replaces: str


class Used(Strict):
    item: str
    price: float
    currency: str
    unit: str
    region: str
    date: str
    source: str
    each: float


class PricedLoad(Strict):
    data_gib: float
    ram_gib: float
    reads_per_s: float
    misses_per_read: float
    evidence: Evidence | None


class Answer(Strict):
    """Money in `currency`, of the day `on`."""

    on: str
    currency: str
    region: str
    life_years: float
    latency_ms: float | None = Field(description="longest average latency of a read at the IOPS of any device; none for data sheets")
    load: PricedLoad
    devices: tuple[DeviceCost, ...]
    left_out: tuple[LeftOut, ...]
    delivered: tuple[Delivered, ...]
    without_flash: Without | None
    break_evens: tuple[BreakEven, ...]
    sensitivity: tuple[Limits, ...]
    prices: tuple[Used, ...]
    warnings: tuple[str, ...]


class Rated(NamedTuple):
    cost: DeviceCost
    bill: Bill
    iops: Iops


def answer(
    book: Book,
    load: Load | None = None,
    *,
    devices: Sequence[str] = (),
    evidence: Evidence = Evidence.SIMULATED,
    life_years: float | None = None,
    latency_ms: float | None = None,
) -> Answer:
    """Return the costs of `devices` (all that can be priced), of the reads of `load` (the published one), break-evens, and how far each
    price may move.

    A device whose price is older than a device lives is shown, but serves no load: it is no offer any more. An `InputError` names an
    unknown device, a load or a life that cannot be, a day on which nothing has a price, or a latency that nothing keeps.
    """
    load = load or published_load().load
    life = load_hardware().assumptions.life_years.value if life_years is None else life_years
    need_above_zero({"--life-years": life, "--latency-ms": latency_ms})
    rated, left_out = _rate(devices or naming.stems(), book, evidence, life, latency_ms, named=bool(devices))
    if not rated:
        raise _nothing(left_out, book, latency_ms)
    oldest = (book.on - timedelta(days=DAYS_A_YEAR * life)).isoformat()
    offered = {cost.device: iops for cost, _, iops in rated if devices or cost.price_date >= oldest[: len(cost.price_date)]}
    ways = plans(load, book, offered, life_years=life) if offered else []
    trio = without_flash(ways)
    bills = {plan.name: plan.bill for plan in ways}
    behind = [*(each.bill for each in rated), *bills.values()]
    return Answer(
        on=book.on.isoformat(),
        currency=book.currency,
        region=book.region,
        life_years=life,
        latency_ms=None if evidence is not Evidence.SIMULATED else max(LATENCY_MS.values()) if latency_ms is None else latency_ms,
        load=PricedLoad(
            data_gib=load.data_bytes / GIB,
            ram_gib=load.ram_bytes / GIB,
            reads_per_s=load.reads_per_s,
            misses_per_read=load.misses_per_read,
            evidence=load_evidence(load),
        ),
        devices=tuple(sorted((each.cost for each in rated), key=lambda row: (not row.today, row.per_iops))),
        left_out=tuple(left_out),
        delivered=tuple(_delivered(plan, load, book) for plan in ways),
        without_flash=None if trio is None else _without(trio, book),
        break_evens=tuple(_intervals(offered, book, life)),
        sensitivity=tuple(limits(bills, book)) if bills else (),
        prices=tuple(_used(behind, book)),
        warnings=tuple(remarks(behind, book)),
    )


def _rate(
    names: Sequence[str], book: Book, evidence: Evidence, life_years: float, latency_ms: float | None, *, named: bool
) -> tuple[list[Rated], list[LeftOut]]:
    rated, left_out = [], []
    for name in names:
        try:
            bill = device_bill(name, book, life_years=life_years)
            behind = [quote for item, quote in bill.quotes(book).items() if item != ELECTRICITY]
            oldest = min(behind, key=lambda quote: quote.price.day)
            limit_ms = latency_limit_ms(name, latency_ms) if evidence is Evidence.SIMULATED else None
            iops = device_iops(name, evidence, latency_ms=limit_ms)
            cost = _device(name, bill, iops, book, life_years, price_date=oldest.price.date, today=not oldest.stale, latency_ms=limit_ms)
            rated.append(Rated(cost, bill, iops))
        except MissingError as error:
            if named and latency_ms is not None and evidence is Evidence.SIMULATED and _priced(name, book):
                raise InputError("--latency-ms", value=latency_ms, rule=f"{name}: {error.why}", remedy="give a longer latency") from error
            if named:
                raise
            left_out.append(LeftOut(device=name, why=error.why))
    return rated, left_out


def _nothing(left_out: Sequence[LeftOut], book: Book, latency_ms: float | None) -> InputError:
    if slow := [gone for gone in left_out if _priced(gone.device, book)]:
        rule = f"no device with a price has IOPS at that latency: {slow[0].device}: {slow[0].why}, and so on"
        return InputError("--latency-ms", value=latency_ms, rule=rule, remedy="give a longer latency")
    rule = f"no device has a price by then: {left_out[0].device}: {left_out[0].why}, and so on" if left_out else "there are no devices"
    return InputError("--on", value=book.on.isoformat(), rule=rule, remedy="give a later day")


def _priced(name: str, book: Book) -> bool:
    try:
        device_bill(name, book).cost(book)
    except MissingError:
        return False
    return True


def _device(name: str, bill: Bill, iops: Iops, book: Book, life_years: float, **more: Any) -> DeviceCost:
    bought, cost_a_year, capacity_gb = purchase(name, book), bill.cost(book), capacity_bytes(name) / GB
    per_gb, per_iops = cost_a_year / capacity_gb, cost_a_year / iops.value
    return DeviceCost(
        device=name,
        medium=medium(name),
        capacity_gb=capacity_gb,
        iops=iops.value,
        iops_evidence=iops.evidence,
        purchase=None if bought is None else bought.cost(book),
        cost_a_year=cost_a_year,
        per_gb=per_gb * life_years,
        per_iops=per_iops * life_years,
        per_gb_month=per_gb / MONTHS_A_YEAR,
        per_iops_month=per_iops / MONTHS_A_YEAR,
        **more,
    )


def _without(trio: WithoutFlash, book: Book) -> Without:
    names = {"flash": trio.flash.name, "disks": trio.disks.name, "memory": trio.memory.name}
    return Without(**names, cost_a_year=trio.cost(book), replaces="memory" if trio.replaces_memory(book) else "disks")


def _delivered(plan: Plan, load: Load, book: Book) -> Delivered:
    return Delivered(
        **{name: getattr(plan, name) for name in ("device", "in_ram", "devices", "machines")},
        plan=plan.name,
        ram_gib=plan.ram_bytes / GIB,
        cost_a_year=plan.bill.cost(book),
        per_million_reads=plan.cost_per_million(load, book),
        parts_a_year=plan.bill.parts(book),
        evidence=Evidence.of({plan.iops.evidence, load_evidence(load) or plan.iops.evidence}),
    )


def load_evidence(load: Load) -> Evidence | None:
    """Return how `load` came to be; `None`: the reader said so."""
    return Evidence.PUBLISHED if load == published_load().load else None


def _intervals(offered: Mapping[str, Iops], book: Book, life_years: float) -> list[BreakEven]:
    """Memory over every drive that is owned, and over each disk the flash whose bytes are the cheapest; an array is as its drives."""
    owned = {name: iops for name, iops in offered.items() if not rented(name) and members(name)[1] == 1}
    found = [memory_over(name, PAGE_BYTES, iops, book, life_years=life_years) for name, iops in owned.items()]

    def per_byte(name: str) -> float:
        return device_bill(name, book, life_years=life_years).cost(book) / capacity_bytes(name)

    if flash := min((name for name in owned if medium(name) == "ssd"), key=per_byte, default=None):
        disks = ((name, iops) for name, iops in owned.items() if medium(name) == "hdd")
        found += [device_over(flash, name, PAGE_BYTES, iops, book, life_years=life_years) for name, iops in disks]
    return found


def _used(bills: Sequence[Bill], book: Book) -> list[Used]:
    quotes = {item: quote for bill in bills for item, quote in bill.quotes(book).items()}
    shown = ("item", "price", "currency", "unit", "region", "date", "source")
    return [Used(**{name: getattr(quote.price, name) for name in shown}, each=quote.each) for _, quote in sorted(quotes.items())]
