"""Storage of managed PostgreSQL, ``data/costs/managed.toml``: what it costs a month without the database machine, and what is not known."""

from functools import cache
from typing import Final, Literal

from pydantic import Field

from tierwise.core import paths
from tierwise.core.errors import MissingError
from tierwise.core.toml import Strict, read_table, validate
from tierwise.core.units import GIB, MIB
from tierwise.costs.bill import NOTHING, Bill, total
from tierwise.costs.book import Book
from tierwise.costs.fitting import VolumeLoad, burst
from tierwise.costs.renting import HOURS_A_YEAR
from tierwise.costs.units import MONTHS_A_YEAR
from tierwise.devices.parameter import Sourced
from tierwise.devices.spec import load_device
from tierwise.devices.volume import CloudSpec, enough

PLACE: Final = "costs/managed.toml"


Meets = Literal["yes", "no", "not known"]


class Included(Strict):
    from_gib: float
    iops: float
    mib_s: float


class ManagedStorage(Sourced):
    """One kind of storage; its limits are those of the volume `like`, or what is `included`; prices that no page gives are absent."""

    provider: str
    title: str
    like: str | None = None
    smallest_gib: float = Field(default=1, gt=0)
    largest_gib: float | None = None
    included: tuple[Included, ...] = ()
    size: str | None = None
    iops: str | None = Field(default=None, description="price of those above what is included")
    requests: str | None = Field(default=None, description="price of a request, where each is billed")
    unknown: tuple[str, ...] = Field(default=(), description="what no page that was read gives")


class ManagedOffer(Strict):
    """`None`: not known, or not set by the reader. Money a month, without the machine."""

    storage: str
    provider: str
    title: str
    meets: Meets
    gib: float
    iops: float | None
    mib_s: float | None
    burst_lasts_s: float | None
    per_month: float | None
    unknown: tuple[str, ...]
    source: str
    date: str | None


@cache
def managed_storages() -> dict[str, ManagedStorage]:
    return validate(read_table(paths.data() / PLACE), dict[str, ManagedStorage], where=f"data/{PLACE}")


def managed_offers(load: VolumeLoad, book: Book) -> tuple[tuple[ManagedOffer, ...], Bill]:
    """Return every managed storage under `load`, the cheapest that is known to meet it first, and the bills together."""
    found = [_offer(name, storage, load, book) for name, storage in managed_storages().items()]
    order = ("yes", "not known", "no")
    offers = sorted((offer for offer, _ in found), key=lambda one: (order.index(one.meets), one.per_month is None, one.per_month or 0.0))
    return tuple(offers), total(bill for _, bill in found)


def _offer(name: str, storage: ManagedStorage, load: VolumeLoad, book: Book) -> tuple[ManagedOffer, Bill]:
    gib = max(load.size_bytes / GIB, storage.smallest_gib)
    iops, mib_s, billed, lasts_s = None, None, None, None
    meets: Meets = "not known"
    if storage.like is not None:
        spec = load_device(storage.like)
        assert isinstance(spec, CloudSpec), "managed storage is like a volume"
        spec, known = spec.as_of(book.on)
        each = enough(spec, gib * GIB, load.iops, load.rate, load.read_bytes)
        meets = "no" if each is None else "yes" if known else "not known"
        if each is not None:
            gib, iops, mib_s = each.capacity.base / GIB, each.sold_iops, each.sold_rate / MIB
            spent = burst(storage.like, spec, load, book, 1)
            billed, lasts_s = iops, spent.lasts_s if spent else None
    elif storage.included:
        band = next((one for one in reversed(storage.included) if one.from_gib <= gib), storage.included[0])
        iops, mib_s, billed = max(load.iops, band.iops), band.mib_s, max(0.0, load.iops - band.iops)
        meets = "yes" if not billed and load.needed_rate <= band.mib_s * MIB else "not known"
    if storage.largest_gib is not None and gib > storage.largest_gib:
        meets = "no"
    paid = meets != "no" and (storage.like or not storage.included or load.needed_rate <= (mib_s or 0.0) * MIB)
    bill = _priced(storage, gib, billed, load, book) if paid else None
    offer = ManagedOffer(
        **storage.model_dump(include={"provider", "title", "unknown", "source", "date"}),
        storage=name,
        meets=meets,
        gib=gib,
        iops=iops,
        mib_s=mib_s,
        burst_lasts_s=lasts_s,
        per_month=None if bill is None else bill.cost(book) / MONTHS_A_YEAR,
    )
    return offer, bill or NOTHING


def _priced(storage: ManagedStorage, gib: float, iops: float | None, load: VolumeLoad, book: Book) -> Bill | None:
    if storage.size is None:
        return None
    bill = Bill({storage.size: gib * GIB * MONTHS_A_YEAR})
    if storage.iops and iops:
        bill += Bill({storage.iops: iops * MONTHS_A_YEAR})
    if storage.requests:
        bill += Bill({storage.requests: load.iops * HOURS_A_YEAR * 3600})
    try:
        bill.cost(book)
    except MissingError:
        return None
    return bill
