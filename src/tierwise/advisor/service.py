"""How long a relation's requests of one job take on a device: its recorded requests replayed, or its virtual-time ones at the device's
pace.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, cycle, islice
from statistics import fmean
from typing import ClassVar, Final

from tierwise.core.units import PAGE_BYTES
from tierwise.devices.model import build
from tierwise.devices.protocol import DeviceModel, Operation, ends_s
from tierwise.devices.spec import DeviceSpec
from tierwise.simulate.replay import Access, Trace, lay_out, replay

REQUESTS: Final = 1000
"""A device's pace is the mean of this many requests; so few writes find space in most write caches, as the run's do in bursts (assumed)."""
REPLAYS: Final = 2
"""How often recorded requests are replayed, with the platters at other places when they begin; the mean of the replays counts."""
SEED: Final = 1
HERE: Final = "here"  # name of the one tier of a replay

Build = Callable[[], DeviceModel]  # a function of this type builds a new device of one model


@dataclass(frozen=True)
class NewDevice:
    """Makes devices of `spec` as new; two that are equal make the same ones."""

    spec: DeviceSpec
    seed: int
    stretch: float

    def __call__(self) -> DeviceModel:
        return build(self.spec, seed=self.seed, stretch=self.stretch)


@dataclass(frozen=True)
class Recorded:
    """The very requests of one execution, in their order, one after the other."""

    accesses: Sequence[Access]  # `relation` names the file (a fork has its own)
    sizes_bytes: Mapping[str, int]  # of each file of the query, also of other relations: they lie on the device one after the other

    basis: ClassVar = "recorded"  # how the order of the requests is known: a key of `bases` in ``words.toml``

    @property
    def number(self) -> float:
        """Return the requests that one job makes, a number that may have a fraction."""
        return float(len(self.accesses))

    def service_s(self, build: Build, size_bytes: int) -> float:  # noqa: ARG002  each file has its own
        """Return seconds that they take on the device of `build`, which serves nothing else."""
        if not self.accesses:
            return 0.0
        places, trace, laid = dict.fromkeys(self.sizes_bytes, HERE), Trace(self.accesses), lay_out(self.sizes_bytes)
        starts_s = (random.Random(number).random() for number in range(REPLAYS))
        return fmean(sum(replay(trace, places, {HERE: build()}, laid, started_s=start_s).latencies_s) for start_s in starts_s)


@dataclass(frozen=True)
class Counted:
    """A job's requests as they were counted, of `depth` sessions that all wait for the same device.

    Writes of the log follow each other and each is flushed; other writes are random and none is waited for alone.
    """

    reads: float  # random, uniform over the relation, but for the next
    sequential_reads: float | None  # those that begin where the read before them ended; None: nothing counted them
    read_bytes: float
    writes: float
    write_bytes: float
    depth: int
    log: bool

    @property
    def basis(self) -> str:
        if self.log:
            return "log"
        return "random" if self.sequential_reads is None else "apart"

    @property
    def number(self) -> float:
        return self.reads + self.writes

    def service_s(self, build: Build, size_bytes: int) -> float:
        sequential = self.sequential_reads or 0.0
        read_bytes, write_bytes = (_whole_pages(size, of) for size, of in ((self.read_bytes, self.reads), (self.write_bytes, self.writes)))
        depth = 1 if self.log else self.depth
        spent_s = 0.0
        for amount, operations, request_bytes, scattered in (
            (self.reads - sequential, (Operation.READ,), read_bytes, True),
            (sequential, (Operation.READ,), read_bytes, False),
            (self.writes, (Operation.WRITE, Operation.FLUSH) if self.log else (Operation.WRITE,), write_bytes, not self.log),
        ):
            if amount > 0:
                places = _places(size_bytes, request_bytes, scattered=scattered)
                spent_s += amount * len(operations) * pace_s(build(), operations, places, request_bytes, depth=depth)
        return spent_s


Requests = Recorded | Counted  # what one job asks of one relation


def pace_s(
    device: DeviceModel, operations: Sequence[Operation], places: Iterator[int], size_bytes: int, *, depth: int, requests: int = REQUESTS
) -> float:
    """Return mean seconds from one completion to the next of `requests`, of which `depth` are always waiting, with `operations` in turn."""
    requested = islice(zip(cycle(operations), places, strict=False), requests)
    ended_s = list(ends_s(device, requested, size_bytes, depth))
    return ended_s[-1] / len(ended_s)


def _places(size_bytes: int, request_bytes: int, *, scattered: bool) -> Iterator[int]:
    slots = max(1, size_bytes // request_bytes)
    draw = random.Random(SEED)
    return (draw.randrange(slots) * request_bytes for _ in count()) if scattered else (number % slots * request_bytes for number in count())


def _whole_pages(total_bytes: float, requests: float) -> int:
    """Mean size of a request, in pages; one where nothing counted bytes."""
    return max(1, round(total_bytes / requests / PAGE_BYTES) if requests else 1) * PAGE_BYTES
