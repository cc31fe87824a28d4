"""The Zipfian reads: how many reads a second does a database in front of a disk, or of an SSD, deliver as it outgrows the RAM?

The published benchmark, simulated (`tierwise.simulate.zipf`): eight threads read a file of each size through mmap, by a scrambled
Zipfian, for ten minutes from dropped caches and ten more. A row is ten seconds of it; at a scale of 64 these are 10/64 s.

On a pair with a real disk the same is read live (module `live`), at a larger scale, under a memory limit. Beside each live trial its
model is run, with the same file, page cache, drive, threads and duration, and nothing fitted to it. What the model needs of this machine
is calibrated with one thread: the seconds of a hit, of a fault beside the device's own, and a real disk's direct reads.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import polars as pl
from pydantic import Field

from tierwise.bench.simulation import LIVE, SimulatedStudy
from tierwise.bench.stopwatch import OVERSHOOT_BOUND
from tierwise.bench.study import Cell as AnyCell
from tierwise.bench.study import Trial
from tierwise.core import memory_group
from tierwise.core.errors import EvidenceError, InputError
from tierwise.core.pairs import DirectoryTier, Pair, SimulatedTier
from tierwise.core.profiles import Profile
from tierwise.core.toml import Strict
from tierwise.core.units import GIB
from tierwise.core.vocabulary import Cache, Evidence, IoMode
from tierwise.devices.own_device import calibrated_flash
from tierwise.devices.spec import DeviceSpec, load_device
from tierwise.simulate.machine import Costs, load_machine
from tierwise.simulate.zipf import INTERVAL_S, ITEM_BYTES, ITEMS_PER_PAGE, PAGE_BYTES, WARM_UP_S, WINDOW_PAGES, Benchmark, is_rotational
from tierwise.simulate.zipfian import THETA, che_hit_ratio, merged_zipfian
from tierwise.studies.ram_or_ssd.measuring.live_reads import LiveTestbed, open_live
from tierwise.studies.ram_or_ssd.measuring.mapped_reads import Reading
from tierwise.timings.schema import RelationIo, TierIo, Timing

NAME: Final = "ram_or_ssd"
OPERATION: Final = "read 1 KiB through mmap"
FILE: Final = "file"
CHE_SCALE: Final = 64  # Che's approximation has the same value where neighbours in popularity are merged, and is faster
VALUES_OVER_INDEX: Final = 10  # the source's rule of thumb: indexes are ten times smaller than values


ADVICE: Final = {"hdd": "normal", "ssd": "random", "disk": "random"}
"""madvise of each tier of the live pair as the source had it: its kernel read around a fault on the disk, not on the SSD."""
THREADS: Final = 8
HOW_LIVE: Final = "live"
HOW_MODEL: Final = "model"
LIVE_INTERVALS: Final = 6


@dataclass(frozen=True, slots=True)
class Cell(AnyCell):
    tier: str
    dataset_gib: int
    scale: int


@dataclass(frozen=True, slots=True)
class LiveCell(Cell):
    """What is read live, or by its model (`how`), which reads `window_pages` around a fault."""

    cache_gib: int
    advice: str
    how: str
    window_pages: int | None = None


class LiveGrid(Strict):
    dataset_gib: tuple[int, ...] = Field(default=(32,), min_length=1)
    cache_gib: int = Field(default=14, ge=1, description="about what the source's machines kept of their 16 GB")
    scale: int = Field(default=1536, ge=1, description="1536 reads 1/1536 of sizes and time")
    swap_advice: bool = Field(default=False, description="also read with the kernel's other advice than the source's")


class Grid(Strict):
    replicates: int = Field(default=5, ge=1)
    dataset_gib: tuple[int, ...] = Field(default=(2, 4, 8, 12, 16, 24, 32, 48, 64), min_length=1)
    scale: int = Field(default=64, ge=1, description="64 simulates 1/64 of sizes and time")
    disk_scale: int = Field(
        default=16, ge=1, description="the same of a disk, which reads a hundredth as much, so that its reads scatter more"
    )
    live: LiveGrid = LiveGrid()


def trials(profile: Profile, pair: Pair) -> tuple[Trial[Cell], ...]:
    grid = profile.study(NAME, Grid)
    if _is_live(pair):
        return tuple(_live_trials(grid.live, pair)) if memory_group.obstacle() is None else ()
    return tuple(
        Trial(Cell(tier, size_gib, _scale(pair, tier, grid)), IoMode.BUFFERED, frozenset({tier}), preparation="none")
        for tier in sorted(pair.tiers)
        for size_gib in grid.dataset_gib
    )


def simulate(trial: Trial[Cell], pair: Pair, seed: int) -> Iterator[Timing]:
    cell = trial.cell
    return _rows(trial, _benchmark(pair, cell.tier, cell.dataset_gib, cell.scale), seed, _device(pair, cell.tier))


def _rows(trial: Trial[Cell], benchmark: Benchmark, seed: int, device: str | None) -> Iterator[Timing]:
    tier = trial.cell.tier
    started_at = datetime.now(UTC)
    series = benchmark.run(seed)
    for number, (operations, misses, reads) in enumerate(zip(series.operations, series.misses, series.device_reads, strict=True), 1):
        end_s = INTERVAL_S * number
        yield Timing(
            cell={**trial.coordinates, "phase": "warm_up" if end_s <= WARM_UP_S else "measured", "end_s": end_s},
            cache=Cache.COLD,
            operation=OPERATION,
            started_at=started_at,
            elapsed_s=series.interval_s,
            result_rows=int(operations),
            relation_io=(RelationIo(FILE, "table", tier, hits=int(operations - misses), reads=int(misses)),),
            tier_io=(TierIo(tier, Evidence.SIMULATED, device, reads=int(reads)),),
            proof={"resident_pages_at_first": 0},
        )


def _device(pair: Pair, tier: str) -> str:
    spec = pair.tiers[tier]
    if isinstance(spec, DirectoryTier):
        where, rule = f"data/tiers/{pair.name}.toml", f"{NAME} is simulated: needs a device"
        raise InputError(where, field=f"tiers.{tier}", value=spec.kind, rule=rule)
    return spec.device


def _scale(pair: Pair, tier: str, grid: Grid) -> int:
    return grid.disk_scale if is_rotational(load_device(_device(pair, tier))) else grid.scale


def _benchmark(pair: Pair, tier: str, dataset_gib: int, scale: int) -> Benchmark:
    machine = load_machine(pair.name)
    cache_bytes = round(machine.page_cache[tier].base)
    return Benchmark(load_device(_device(pair, tier)), dataset_gib * GIB, cache_bytes, machine.costs, machine.threads, scale)


def _is_live(pair: Pair) -> bool:
    return any(isinstance(spec, DirectoryTier) for spec in pair.tiers.values())


def _live_trials(grid: LiveGrid, pair: Pair) -> Iterator[Trial[LiveCell]]:
    for tier, spec in sorted(pair.tiers.items()):
        if isinstance(spec, SimulatedTier):
            continue
        for size_gib in grid.dataset_gib:
            for advice in (ADVICE[tier], *({"normal", "random"} - {ADVICE[tier]} if grid.swap_advice else ())):
                live_cell = LiveCell(tier, size_gib, grid.scale, grid.cache_gib, advice, HOW_LIVE)
                windows = (WINDOW_PAGES, 1) if advice == "normal" else (1,)
                cells = (live_cell, *(replace(live_cell, how=HOW_MODEL, window_pages=window) for window in windows))
                yield from (Trial(cell, IoMode.BUFFERED, frozenset({tier}), LIVE, replicated=False) for cell in cells)


def live(trial: Trial[Cell], testbed: LiveTestbed, seed: int) -> Iterator[Timing]:
    cell = trial.cell
    assert isinstance(cell, LiveCell), "those of a pair with a real disk"
    tier, scale = cell.tier, cell.scale
    size_bytes = cell.dataset_gib * GIB
    if cell.window_pages is not None:
        costs = Costs(testbed.hit_s, testbed.calibrations[f"{testbed.pair.name}/{tier}"]["fault_s"])
        drive, cache_bytes = _drive(testbed, tier), cell.cache_gib * GIB
        benchmark = Benchmark(drive, size_bytes, cache_bytes, costs, scale=scale, window_pages=cell.window_pages, strewn=True)
        yield from _rows(trial, benchmark, seed, testbed.tiers[tier].device)
        return
    phase_s = WARM_UP_S / scale
    reading = Reading(
        path=Path(),
        items=size_bytes // scale // ITEM_BYTES + 1,
        scale=scale,
        threads=THREADS,
        random=cell.advice == "random",
        intervals=2 * LIVE_INTERVALS,
        interval_s=phase_s / LIVE_INTERVALS,
        seed=seed,
    )
    found = testbed.observe(tier, reading, cell.cache_gib * GIB // scale)
    for number, (begin, end) in enumerate(pairwise(found.samples), 1):
        requests = found.requests_between(begin, end)
        overshoot = (requests.actual_s or 0.0) > (1 + OVERSHOOT_BOUND) * (requests.intended_s or math.inf)
        phase = {"phase": "warm_up" if number <= LIVE_INTERVALS else "measured", "end_s": number * reading.interval_s * scale}
        reads, faulted = end.reads - begin.reads, min(end.major_faults - begin.major_faults, end.reads - begin.reads)
        yield Timing(
            cell={**trial.coordinates, **phase},
            cache=Cache.COLD,
            operation=OPERATION,
            started_at=found.started_at + timedelta(seconds=begin.time_s - found.samples[0].time_s),
            elapsed_s=end.time_s - begin.time_s,
            result_rows=reads,
            relation_io=(RelationIo(FILE, "table", tier, hits=reads - faulted, reads=faulted),),
            tier_io=(requests,),
            proof=found.proof,
            flags=("overshoot",) if overshoot else (),
        )


def _drive(testbed: LiveTestbed, tier: str) -> DeviceSpec:
    spec = testbed.pair.tiers[tier]
    if isinstance(spec, DirectoryTier):
        return calibrated_flash(testbed.calibrations[f"{testbed.pair.name}/{tier}"])
    return load_device(spec.device)


def describe(profile: Profile, pair: Pair) -> dict[str, Any]:
    grid = profile.study(NAME, Grid)
    if _is_live(pair):
        return {"live": {"threads": THREADS, **grid.live.model_dump()}, "obstacle": memory_group.obstacle()}
    machine = load_machine(pair.name)
    scales = {tier: _scale(pair, tier, grid) for tier in sorted(pair.tiers)}
    page_cache_gib = {tier: size.base / GIB for tier, size in machine.page_cache.items()}
    return {
        "benchmark": {"threads": machine.threads, "item_bytes": ITEM_BYTES, "page_bytes": PAGE_BYTES, "theta": THETA, "scale": scales},
        "page_cache_gib": page_cache_gib,
        "che_miss_ratio": {tier: _che(pair, tier, grid) for tier in sorted(pair.tiers)},
        "retrieval": {tier: _retrieval(cache_gib, grid) for tier, cache_gib in page_cache_gib.items()},
        "accounting": {
            "counted": ["RAM as page cache", "device IOPS"],
            "left_to_prices": ["nodes", "rack space", "power", "write endurance"],
        },
    }


def _retrieval(cache_gib: float, grid: Grid) -> dict[str, dict[str, float | bool]]:
    sizes_gib = {size_gib: size_gib / VALUES_OVER_INDEX for size_gib in grid.dataset_gib}
    return {str(size_gib): {"index_gib": index_gib, "fits": index_gib <= cache_gib} for size_gib, index_gib in sizes_gib.items()}


def _che(pair: Pair, tier: str, grid: Grid) -> dict[str, float]:
    """Return the miss ratio of an LRU page cache by size of the data, where it is full; empty with read-around."""
    if is_rotational(load_device(_device(pair, tier))):
        return {}
    cache_bytes = int(load_machine(pair.name).page_cache[tier].base)
    scale = max(grid.scale, CHE_SCALE)
    found = {}
    for size_gib in (size_gib for size_gib in grid.dataset_gib if size_gib * GIB > cache_bytes):
        popularity = merged_zipfian(size_gib * GIB // ITEM_BYTES + 1, ITEMS_PER_PAGE, scale)
        found[str(size_gib)] = 1 - che_hit_ratio(popularity, cache_bytes // PAGE_BYTES // scale)
    return found


def check(rows: pl.DataFrame) -> None:
    lengths = rows.filter(evidence=Evidence.SIMULATED).group_by("pair", "trial", "replicate").len()
    if lengths["len"].n_unique() != 1:
        raise EvidenceError(f"{NAME}: series of different lengths, {sorted(lengths['len'].unique())}")


STUDY: Final = SimulatedStudy(
    name=NAME,
    source="R",
    question="How many reads a second does a database on a disk, or on an SSD, deliver as it outgrows the RAM?",
    trials=trials,
    simulate=simulate,
    describe=describe,
    live=live,
    open_live=open_live,
    stretch=lambda profile: profile.study(NAME, Grid).live.scale,
    check=check,
)
