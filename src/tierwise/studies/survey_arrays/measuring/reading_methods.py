"""The survey's scans at the published size, simulated: which way of reading gives the published times?

Every way changes one thing of an ideal reading: the whole table in requests of 512 KiB, eight outstanding, in order of address. No value
is fitted: all steps were chosen before, and all are reported.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pydantic import Field

from tierwise.bench.order import replicate_seed
from tierwise.bench.testbed import Testbed
from tierwise.core.progress import Progress
from tierwise.core.toml import Strict
from tierwise.core.units import KIB, PAGE_BYTES
from tierwise.core.vocabulary import Evidence
from tierwise.simulate.table_reads import Reading, duration_s, lookups, parts_in_order, whole
from tierwise.tiers.open import device_model
from tierwise.timings.replicates import REPLICATES

IDEAL_REQUEST_BYTES: Final = 512 * KIB
IDEAL_DEPTH: Final = 8
"""One for each drive; with 32 the simulated disks' reordering makes them lose turns and up to twice as slow, though not with every seed."""
OURS_REQUEST_BYTES: Final = 128 * KIB  # PostgreSQL 18's largest request (io_combine_limit)
REQUESTS_KIB: Final = (8, 16, 32, 64, 128, 256)
FRAGMENTED: Final = (0.01, 0.1, 1.0)
OURS: Final = "as PostgreSQL reads here"
IDEAL: Final = "ideal"


class Hunt(Strict):
    requests: int = Field(default=256, ge=16, description="of each reading")
    seeds: int = Field(default=5, ge=1)


@dataclass(frozen=True, slots=True)
class Query:
    """A query at the published size: pages that the live plan reads of table and indexes, in proportion, and rows found."""

    name: str
    form: str
    scanned: bool  # the plan reads the whole table
    heap_pages: float
    index_pages: float
    rows: float


def ways(query: Query, table_bytes: float) -> Iterator[tuple[str, list[Reading]]]:
    """Yield (name, readings in sequence); the first two are no way of the hunt: this server's, and the ideal."""
    ideal = whole(table_bytes, request_bytes=IDEAL_REQUEST_BYTES, depth=IDEAL_DEPTH)
    if query.scanned:
        yield OURS, [whole(table_bytes, request_bytes=OURS_REQUEST_BYTES)]
    else:
        index = whole(query.index_pages * PAGE_BYTES, request_bytes=PAGE_BYTES)
        yield OURS, [index, parts_in_order(query.heap_pages * PAGE_BYTES, table_bytes, request_bytes=OURS_REQUEST_BYTES)]
    yield IDEAL, [ideal]
    for size_kib in REQUESTS_KIB:
        yield f"requests of {size_kib} KiB", [whole(table_bytes, request_bytes=size_kib * KIB, depth=IDEAL_DEPTH)]
    yield "one request at a time", [replace(ideal, depth=1)]
    for share in FRAGMENTED:
        yield f"fragmented, {100 * share:g} % of the requests elsewhere", [replace(ideal, scattered=share)]
    yield "a lookup for each row found", [lookups(query.rows, depth=IDEAL_DEPTH)]


def published_size(testbed: Testbed, queries: Sequence[Query], hunt: Hunt, *, table_bytes: float) -> list[dict[str, Any]]:
    """Return seconds of every query, way and tier, by seed, on devices that hold the whole table, unstretched; real disks are left out."""
    seeds = [replicate_seed(testbed.seed, number) for number in range(hunt.seeds)]
    tiers = []
    for name, spec in testbed.pair.tiers.items():
        device = device_model(spec, stretch=1.0, seed=testbed.seed)
        if device is not None and device.capacity_bytes > table_bytes:
            tiers.append(name)

    def took_s(tier: str, reading: Reading, seed: int) -> float:
        device = device_model(testbed.pair.tiers[tier], stretch=1.0, seed=seed)
        assert device is not None, "the tiers were chosen for their devices"
        return duration_s(device, reading, table_bytes, requests=hunt.requests, seed=seed)

    known: dict[tuple[str, Reading], list[float]] = {}
    found = []
    progress = Progress("simulating the published size", len(queries))
    for query in queries:
        for way, readings in ways(query, table_bytes):
            seconds: dict[str, list[float]] = {}
            for tier in tiers:
                for reading in readings:
                    if (tier, reading) not in known:  # queries share the readings of the whole table
                        known[tier, reading] = [took_s(tier, reading, seed) for seed in seeds]
                seconds[tier] = [sum(parts) for parts in zip(*(known[tier, reading] for reading in readings), strict=True)]
            found.append(
                {
                    "query": query.name,
                    "form": query.form,
                    "method": way,
                    "hunted": way not in {OURS, IDEAL},
                    "evidence": str(Evidence.SIMULATED),
                    REPLICATES: list(range(hunt.seeds)),
                    "seconds": seconds,
                    "bytes": sum(reading.requests * reading.request_bytes for reading in readings),
                }
            )
        progress.step()
    return found
