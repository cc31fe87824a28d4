"""Volumes over a network: what was paid for, what a provider sells at most of it, the smallest that is enough, and the model."""

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, Self

from pydantic import Field, ValidationInfo, field_validator

from tierwise.core.dates import first_day
from tierwise.core.errors import InputError
from tierwise.core.toml import Strict
from tierwise.core.units import GIB, MIB
from tierwise.devices.instances import InstanceLimits
from tierwise.devices.parameter import Density, Flag, Frequency, Parameter, Rate, Size, Sourced, Time, Turnover
from tierwise.devices.protocol import KnownCompletions, Operation, RateLimit

PROVISIONED = "as provisioned"  # the source of what is chosen in the name of a volume


class Limit(NamedTuple):
    value: float
    rule: str


class Burst(Strict):
    """Credits that a volume saves while it is used less than its baseline."""

    baseline: Rate = Field(description="at which credits come in, and at which the volume goes on without any")
    credits: Size = Field(description="most that can be saved; a volume begins with them")


class SizeStep(Strict):
    size: Size
    iops: Frequency | None = None
    rate: Rate


class EarlierLimits(Sourced):
    since: str
    until: str
    largest: Size
    iops: Frequency
    rate: Rate


class Provisioned(Strict):
    """What is sold of volumes whose IOPS and throughput do not come with their size: bytes, requests and bytes a second of one."""

    smallest: float
    largest: float
    iops: float
    least_iops: float
    floor_by_size: bool
    iops_per_byte: float | None
    rate: float
    least_rate: float
    bytes_per_request: float | None

    def each(self, size_bytes: float, iops: float, rate: float) -> tuple[float, float, float] | None:
        """Return size, IOPS and bytes a second of the smallest volume that bears the load; `None` if none does. GiB are sold whole."""
        rate = max(rate, self.least_rate)
        iops = max(iops, rate / self.bytes_per_request if self.bytes_per_request else 0.0)
        if self.iops_per_byte and (self.floor_by_size or iops > self.least_iops):
            size_bytes = max(size_bytes, iops / self.iops_per_byte)
        size_bytes = _whole(max(size_bytes, self.smallest) / GIB) * GIB
        floor = min(self.least_iops, self.iops_per_byte * size_bytes) if self.floor_by_size and self.iops_per_byte else self.least_iops
        iops = max(iops, floor)
        return (size_bytes, iops, rate) if size_bytes <= self.largest and iops <= self.iops and rate <= self.rate else None


class VolumeLimits(Strict):
    """What a provider sells at most; a rule that a provider does not have is absent."""

    since: str | None = Field(default=None, description="day from which they hold; absent: known as of the day of their page")

    smallest: Size
    largest: Size
    iops: Frequency = Field(description="of one volume")
    iops_floor: Frequency | None = None  # the least that can be provisioned, whatever the size; whether it is included says its price
    iops_per_gib: Density | None = None
    floor_by_size: Flag | None = Field(default=None, description="yes: a volume too small for iops_floor has iops_per_gib and no more")
    iops_burst: Frequency | None = Field(default=None, description="up to which a volume bursts whose IOPS come with its size")
    iops_burst_time: Time | None = Field(default=None, description="at iops_burst, paid from credits alone")
    steps: tuple[SizeStep, ...] = Field(default=(), description="what comes with the size, by rising size")
    sold_in_steps: Flag | None = Field(default=None, description="yes: no other sizes than those of the steps are sold")
    rate: Rate = Field(description="of one volume")
    rate_floor: Rate | None = Field(default=None, description="included in any size; absent: the rate is not provisioned, it comes along")
    rate_per_iops: Size | None = Field(default=None, description="bytes a second for each request a second")
    rate_per_tib: Turnover | None = None  # with baseline_per_tib: both come with the size, neither is provisioned
    baseline_per_tib: Turnover | None = Field(default=None, description="of a volume that bursts up to rate_per_tib")

    @property
    def with_size(self) -> bool:
        """Return whether the IOPS come with the size, so that none can be provisioned."""
        return bool(self.rate_per_tib or self.iops_burst or self.sold_in_steps)

    def least_iops(self, size_bytes: float) -> float:
        floor = self.iops_floor.base if self.iops_floor else 0.0
        return min(floor, self.iops_per_gib.base * size_bytes) if self.floor_by_size and self.iops_per_gib else floor

    @property
    def least_rate(self) -> float:
        return self.rate_floor.base if self.rate_floor else 0.0

    @property
    def provisioned(self) -> Provisioned:
        return Provisioned(
            smallest=self.smallest.base,
            largest=self.largest.base,
            iops=self.iops.base,
            least_iops=self.iops_floor.base if self.iops_floor else 0.0,
            floor_by_size=bool(self.floor_by_size),
            iops_per_byte=self.iops_per_gib.base if self.iops_per_gib else None,
            rate=self.rate.base,
            least_rate=self.least_rate,
            bytes_per_request=self.rate_per_iops.base if self.rate_per_iops else None,
        )

    def iops_of(self, size_bytes: float) -> Limit:
        by_size = max(self.least_iops(size_bytes), self.iops_per_gib.base * size_bytes) if self.iops_per_gib else math.inf
        step = self._step(size_bytes)
        by_step = step.iops.base if step and step.iops else math.inf
        return min(Limit(self.iops.base, "IOPS per volume"), Limit(by_size, "IOPS per GiB"), Limit(by_step, "IOPS of its size"))

    def rate_of(self, size_bytes: float, iops: float) -> Limit:
        by_iops = self.rate_per_iops.base * iops if self.rate_per_iops else math.inf
        by_size = self.rate_per_tib.base * size_bytes if self.rate_per_tib else math.inf
        step = self._step(size_bytes)
        of_one = Limit(min(self.rate.base, step.rate.base if step else math.inf), "throughput per volume")
        return min(of_one, Limit(by_iops, "throughput per IOPS"), Limit(by_size, "throughput per TiB"))

    def _step(self, size_bytes: float) -> SizeStep | None:
        reached = (step for step in reversed(self.steps) if step.size.base <= size_bytes * (1 + 1e-9))
        return next(reached, self.steps[0] if self.steps else None)

    def sold_size(self, size_bytes: float) -> float:
        """Return the size that is billed: the next that is sold."""
        if not self.sold_in_steps:
            return size_bytes
        return next((step.size.base for step in self.steps if step.size.base >= size_bytes * (1 - 1e-9)), size_bytes)


class CloudSpec(Strict):
    """A volume over a network, with the requests and bytes a second that were paid for, as far as its provider sells them."""

    kind: Literal["cloud"]
    name: str
    description: str
    capacity: Size
    read_latency: Time = Field(description="median, or mean where only that is published")
    write_latency: Time = Field(description="until the write is durable: there is nothing to flush")
    read_latency_p99: Time | None = Field(default=None, description="99th percentile, where one is published")
    max_iops: Frequency = Field(description="provisioned, or what comes with the size")
    max_rate: Rate = Field(description="provisioned, or what comes with the size")
    io_size: Size = Field(description="most that counts as one request; requests that follow each other are counted together")
    limits: VolumeLimits
    earlier: tuple[EarlierLimits, ...] = Field(default=(), description="limits of other days")
    burst: Burst | None = None  # absent: max_rate can be sustained; credits are spent in whole requests of io_size
    instance: InstanceLimits | None = Field(default=None, description="the machine that it hangs on; absent: one that takes all of it")

    @field_validator("burst")
    @classmethod
    def _above_its_baseline(cls, burst: Burst | None, info: ValidationInfo) -> Burst | None:
        rate = info.data.get("max_rate")
        if burst and rate and burst.baseline.base >= rate.base:
            raise ValueError("its baseline must be below max_rate")
        return burst

    @property
    def sold_iops(self) -> float:
        """Return the requests a second that are provisioned and billed: never more than the provider sells on such a size."""
        return min(self.max_iops.base, self.limits.iops_of(self.capacity.base).value)

    @property
    def sold_rate(self) -> float:
        return min(self.max_rate.base, self.limits.rate_of(self.capacity.base, self.sold_iops).value)

    @property
    def iops(self) -> float:
        """Return the requests a second that arrive: what was sold, as far as the instance takes it."""
        return min(self.sold_iops, self.instance.max_iops.base if self.instance else math.inf)

    @property
    def rate(self) -> float:
        return min(self.sold_rate, self.instance.max_rate.base if self.instance else math.inf)

    @property
    def sustained_rate(self) -> float:
        return min(self.rate, self.burst.baseline.base) if self.burst else self.rate

    def as_of(self, day: dt.date) -> tuple[Self, bool]:
        """Return the volume with the limits of `day`, and whether they are known: the limits of the file stand for those that are not."""
        for old in self.earlier:
            if first_day(old.since) <= day < first_day(old.until):
                changed = {name: getattr(old, name) for name in ("largest", "iops", "rate")}
                return self.model_copy(update={"limits": self.limits.model_copy(update=changed)}), True
        since = self.limits.since or self.limits.iops.date
        return self, since is None or day >= first_day(since)

    def with_size(self, size_bytes: float, iops: float, rate: float) -> Self:
        """Return the same volume of another size; a rate that comes with size or requests is what the limits say, whatever `rate` is."""
        limits = self.limits
        if limits.rate_floor is None:
            rate = limits.rate_of(size_bytes, iops).value
        baseline = min(rate, limits.baseline_per_tib.base * size_bytes) if limits.baseline_per_tib else rate
        burst = Burst(baseline=_given(baseline / MIB, "MiB/s"), credits=_given(size_bytes / GIB, "GiB")) if baseline < rate else None
        capacity, max_iops, max_rate = _given(size_bytes / GIB, "GiB"), _given(iops, "IOPS"), _given(rate / MIB, "MiB/s")
        return self.model_copy(update={"capacity": capacity, "max_iops": max_iops, "max_rate": max_rate, "burst": burst})


def _given(value: float, unit: str) -> Parameter:
    return Parameter(value=value, unit=unit, source=PROVISIONED)


def sold(spec: CloudSpec, amounts: Mapping[str, float], text: str) -> CloudSpec:
    """Return `spec` with the size (bytes), frequency (1/s) and rate (bytes/s) of `amounts`; `text` is the name as it was written."""
    limits = spec.limits
    size = limits.sold_size(amounts.get("size", spec.capacity.base))
    _within(text, "GiB", size / GIB, limits.smallest.base / GIB, Limit(limits.largest.base / GIB, "size of a volume"))
    most = limits.iops_of(size)
    iops = amounts.get("frequency", most.value if limits.with_size else min(spec.max_iops.base, most.value))
    fixed = [name for name, comes in (("rate", not limits.rate_floor), ("frequency", limits.with_size)) if comes]
    if any(name in amounts for name in fixed):
        comes = "size" if limits.with_size else "IOPS"
        rule = f"the {' and '.join(fixed)} of {spec.name} is not provisioned: it comes with its {comes}"
        raise InputError("device", value=text, rule=rule)
    _within(text, "IOPS", iops, limits.least_iops(size), most)
    highest = limits.rate_of(size, iops)
    rate = amounts.get("rate", min(spec.max_rate.base, highest.value))
    _within(text, "MiB/s", rate / MIB, limits.least_rate / MIB, Limit(highest.value / MIB, highest.rule))
    return spec.with_size(size, iops, rate)


def _within(text: str, unit: str, amount: float, least: float, most: Limit) -> None:
    if not least <= amount <= most.value * (1 + 1e-9):
        rule = f"{amount:,.6g} {unit} is not sold: {least:,.6g} to {most.value:,.6g} {unit} ({most.rule})"
        raise InputError("device", value=text, rule=rule, remedy="choose another size, or less")


def enough(spec: CloudSpec, size_bytes: float, iops: float, rate: float, io_bytes: float) -> CloudSpec | None:
    """Return the smallest volume like `spec`, of whole GiB, that sustains `iops` requests of `io_bytes` and `rate` bytes a second, if any.

    A volume grows where its IOPS or its throughput come with its size, and gets more IOPS where its throughput comes with those.
    """
    limits = spec.limits
    iops *= max(1.0, io_bytes / spec.io_size.base)
    rate = max(rate, iops * min(io_bytes, spec.io_size.base))
    if limits.baseline_per_tib:
        rate = max(rate, iops * spec.io_size.base)  # a small request costs as much as a whole one
        size_bytes = max(size_bytes, rate / limits.baseline_per_tib.base)
        iops = limits.iops.base if iops <= limits.iops.base else iops
    elif limits.with_size:
        size_bytes = _comes_with(limits, size_bytes, iops, rate)
        iops = max(iops, limits.iops_of(size_bytes).value)
    else:
        each = limits.provisioned.each(size_bytes, iops, rate)
        return None if each is None else spec.with_size(*each)
    if size_bytes > limits.largest.base:
        return None
    size_bytes = limits.sold_size(_whole(max(size_bytes, limits.smallest.base) / GIB) * GIB)
    iops = max(iops, limits.least_iops(size_bytes))
    if size_bytes > limits.largest.base or iops > limits.iops.base or rate > limits.rate.base:
        return None
    return spec.with_size(size_bytes, iops, rate)


def _comes_with(limits: VolumeLimits, size_bytes: float, iops: float, rate: float) -> float:
    if limits.iops_per_gib and iops > limits.least_iops(size_bytes):
        size_bytes = max(size_bytes, iops / limits.iops_per_gib.base)
    fitting = (step.size.base for step in limits.steps if step.rate.base >= rate and (step.iops is None or step.iops.base >= iops))
    return max(size_bytes, next(fitting, math.inf if limits.steps else 0.0))


def _whole(amount: float) -> int:
    """Round up, but for what rounding made of a whole number."""
    return math.ceil(amount * (1 - 1e-12))


def fewest(spec: CloudSpec, size_bytes: float, iops: float, rate: float, io_bytes: float) -> tuple[int, CloudSpec]:
    """Return (how many, each) of the fewest volumes like `spec` that share the load of `enough` between them."""
    limits = spec.limits
    count = max(1, *map(_whole, (size_bytes / limits.largest.base, iops / limits.iops.base, rate / limits.rate.base)))
    while (each := enough(spec, size_bytes / count, iops / count, rate / count, io_bytes)) is None:
        count += 1
    return count, each


def tightest(limits: Sequence[tuple[Limit, float]]) -> tuple[Limit, float]:
    """Return the limit that is used to the greatest share, and that share, among (limit, how much of it is used)."""
    limit, used = max(limits, key=lambda each: each[1] / each[0].value)
    return limit, used / limit.value


class Cloud(KnownCompletions):
    """The volume of `spec`. A request counts once for each `io_size` it begins, or for its share if it continues the one before."""

    def __init__(self, spec: CloudSpec):
        self._spec = spec
        self.capacity_bytes = int(spec.capacity.base)
        self._read_s, self._write_s = spec.read_latency.base, spec.write_latency.base
        self._io_bytes = spec.io_size.base
        self.reset()

    def reset(self) -> None:
        super().reset()
        spec, burst = self._spec, self._spec.burst
        self._iops, self._rate = RateLimit(spec.iops), RateLimit(spec.rate)
        self._credits = RateLimit(spec.sustained_rate, saved=burst.credits.base) if burst else None
        self._end = -1  # of the request before
        self._written_s = -math.inf

    def submit(self, now_s: float, tag: int, operation: Operation, address_bytes: int, size_bytes: int) -> None:
        if operation is Operation.FLUSH:
            self._will_be_done(max(now_s, self._written_s), tag)
            return
        requests = size_bytes / self._io_bytes
        if address_bytes != self._end:
            requests = math.ceil(requests)
        self._end = address_bytes + size_bytes
        enter_s = max(self._iops.enter(now_s, requests), self._rate.enter(now_s, size_bytes))
        if self._credits:
            enter_s = max(enter_s, self._credits.enter(now_s, requests * self._io_bytes))
        if operation is Operation.READ:
            done_s = enter_s + self._read_s
        else:
            done_s = enter_s + self._write_s
            self._written_s = max(self._written_s, done_s)
        self._will_be_done(done_s, tag)
