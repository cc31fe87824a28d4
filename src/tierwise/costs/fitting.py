"""The volumes of a kind that meet a load for the least money, what they rent for, and how much of each limit the load takes."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import ceil

from tierwise.core.errors import MissingError
from tierwise.core.toml import Strict
from tierwise.core.units import GIB, MIB
from tierwise.costs.bill import Bill
from tierwise.costs.book import Book
from tierwise.costs.hardware import volume_bill
from tierwise.costs.units import MONTHS_A_YEAR
from tierwise.devices.volume import CloudSpec, Limit, enough, fewest, tightest


@dataclass(frozen=True)
class VolumeLoad:
    """What a volume is to hold and to bear: bytes, requests of `read_bytes` a second (`write_iops` of them write), bytes a second."""

    size_bytes: float
    iops: float
    rate: float
    read_bytes: float
    write_iops: float = 0.0

    @property
    def needed_rate(self) -> float:
        """Return the bytes a second that the volume must bear: those of the requests, where they are more than those that are required."""
        return max(self.rate, self.iops * self.read_bytes)


@dataclass(frozen=True)
class Fit:
    """`count` volumes like `each` share the load: `limits` with how much of each is used, and a year's `bill`, if there is a price."""

    count: int
    each: CloudSpec
    limits: list[tuple[Limit, float]]
    bill: Bill | None


class Burst(Strict):
    """Volumes whose size sustains less than the load, and that pay the rest from credits for so long; `None`: no price."""

    count: int
    gib: float
    sustained_iops: float
    lasts_s: float
    per_month: float | None


def fits(name: str, spec: CloudSpec, load: VolumeLoad, book: Book, counts: Iterable[int]) -> Iterator[Fit]:
    """Yield the load on each of the `counts` of equal volumes that can bear it."""
    for count in counts:
        each = enough(spec, load.size_bytes / count, load.iops / count, load.rate / count, load.read_bytes)
        if each is not None:
            yield Fit(count, each, _volume_limits(each, *_requests(each, load, count)), _rent(name, count, each, book))


def cheapest_fit(name: str, spec: CloudSpec, load: VolumeLoad, book: Book, counts: Iterable[int]) -> Fit | None:
    """Return the cheapest of `fits`; of those without a price the one with the fewest volumes, where none has one."""

    def price(fit: Fit) -> tuple[bool, float]:
        return fit.bill is None, fit.bill.cost(book) if fit.bill else 0.0

    return min(fits(name, spec, load, book, counts), key=price, default=None)


def least(spec: CloudSpec, load: VolumeLoad) -> tuple[int, Limit]:
    """Return the least number of volumes that bears the load, and the limit that requires this number."""
    count, each = fewest(spec, load.size_bytes, load.iops, load.rate, load.read_bytes)
    return count, tightest(_volume_limits(each, *_requests(each, load, count)))[0]


def burst(name: str, spec: CloudSpec, load: VolumeLoad, book: Book, most: int) -> Burst | None:
    """Return how long the fewest volumes bear the load that are large enough for its bytes; `None` where they do not burst or need not."""
    limits = spec.limits
    if limits.iops_burst is None or limits.iops_burst_time is None:
        return None
    count = max(1, ceil(load.iops / limits.iops_burst.base), ceil(load.size_bytes / limits.largest.base))
    each = enough(spec, load.size_bytes / count, 0.0, load.needed_rate / count, 1.0)
    if count > most or each is None or each.sold_iops * count >= load.iops:
        return None
    saved = limits.iops_burst.base * limits.iops_burst_time.base
    lasts_s = saved / (load.iops / count - each.sold_iops)
    bill, gib, sustained_iops = _rent(name, count, each, book), each.capacity.base / GIB, each.sold_iops * count
    month = None if bill is None else bill.cost(book) / MONTHS_A_YEAR
    return Burst(count=count, gib=gib, sustained_iops=sustained_iops, lasts_s=lasts_s, per_month=month)


def _requests(each: CloudSpec, load: VolumeLoad, count: int) -> tuple[float, float]:
    """Return (requests, bytes) a second of one volume; a request larger than the volume's counts as several."""
    return load.iops / count * max(1.0, load.read_bytes / each.io_size.base), load.needed_rate / count


def _rent(name: str, count: int, each: CloudSpec, book: Book) -> Bill | None:
    try:
        bill = volume_bill(name, each.capacity.base, each.sold_iops, each.sold_rate) * count
        bill.cost(book)
    except MissingError:
        return None
    return bill


def _volume_limits(each: CloudSpec, iops: float, rate: float) -> list[tuple[Limit, float]]:
    size, limits = each.capacity.base, each.limits
    found = [
        (Limit(limits.largest.base / GIB, "GiB per volume"), size / GIB),
        (Limit(limits.iops.base, "IOPS per volume"), iops),
        (Limit(limits.rate.base / MIB, "MiB/s per volume"), rate / MIB),
    ]
    if limits.iops_per_gib:
        found.append((Limit(limits.iops_of(size).value, f"IOPS at {limits.iops_per_gib.value:g} per GiB"), iops))
    if limits.rate_per_iops:
        found.append((Limit(limits.rate_per_iops.base * each.sold_iops / MIB, "MiB/s at its IOPS"), rate / MIB))
    if limits.steps:
        found.append((Limit(each.sold_iops, "IOPS at its size"), iops))
        found.append((Limit(each.sold_rate / MIB, "MiB/s at its size"), rate / MIB))
    if limits.baseline_per_tib:
        whole = max(rate, iops * each.io_size.base)  # each small request costs a whole one
        found.append((Limit(each.sustained_rate / MIB, f"MiB/s sustained at {limits.baseline_per_tib.value:g} per TiB"), whole / MIB))
    return found
