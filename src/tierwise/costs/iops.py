"""How many random reads, or bytes in order, a device sustains a second: of its model, or of its data sheet; never one for the other."""

import hashlib
import random
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from itertools import count, islice
from pathlib import Path
from types import MappingProxyType
from typing import Final

from tierwise.core import paths
from tierwise.core.errors import MissingError
from tierwise.core.files import write_whole
from tierwise.core.units import KIB, MIB
from tierwise.core.vocabulary import Evidence
from tierwise.costs.hardware import Medium, medium
from tierwise.devices.model import build
from tierwise.devices.parameter import ASSUMED
from tierwise.devices.protocol import Operation, ends_s
from tierwise.devices.spec import SsdSpec, load_device
from tierwise.devices.volume import PROVISIONED, CloudSpec

LATENCY_MS: Final[Mapping[Medium, float]] = MappingProxyType({"ssd": 2.0, "hdd": 30.0})
"""Medium -> the longest average latency of a read at the rate that a device is credited with (assumed): that of two to three reads of
a disk, and of two reads of a network volume. Without such a limit, a disk is credited with a rate at which each read waits for seconds."""
OUTSTANDING: Final = 1024  # the most reads that are always waiting: more than any device of ``data/devices`` needs to be busy
READS: Final = 3000
READ_BYTES: Final = 4 * KIB  # what data sheets state random reads of
SEED: Final = 1
STRETCHES: Final = 16
STRETCH_BYTES: Final = 32 * MIB
REQUEST_BYTES: Final = 128 * KIB  # the kernel's read-ahead by default
AHEAD: Final = 4


@dataclass(frozen=True)
class Iops:
    value: float
    evidence: Evidence


def device_iops(name: str, evidence: Evidence = Evidence.SIMULATED, *, latency_ms: float | None = None) -> Iops:
    """Return how many random reads of 4 KiB a second the device `name` delivers: simulated or as its data sheet has them.

    Simulated reads take at most `latency_ms`, by default that of the medium. A device that is slower is refused, and one whose data sheet
    gives no figure.
    """
    if evidence is Evidence.SIMULATED:
        limit_ms = latency_limit_ms(name, latency_ms)
        reads_per_s = simulated_iops(name, latency_ms=limit_ms)
        if (alone_ms := 1e3 / reads_per_s) > limit_ms:
            what = f"IOPS of {name} within {limit_ms:g} ms"
            raise MissingError(what, why=f"a single read already takes {alone_ms:.3g} ms", remedy="give a longer latency")
        return Iops(reads_per_s, evidence)
    spec = load_device(name)
    stated = spec.max_read_iops if isinstance(spec, SsdSpec) else spec.max_iops if isinstance(spec, CloudSpec) else None
    if stated is None or stated.source in {ASSUMED, PROVISIONED} or stated.fitted_on:
        why = f"data/devices/{name}.toml has no such number with a source"
        raise MissingError(f"published IOPS of {name} at {READ_BYTES} bytes", why=why, remedy="use simulated IOPS")
    return Iops(stated.base, Evidence.PUBLISHED)


def latency_limit_ms(name: str, latency_ms: float | None = None) -> float:
    return LATENCY_MS[medium(name)] if latency_ms is None else latency_ms


@cache
def simulated_iops(name: str, *, latency_ms: float | None = None) -> float:
    """Simulate how many random reads a second the device serves all over its model while they take at most `latency_ms` on average, by
    default that of the medium.

    As many wait as this allows, one at least and no more than `OUTSTANDING`: the latency is their number over the rate.
    """
    limit_ms = latency_limit_ms(name, latency_ms)
    what = f"iops {READ_BYTES} {SEED} {limit_ms} {load_device(name).model_dump_json()}"
    return cached_rate(what, lambda: _within(limit_ms, name))


def _within(latency_ms: float, name: str) -> float:
    rate = cache(partial(_sustained, name))

    def waits_ms(outstanding: int) -> float:
        return outstanding / rate(outstanding) * 1e3

    fits, over = 1, OUTSTANDING + 1
    while over - fits > 1:
        # a line through two waiting times, and Little's law (the rate does not fall as more wait), come close in few simulations
        little, far = latency_ms / 1e3 * rate(fits), over if over <= OUTSTANDING else 1
        rises_ms = waits_ms(far) - waits_ms(fits)
        on_line = fits + (latency_ms - waits_ms(fits)) / rises_ms * (far - fits) if rises_ms else 0.0
        guess = int(min(max(on_line, little, fits + 1), over - 1))
        if waits_ms(guess) <= latency_ms:
            fits = guess
        else:
            over = guess
    return rate(fits)


def _sustained(name: str, outstanding: int) -> float:
    device, places = build(load_device(name), seed=SEED), random.Random(SEED)
    pages = device.capacity_bytes // READ_BYTES
    everywhere = ((Operation.READ, places.randrange(pages) * READ_BYTES) for _ in count())
    found_s = list(islice(ends_s(device, everywhere, READ_BYTES, outstanding), outstanding + READS))
    return READS / (found_s[-1] - found_s[outstanding - 1])


@cache
def simulated_rate(name: str) -> float:
    """Simulate bytes a second in order, with `AHEAD` requests waiting: the harmonic mean of stretches all over the model."""
    return cached_rate(f"rate {load_device(name).model_dump_json()}", lambda: _in_order(name))


def _in_order(name: str) -> float:
    device = build(load_device(name), seed=SEED)
    spent_s = 0.0
    for stretch in range(STRETCHES):
        first = device.capacity_bytes * stretch // STRETCHES // STRETCH_BYTES * STRETCH_BYTES
        device.reset()
        in_order = ((Operation.READ, place) for place in range(first, first + STRETCH_BYTES, REQUEST_BYTES))
        *_, end_s = ends_s(device, in_order, REQUEST_BYTES, AHEAD)
        spent_s += end_s
    return STRETCHES * STRETCH_BYTES / spent_s


def cached_rate(what: str, simulate: Callable[[], float]) -> float:
    """Return the number that `simulate` gives, kept by `what` (all of its inputs), the code and this Python, where files can be written."""
    if paths.installed():
        return simulate()  # a wheel is not written into
    named = hashlib.sha256(f"{_code()}\n{sys.version}\n{what}".encode()).hexdigest()
    place = paths.home() / "report" / "_build" / "rates" / named
    with suppress(OSError, ValueError):  # none yet, or what is no number
        return float(place.read_text(encoding="utf-8"))
    found = simulate()
    with suppress(OSError):  # another's checkout, or a full disk
        write_whole(place, repr(found))
    return found


@cache
def _code() -> str:
    package = Path(str(files("tierwise")))
    modules = [*sorted((package / "core").glob("*.py")), *sorted((package / "devices").glob("*.py")), package / "costs" / "iops.py"]
    return hashlib.sha256(b"\0".join(path.name.encode() + b"\0" + path.read_bytes() for path in modules)).hexdigest()
