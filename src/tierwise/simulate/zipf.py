"""The Zipfian reads on any device: threads read items through mmap, by a scrambled Zipfian, from dropped caches.

The file is read in 1 KiB items of 4 KiB pages; the modulus is one item more than the size holds, as in YCSB's generator over 0 to
size/1024. Linux 3.2 of that time keeps the pages (`page_cache`, policy ``mapped``). On rotational devices it reads 32 pages around every
fault, its default of 128 KiB; on others none, as the author had turned that off. That never ceases, although the kernel means to stop
it where misses prevail: the retry of each fault took back what the fault had counted (Shaohua Li, "readahead: fault retry breaks mmap file
read random detection", as merged in sonyxperiadev/kernel, pull request 538).

What was fitted, on the author's log at 32 GiB alone: the drives' `max_read_iops` and `settle` (data/devices, on the fill of the cache)
and the size of either machine's page cache (data/machines, on the measured phase). The rest is predicted.

A run at 1/n of the size (`scale`) divides pages, page cache and durations by n, making n pages of neighbouring popularity one
(`zipfian.merged`), and keeps latencies, threads and window, and has a disk's seeks span as much as before. Rates are then those of the full
size (tests hold them within 3 %), the series has the same points.
"""

import os
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from statistics import fmean
from typing import Final, TypedDict

from tierwise.core.compiled import Ints
from tierwise.core.errors import InputError
from tierwise.core.progress import say
from tierwise.core.tasks import in_tasks, processors
from tierwise.core.units import GIB, KIB
from tierwise.devices.model import build
from tierwise.devices.spec import DeviceSpec, HddSpec, SsdSpec, drive_of, load_device
from tierwise.simulate.closed_loop import Rates, Series, run_threads
from tierwise.simulate.machine import Costs, zipf_machine
from tierwise.simulate.page_cache import PageCache
from tierwise.simulate.zipfian import drawn_pages, merged_zipfian, zipfian_pages

PAGE_BYTES: Final = 4 * KIB
ITEM_BYTES: Final = KIB
ITEMS_PER_PAGE: Final = PAGE_BYTES // ITEM_BYTES
WINDOW_PAGES: Final = 32  # Linux's default read-ahead of 128 KiB
WARM_UP_S: Final = 600.0
MEASURED_S: Final = 600.0
INTERVAL_S: Final = 10.0
SEEDS: Final = (1, 2, 3, 4, 5)
MOST_GIB: Final = 1 << 20  # a pebibyte: beyond any file of a benchmark
QUICK_SCALE: Final = 64  # the scale that is advised where the full size takes long: that of the tests


class ZipfResult(TypedDict):
    evidence: str
    reads_per_s: float
    miss_ratio: float
    device_iops: float


@dataclass(frozen=True)
class Benchmark:
    """One data set, one page cache, one device; `scale` 64 simulates 1/64 of it."""

    device: DeviceSpec
    dataset_bytes: int
    cache_bytes: int
    costs: Costs
    threads: int = 8
    scale: int = 1
    window_pages: int | None = None
    """The pages that the kernel reads around a fault; None: as Linux 3.2 did on such a device, see `read_around`."""
    strewn: bool = False
    """Whether a smaller data set is read as one of its own size, its items strewn by a hash: what a real file's readers do."""

    def __post_init__(self) -> None:
        least_bytes = WINDOW_PAGES * PAGE_BYTES * self.scale
        capacity_bytes = build(self.device).capacity_bytes
        for field, value, wrong, rule in (
            ("scale", self.scale, self.scale < 1, "must be 1 or more"),
            ("threads", self.threads, self.threads < 1, "must be 1 or more"),
            ("dataset_bytes", self.dataset_bytes, self.dataset_bytes < least_bytes, f"must be at least {least_bytes}"),
            ("cache_bytes", self.cache_bytes, self.cache_bytes < least_bytes, f"must be at least {least_bytes}"),
            ("dataset_bytes", self.dataset_bytes, self.dataset_bytes > capacity_bytes, f"must fit on the device, {capacity_bytes} B"),
        ):
            if wrong:
                raise InputError("simulate zipf", field=field, value=value, rule=rule)

    @property
    def read_around(self) -> int:
        if self.window_pages is not None:
            return self.window_pages
        return WINDOW_PAGES if is_rotational(self.device) else 1

    def run(self, seed: int) -> Series:
        """Return the 20 minutes from dropped caches, in intervals of `INTERVAL_S` / `scale`; equal seeds give equal series."""
        file_pages, pages = self._pages(seed)
        cache = PageCache(file_pages, self.cache_bytes // self.scale // PAGE_BYTES, "mapped", read_around=self.read_around)
        return run_threads(
            pages,
            cache,
            self.device if isinstance(self.device, SsdSpec) else build(self.device, seed=seed, stretch=self.scale),
            threads=self.threads,
            duration_s=(WARM_UP_S + MEASURED_S) / self.scale,
            costs=self.costs,
            page_bytes=PAGE_BYTES,
            interval_s=INTERVAL_S / self.scale,
            endless=True,
        )

    def _pages(self, seed: int) -> tuple[int, Iterator[Ints]]:
        if self.scale > 1 and not self.strewn:
            popularity = merged_zipfian(self.dataset_bytes // ITEM_BYTES + 1, ITEMS_PER_PAGE, self.scale, self.read_around)
            return len(popularity), drawn_pages(popularity, seed=seed)
        items = self.dataset_bytes // self.scale // ITEM_BYTES + 1
        return (items - 1) // ITEMS_PER_PAGE + 1, zipfian_pages(items, seed=seed, items_per_page=ITEMS_PER_PAGE, scale=self.scale)

    def rates(self, seed: int) -> Rates:
        return self.run(seed).rates(WARM_UP_S / self.scale)


def is_rotational(device: DeviceSpec) -> bool:
    return isinstance(drive_of(device), HddSpec)


def simulate_zipf(device: str, *, dataset_gib: float, cache_gib: float, threads: int = 8, scale: int = 1) -> ZipfResult:
    """Simulate the benchmark with each of `SEEDS`; at full size one on each processor at a time, since each takes minutes."""
    for option, value in (("--dataset-gib", dataset_gib), ("--cache-gib", cache_gib)):
        if not 0 < value <= MOST_GIB:
            raise InputError(option, value=value, rule=f"must be above zero, and at most {MOST_GIB}")
    costs = zipf_machine().costs
    benchmark = Benchmark(load_device(device), round(dataset_gib * GIB), round(cache_gib * GIB), costs, threads, scale)
    if scale < QUICK_SCALE:
        say(f"simulating {len(SEEDS)} seeds of 1,200 seconds takes minutes, and hours for an array; --scale {QUICK_SCALE} takes seconds")
    with processors(1 if scale > 1 else len(os.sched_getaffinity(0))):
        rates = list(in_tasks(benchmark.rates, [(seed,) for seed in SEEDS]))
    reads_per_s, miss_ratio, device_iops = map(fmean, zip(*map(astuple, rates), strict=True))
    return {"evidence": "simulated", "reads_per_s": reads_per_s, "miss_ratio": miss_ratio, "device_iops": device_iops}
