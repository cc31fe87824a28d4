"""How many random reads, or bytes in order, a device sustains a second: of its model, or of its data sheet; never one for the other."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import count, islice
from math import inf
from typing import Final

from tierwise.core.errors import MissingError
from tierwise.core.units import KIB, MIB
from tierwise.core.words import Substrate
from tierwise.devices.model import build
from tierwise.devices.parameter import ASSUMED
from tierwise.devices.protocol import DeviceModel, Operation
from tierwise.devices.spec import SsdSpec, load_device
from tierwise.devices.volume import PROVISIONED, CloudSpec

OUTSTANDING: Final = 1024
"""Reads that are always waiting: more than any device of ``data/devices`` needs to be busy."""
READS: Final = 3000
READ_BYTES: Final = 4 * KIB
"""What data sheets state random reads of."""
SEED: Final = 1
STRETCHES: Final = 16
STRETCH_BYTES: Final = 32 * MIB
REQUEST_BYTES: Final = 128 * KIB
"""The kernel's read-ahead by default."""
AHEAD: Final = 4


@dataclass(frozen=True)
class Iops:
    """Reads a second, and how the number came to be."""

    value: float
    substrate: Substrate


def device_iops(name: str, substrate: Substrate = Substrate.SIMULATED, *, size_bytes: int = READ_BYTES) -> Iops:
    """Return how many random reads of `size_bytes` a second the device `name` delivers, saturated.

    Raises:
        MissingError: `published` is asked for and no data sheet's figure of that size was read.
    """
    if substrate is Substrate.SIMULATED:
        return Iops(simulated_iops(name, size_bytes), substrate)
    spec = load_device(name)
    stated = spec.max_read_iops if isinstance(spec, SsdSpec) else spec.max_iops if isinstance(spec, CloudSpec) else None
    if stated is None or stated.source in {ASSUMED, PROVISIONED} or stated.fitted_on or size_bytes != READ_BYTES:
        why = f"data/devices/{name}.toml has no such figure that was read"
        raise MissingError(f"published IOPS of {name} at {size_bytes} bytes", why=why, remedy="simulated ones")
    return Iops(stated.base, Substrate.PUBLISHED)


@cache
def simulated_iops(name: str, size_bytes: int = READ_BYTES, *, seed: int = SEED) -> float:
    """Simulate how many random reads a second the device serves all over its model, `OUTSTANDING` at a time: the mean of `READS` after as
    many as wait."""
    device, places = build(load_device(name), seed=seed), random.Random(seed)
    pages = device.capacity_bytes // size_bytes
    everywhere = (places.randrange(pages) * size_bytes for _ in count())
    ends_s = list(islice(_ends_s(device, everywhere, size_bytes, OUTSTANDING), OUTSTANDING + READS))
    return READS / (ends_s[-1] - ends_s[OUTSTANDING - 1])


@cache
def simulated_rate(name: str) -> float:
    """Simulate how many bytes a second the device gives in order, with `AHEAD` requests waiting: the harmonic mean of stretches all over
    the device's model."""
    device = build(load_device(name), seed=SEED)
    spent_s = 0.0
    for stretch in range(STRETCHES):
        first = device.capacity_bytes * stretch // STRETCHES // STRETCH_BYTES * STRETCH_BYTES
        device.reset()
        *_, end_s = _ends_s(device, iter(range(first, first + STRETCH_BYTES, REQUEST_BYTES)), REQUEST_BYTES, AHEAD)
        spent_s += end_s
    return STRETCHES * STRETCH_BYTES / spent_s


def _ends_s(device: DeviceModel, places: Iterator[int], size_bytes: int, outstanding: int) -> Iterator[float]:
    """When each read of `places` ends, `outstanding` of them always waiting until there are no more."""
    for tag, place in enumerate(islice(places, outstanding)):
        device.submit(0.0, tag, Operation.READ, place, size_bytes)
    while (event_s := device.next_event_s()) < inf:
        for tag, end_s in device.advance(event_s):
            yield end_s
            for place in islice(places, 1):
                device.submit(end_s, tag, Operation.READ, place, size_bytes)
