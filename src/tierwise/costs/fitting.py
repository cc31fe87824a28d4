"""The fewest volumes of a kind that meet a load, what they rent for, and how much of each limit the load takes."""

from dataclasses import dataclass
from math import ceil, inf

from tierwise.core.errors import MissingError
from tierwise.core.units import GIB, MIB
from tierwise.costs.bill import Bill
from tierwise.costs.book import Book
from tierwise.costs.hardware import volume_bill
from tierwise.devices.spec import SsdSpec
from tierwise.devices.volume import CloudSpec, Limit, enough, fewest, tightest


@dataclass(frozen=True)
class VolumeLoad:
    """What a volume is to hold and to bear: bytes, reads of `read_bytes` a second, bytes a second of anything."""

    size_bytes: float
    iops: float
    rate: float
    read_bytes: float

    @property
    def needed_rate(self) -> float:
        """Return the bytes a second that the volume must bear: those of the reads, where they are more than those that are required."""
        return max(self.rate, self.iops * self.read_bytes)


@dataclass(frozen=True)
class Fit:
    """The least number of volumes that are enough: `limits` with how much of each is used, and a year's `bill`, if there is a price."""

    count: int
    gib: float
    iops: float
    mib_s: float
    limits: list[tuple[Limit, float]]
    bill: Bill | None

    @property
    def binds(self) -> Limit:
        return tightest(self.limits)[0]


def fit(name: str, spec: CloudSpec | SsdSpec, load: VolumeLoad, book: Book) -> Fit:
    if isinstance(spec, SsdSpec):
        return _pieces(name, spec, load, book)
    count, each = fewest(spec, load.size_bytes, load.iops, load.rate, load.read_bytes)
    return _volumes(name, count, each, load, book)


def relieved(name: str, spec: CloudSpec | SsdSpec, load: VolumeLoad, count: int, book: Book) -> Bill | None:
    """Return a year's bill for `load` on `count` volumes, which are enough for more; disks inside a machine are as few as are enough.

    Fewer volumes would include less: with a read less the bill could be higher.
    """
    if isinstance(spec, SsdSpec):
        return _pieces(name, spec, load, book).bill
    each = enough(spec, load.size_bytes / count, load.iops / count, load.rate / count, load.read_bytes)
    assert each is not None, "the volumes are enough for more"
    return _volumes(name, count, each, load, book).bill


def _volumes(name: str, count: int, each: CloudSpec, load: VolumeLoad, book: Book) -> Fit:
    requests = load.iops / count * max(1.0, load.read_bytes / each.io_size.base)
    limits = _volume_limits(each, requests, load.needed_rate / count)
    bill = _rent(name, count, (each.capacity.base, each.sold_iops, each.sold_rate), book)
    return Fit(count, each.capacity.base / GIB, each.sold_iops, each.sold_rate / MIB, limits, bill)


def _pieces(name: str, spec: SsdSpec, load: VolumeLoad, book: Book) -> Fit:
    size, rate = spec.capacity.base, spec.read_rate.base
    iops = spec.max_read_iops.base if spec.max_read_iops else inf
    count = max(1, ceil(load.size_bytes / size), ceil(load.iops / iops), ceil(load.needed_rate / rate))
    limits = [
        (Limit(size / GIB * count, "GiB of its disks"), load.size_bytes / GIB),
        (Limit(iops * count, "IOPS of its disks"), load.iops),
        (Limit(rate / MIB * count, "MiB/s of its disks, assumed"), load.needed_rate / MIB),
    ]
    return Fit(count, size / GIB, iops, rate / MIB, limits, _rent(name, count, (size, 0.0, 0.0), book))


def _rent(name: str, count: int, each: tuple[float, float, float], book: Book) -> Bill | None:
    try:
        bill = volume_bill(name, *each) * count
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
    if limits.baseline_per_tib:
        whole = max(rate, iops * each.io_size.base)  # each small request costs a whole one
        found.append((Limit(each.sustained_rate / MIB, f"MiB/s sustained at {limits.baseline_per_tib.value:g} per TiB"), whole / MIB))
    return found
