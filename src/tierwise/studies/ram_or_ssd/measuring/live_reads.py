"""Mapped reads on real and emulated tiers under a memory limit: the tiers, a memory group, and the process that reads in it."""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import polars as pl
import psutil

from tierwise.core.errors import EvidenceError, InputError
from tierwise.core.memory_group import MemoryGroup, memory_group
from tierwise.core.pairs import Calibrations, Pair
from tierwise.core.units import GIB
from tierwise.postgres.residency import evict, residency
from tierwise.studies.ram_or_ssd.measuring.mapped_reads import ITEM_BYTES, PAGE_BYTES, Reader, Reading, Sample, started_reader, write_items
from tierwise.tiers.directory import Directory, calibrate
from tierwise.tiers.emulated import Emulated
from tierwise.tiers.open import open_tier
from tierwise.tiers.tier import Tier
from tierwise.timings.schema import TierIo

RESIDENT_ITEMS: Final = 2**13
COLD_ITEMS: Final = 2**15
SETTLE_S: Final = 0.3
IN_MEMORY: Final = frozenset({"tmpfs", "ramfs"})  # file systems whose pages cannot be dropped, since nothing else holds them
CALIBRATION_S: Final = 1.0


@dataclass(frozen=True)
class Observation:
    started_at: datetime
    samples: list[Sample]
    tier: Tier
    requests: pl.DataFrame | None  # see `Mount.requests`; None where nothing counts them
    proof: Mapping[str, int | str]

    def requests_between(self, begin: Sample, end: Sample) -> TierIo:
        """Return what reached the tier between two samples; of a directory only the bytes that the kernel counts for the reader."""
        if self.requests is None:
            return TierIo(self.tier.name, self.tier.evidence, self.tier.device, read_bytes=end.read_bytes - begin.read_bytes)
        met = self.requests.filter(pl.col("time_s").is_between(begin.time_s, end.time_s, closed="left"), operation="read")
        return TierIo(
            self.tier.name,
            self.tier.evidence,
            self.tier.device,
            reads=len(met),
            read_bytes=int(met["size_bytes"].sum()),
            intended_s=float(met["intended_s"].sum()),
            actual_s=float(met["actual_s"].sum()),
        )


@dataclass
class LiveTestbed:
    pair: Pair
    tiers: Mapping[str, Tier]
    calibrations: Calibrations
    _reader: Reader
    _group: MemoryGroup
    _own_bytes: int  # of the reader, beside the pages of the file
    _files: dict[tuple[str, int], Path] = field(default_factory=dict)

    @property
    def hit_s(self) -> float:
        return self.calibrations[f"{self.pair.name}/processor"]["hit_s"]

    def observe(self, tier_name: str, reading: Reading, cache_bytes: int) -> Observation:
        """Read the items of `reading` on a tier, cold, with memory for `cache_bytes` of pages, or a few more if the reader needs less."""
        tier = self.tiers[tier_name]
        path = self._file(tier, reading.items)
        tier.delays(False)
        evict([path])
        tier.forget()
        resident_at_first = residency([path])
        limit_bytes = cache_bytes + self._own_bytes
        self._group.limit(limit_bytes)
        tier.reset_io()
        tier.delays(True)
        started_at = datetime.now(UTC)
        self._reader.begin(replace(reading, path=path))
        time.sleep(reading.intervals * reading.interval_s / 2)
        resident_half_way = residency([path])
        samples = self._reader.samples()
        used_bytes, file_bytes = self._group.used_bytes()
        tier.delays(False)
        proof: dict[str, int | str] = {
            "memory": f"cgroup version {self._group.version}",
            "cache_pages": cache_bytes // PAGE_BYTES,
            "limit_bytes": limit_bytes,
            "resident_pages_at_first": resident_at_first,
            "resident_pages_half_way": resident_half_way,
            "resident_pages_at_last": residency([path]),
            "group_bytes_at_last": used_bytes,
            "group_file_bytes_at_last": file_bytes,
            "wrong_items": samples[-1].wrong,
        }
        _require(proof)
        return Observation(started_at, samples, tier, tier.requests() if isinstance(tier, Emulated) else None, proof)

    def _file(self, tier: Tier, items: int) -> Path:
        key = (tier.name, items)
        if key not in self._files:
            path = tier.directory / f"items-{items}"
            tier.delays(False)
            write_items(path, items)
            self._files[key] = path
        return self._files[key]


def _require(proof: Mapping[str, int | str]) -> None:
    still, wrong, limit_bytes = (int(proof[name]) for name in ("resident_pages_at_first", "wrong_items", "limit_bytes"))
    most = max(int(proof["resident_pages_half_way"]), int(proof["resident_pages_at_last"]))
    faults = {
        f"not cold: {still} pages were still in the page cache": still > 0,
        f"not limited: {most} pages were resident, the limit is {limit_bytes} bytes": most * PAGE_BYTES > limit_bytes,
        f"{wrong} items were not what was written": wrong > 0,
    }
    if any(faults.values()):
        raise EvidenceError("; ".join(fault for fault, found in faults.items() if found))


@contextmanager
def open_live(pair: Pair, calibrations: Calibrations, *, work: Path, stretch: float, seed: int) -> Iterator[LiveTestbed]:
    """Open the tiers of `pair`, with the reader; both are gone at the end. What the run's `calibrations` lack is measured."""
    work.mkdir(parents=True, exist_ok=True)
    if (kind := _file_system(work)) in IN_MEMORY:
        rule = f"must be on a disk, because files that exist only in memory ({kind}) cannot be made cold"
        raise InputError("work folder", value=str(work), rule=rule, remedy="set TIERWISE_WORK to a folder on a disk")
    with ExitStack() as stack:
        tiers = {}
        for name, spec in pair.tiers.items():
            tier = open_tier(name, spec, work=work / name, stretch=stretch, seed=seed, owner=(os.geteuid(), os.getegid()))
            stack.callback(tier.stop)
            tier.start()
            tier.empty_cache(cached=True)
            tiers[name] = tier
        group = stack.enter_context(memory_group("reader"))
        reader = stack.enter_context(started_reader())
        own_bytes, hit_s = _settle(reader, group, work)
        testbed = LiveTestbed(pair, tiers, {f"{pair.name}/processor": {"hit_s": hit_s}, **calibrations}, reader, group, own_bytes)
        for name in tiers:
            testbed.calibrations.setdefault(f"{pair.name}/{name}", _calibrate(testbed, name))
        yield testbed


def _file_system(folder: Path) -> str:
    kinds = {part.mountpoint: part.fstype for part in psutil.disk_partitions(all=True)}
    place = folder.resolve()
    return next((kinds[str(above)] for above in (place, *place.parents) if str(above) in kinds), "")


def _calibrate(testbed: LiveTestbed, name: str) -> dict[str, float]:
    """Return what a page fault on the tier costs beside the device's own time, found with one thread; and what a real disk does."""
    tier = testbed.tiers[name]
    disk = calibrate(tier.directory, seconds=CALIBRATION_S).model_dump(mode="json") if isinstance(tier, Directory) else {}
    reading = Reading(Path(), COLD_ITEMS, scale=64, threads=1, random=True, intervals=1, interval_s=SETTLE_S, seed=2)
    found = testbed.observe(name, reading, 2 * COLD_ITEMS * ITEM_BYTES)
    first, last = found.samples
    faults, hits = last.major_faults - first.major_faults, last.reads - first.reads
    device_s = disk["random_read_latency_s"] * faults if disk else found.requests_between(first, last).intended_s or 0.0
    others_s = last.time_s - first.time_s - device_s - hits * testbed.hit_s
    return {**disk, "fault_s": max(0.0, others_s / max(1, faults))}


def _settle(reader: Reader, group: MemoryGroup, work: Path) -> tuple[int, float]:
    """Load the reader's code, move it into `group`, and return its own bytes there and the seconds of a hit by one thread."""
    path = work / "resident"
    write_items(path, RESIDENT_ITEMS)
    reading = Reading(path, RESIDENT_ITEMS, scale=64, threads=1, random=False, intervals=2, interval_s=SETTLE_S / 2, seed=1)
    reader.read(replace(reading, threads=8))
    group.take_in(reader.pid)
    group.limit(GIB)
    reader.read(replace(reading, threads=8))
    first, *_, last = reader.read(reading)
    used_bytes, file_bytes = group.used_bytes()
    path.unlink()
    return used_bytes - file_bytes, (last.time_s - first.time_s) / (last.reads - first.reads)
