"""Source R: how many reads a second does a database in front of a disk, or of an SSD, deliver as it outgrows the RAM?

The published benchmark, simulated (`tierwise.simulate.zipf`): eight threads read a file of each size through mmap, by a scrambled Zipfian,
for ten minutes from dropped caches and ten more. A row is ten seconds of it, kept as it came; at a scale of 64 these are 10/64 s.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final

import polars as pl
from pydantic import Field

from tierwise.bench.simulation import SimulatedStudy
from tierwise.bench.study import Trial
from tierwise.core.errors import EvidenceError, InputError
from tierwise.core.pairs import DirectoryTier, Pair
from tierwise.core.profiles import Profile
from tierwise.core.toml import Strict
from tierwise.core.units import GIB
from tierwise.core.words import CacheState, IoArm, Substrate
from tierwise.devices.spec import load_device
from tierwise.simulate import che
from tierwise.simulate.machine import load_machine
from tierwise.simulate.zipf import INTERVAL_S, ITEM_BYTES, PAGE_BYTES, WARM_UP_S, Benchmark, is_rotational
from tierwise.simulate.zipfian import THETA
from tierwise.timings.schema import RelationIo, TierIo, Timing

NAME: Final = "ram_or_ssd"
OPERATION: Final = "read 1 KiB through mmap"
FILE: Final = "file"
VALUES_OVER_INDEX: Final = 10
"""The source's rule of thumb: indexes are ten times smaller than values."""


class Grid(Strict):
    """What a profile asks of this study: ``[studies.ram_or_ssd]``."""

    dataset_gib: tuple[int, ...] = Field(default=(2, 4, 8, 12, 16, 24, 32, 48, 64), min_length=1)
    scale: int = Field(default=64, ge=1, description="64 simulates 1/64 of sizes and time")


def trials(profile: Profile, pair: Pair) -> tuple[Trial, ...]:
    """Each size on each drive."""
    grid = profile.study(NAME, Grid)
    return tuple(
        Trial(
            cell={"tier": tier, "dataset_gib": size_gib, "scale": grid.scale},
            arm=IoArm.BUFFERED,
            tiers=frozenset({tier}),
            preparation="none",
        )
        for tier in sorted(pair.tiers)
        for size_gib in grid.dataset_gib
    )


def simulate(trial: Trial, pair: Pair, seed: int) -> Iterator[Timing]:
    """A row for every ten seconds, from dropped caches on."""
    tier, scale = str(trial.cell["tier"]), int(trial.cell["scale"])
    benchmark = _benchmark(pair, tier, int(trial.cell["dataset_gib"]), scale)
    started_at = datetime.now(UTC)
    series = benchmark.run(seed)
    for number, (operations, misses, reads) in enumerate(zip(series.operations, series.misses, series.device_reads, strict=True), 1):
        end_s = INTERVAL_S * number
        yield Timing(
            cell={**trial.cell, "phase": "warm_up" if end_s <= WARM_UP_S else "measured", "end_s": end_s},
            cache=CacheState.COLD,
            operation=OPERATION,
            started_at=started_at,
            elapsed_s=series.interval_s,
            result_rows=int(operations),
            relation_io=(RelationIo(FILE, "table", tier, hits=int(operations - misses), reads=int(misses)),),
            tier_io=(TierIo(tier, Substrate.SIMULATED, _device(pair, tier), reads=int(reads)),),
            proof={"resident_pages_at_first": 0},
        )


def _device(pair: Pair, tier: str) -> str:
    spec = pair.tiers[tier]
    if isinstance(spec, DirectoryTier):
        raise InputError(
            f"data/tiers/{pair.name}.toml", field=f"tiers.{tier}", value=spec.kind, rule=f"{NAME} is simulated: needs a device"
        )
    return spec.device


def _benchmark(pair: Pair, tier: str, dataset_gib: int, scale: int) -> Benchmark:
    machine = load_machine(pair.name)
    cache_bytes = round(machine.page_cache[tier].base)
    return Benchmark(load_device(_device(pair, tier)), dataset_gib * GIB, cache_bytes, machine.costs, machine.threads, scale)


def describe(profile: Profile, pair: Pair) -> dict[str, Any]:
    """Inputs that are no parameter of a device, Che's approximation, and what is to be said of R8 and R9."""
    grid, machine = profile.study(NAME, Grid), load_machine(pair.name)
    page_cache_gib = {tier: size.base / GIB for tier, size in machine.page_cache.items()}
    return {
        "benchmark": {"threads": machine.threads, "item_bytes": ITEM_BYTES, "page_bytes": PAGE_BYTES, "theta": THETA, "scale": grid.scale},
        "page_cache_gib": page_cache_gib,
        "che_miss_ratio": {tier: _che(pair, tier, grid) for tier in sorted(pair.tiers)},
        "retrieval": {tier: _retrieval(cache_gib, grid) for tier, cache_gib in page_cache_gib.items()},
        "accounting": {
            "counted": ["RAM as page cache", "device IOPS"],
            "left_to_prices": ["nodes", "rack space", "power", "write endurance"],
        },
    }


def _retrieval(cache_gib: float, grid: Grid) -> dict[str, dict[str, float | bool]]:
    """Whether the indexes of each size of values fit in RAM, so that a retrieval costs at most the one I/O of its value."""
    sizes_gib = {size_gib: size_gib / VALUES_OVER_INDEX for size_gib in grid.dataset_gib}
    return {str(size_gib): {"index_gib": index_gib, "fits": index_gib <= cache_gib} for size_gib, index_gib in sizes_gib.items()}


def _che(pair: Pair, tier: str, grid: Grid) -> dict[str, float]:
    """Miss ratio of an LRU page cache of that size by size of the data, where it is full; empty with read-around."""
    if is_rotational(load_device(_device(pair, tier))):
        return {}
    pages = int(load_machine(pair.name).page_cache[tier].base) // PAGE_BYTES // grid.scale
    items = {size_gib: size_gib * GIB // grid.scale // ITEM_BYTES + 1 for size_gib in grid.dataset_gib}
    per_page = PAGE_BYTES // ITEM_BYTES
    return {
        str(size_gib): 1 - che.hit_ratio(che.zipfian_popularity(count, per_page, grid.scale), pages)
        for size_gib, count in items.items()
        if count > pages * per_page
    }


def check(rows: pl.DataFrame) -> None:
    """Every series is as long as the others."""
    lengths = rows.group_by("pair", "trial", "block").len()
    if lengths["len"].n_unique() != 1:
        raise EvidenceError(f"{NAME}: series of different lengths, {sorted(lengths['len'].unique())}")


STUDY: Final = SimulatedStudy(
    name=NAME,
    source="R",
    question="How many reads a second does a database on a disk, or on an SSD, deliver as it outgrows the RAM?",
    trials=trials,
    simulate=simulate,
    describe=describe,
    check=check,
)
