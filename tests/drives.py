"""Devices of round figures, and a driver with a fixed number of requests outstanding."""

import math
import random
from collections.abc import Iterator

from tierwise.core.units import MIB, PAGE_BYTES
from tierwise.devices.parameter import Flag, Parameter
from tierwise.devices.protocol import DeviceModel, Operation
from tierwise.devices.spec import ArraySpec, HddSpec, Level, SsdSpec, WriteCache
from tierwise.devices.volume import CloudSpec

Request = tuple[Operation, int, int]  # what is requested: operation, address, size


def p(value: float, unit: str) -> Parameter:
    return Parameter(value=value, unit=unit, source="assumed")


DISK = HddSpec(
    kind="hdd",
    name="a disk of one rate",
    description="",
    capacity=p(500, "GB"),
    rotation=p(7200, "rpm"),
    surfaces=p(4, "1"),
    track_seek=p(1, "ms"),
    average_seek=p(8.5, "ms"),
    full_seek=p(18, "ms"),
    outer_rate=p(80, "MB/s"),
    inner_rate=p(80, "MB/s"),
    interface_rate=p(300, "MB/s"),
    overhead=p(0, "ms"),
    read_ahead=p(1, "MiB"),
)
TURN_S = 1 / 120

FLASH = SsdSpec(
    kind="ssd",
    name="flash",
    description="",
    capacity=p(100, "GB"),
    channels=p(4, "1"),
    read_latency=p(100, "us"),
    write_latency=p(200, "us"),
    flush_latency=p(50, "us"),
    read_rate=p(500, "MB/s"),
    write_rate=p(250, "MB/s"),
)
SINGLE = FLASH.model_copy(update={"channels": p(1, "1")})
READ_S, WRITE_S = 100e-6 + PAGE_BYTES / 500e6, 200e-6 + PAGE_BYTES / 250e6


class Fixed:
    """A device that takes the same time for everything, however much there is to do, and notes what it was requested, and when."""

    def __init__(self, service_s: float = 1e-3, capacity_bytes: int = 10 * MIB):
        self.capacity_bytes, self._service_s = capacity_bytes, service_s
        self.reset()

    def reset(self) -> None:
        self.requested: list[tuple[float, Operation, int, int]] = []
        self._out: list[tuple[float, int]] = []

    def submit(self, now_s: float, tag: int, operation: Operation, address_bytes: int, size_bytes: int) -> None:
        assert address_bytes + size_bytes <= self.capacity_bytes
        self.requested.append((now_s, operation, address_bytes, size_bytes))
        self._out.append((now_s + self._service_s, tag))

    def next_event_s(self) -> float:
        return self._out[0][0] if self._out else math.inf

    def advance(self, now_s: float) -> list[tuple[int, float]]:
        done = [(tag, done_s) for done_s, tag in self._out if done_s <= now_s]
        self._out = [(done_s, tag) for done_s, tag in self._out if done_s > now_s]
        return done


def array_of(
    level: str,
    members: int,
    cache: WriteCache | None = None,
    member: HddSpec | SsdSpec | CloudSpec = DISK,
    *,
    max_iops: float | None = None,
    max_rate_mb_s: float | None = None,
) -> ArraySpec:
    return ArraySpec(
        kind="array",
        name="",
        description="",
        member=member,
        level=Level.model_validate({"value": level, "source": "assumed"}),
        members=p(members, "1"),
        stripe=None if level == "raid1" else p(64, "KiB"),
        max_iops=p(max_iops, "IOPS") if max_iops else None,
        max_rate=p(max_rate_mb_s, "MB/s") if max_rate_mb_s else None,
        write_cache=cache,
    )


def cache(*, battery: bool, size_kib: int = 1024) -> WriteCache:
    return WriteCache(battery_backed=Flag(value=battery, source="assumed"), size=p(size_kib, "KiB"), latency=p(10, "us"))


def drive(model: DeviceModel, requests: Iterator[Request], *, depth: int = 1, think_s: float = 0.0) -> list[float]:
    began: dict[int, float] = {}
    took, now_s = [], 0.0
    for tag, (operation, address, size) in enumerate(requests):
        while len(began) == depth:
            for done, done_s in model.advance(model.next_event_s()):
                took.append(done_s - began.pop(done))
                now_s = done_s + think_s
        began[tag] = now_s
        model.submit(now_s, tag, operation, address, size)
    while began:
        for done, done_s in model.advance(model.next_event_s()):
            took.append(done_s - began.pop(done))
    return took


def anywhere(model: DeviceModel, count: int, *, operation: Operation = Operation.READ, seed: int = 1) -> Iterator[Request]:
    chance = random.Random(seed)
    return ((operation, chance.randrange(model.capacity_bytes // PAGE_BYTES) * PAGE_BYTES, PAGE_BYTES) for _ in range(count))


def in_order(size: int, total: int) -> Iterator[Request]:
    return ((Operation.READ, address, size) for address in range(0, total, size))


def iops(model: DeviceModel, requests: Iterator[Request], *, depth: int) -> float:
    took = drive(model, requests, depth=depth)
    return depth * len(took) / sum(took)


def apart(done: list[tuple[int, float]]) -> tuple[list[int], object]:
    """Return the tags and the times of completions, because only times are compared approximately."""
    return [tag for tag, _ in done], [done_s for _, done_s in done]
