"""How long twenty simulated minutes of eight threads on flash take, on one core.

Run: ``make bench``, or ``python benchmarks/simulator.py``.
"""

import os
import sys
import time

import numpy as np

from tierwise.core.errors import TierwiseError
from tierwise.core.units import GIB, KIB
from tierwise.devices.spec import SsdSpec, load_device
from tierwise.simulate.closed_loop import run_threads
from tierwise.simulate.machine import Costs
from tierwise.simulate.page_cache import PageCache
from tierwise.simulate.zipfian import zipfian_pages

DEVICE, THREADS, DURATION_S = "crucial-m4", 8, 1200.0
PAGE_BYTES, ITEM_BYTES, DATA_BYTES, CACHE_BYTES = 4 * KIB, KIB, 32 * GIB, 16 * GIB
COSTS = Costs(hit_s=1.5e-6, fault_s=8e-6)
BOUND_S = 15.0


def main() -> int:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    try:
        return time_simulation()
    except TierwiseError as error:
        print(error, file=sys.stderr)
        return 1


def time_simulation() -> int:
    """Scrambled Zipfian reads from dropped caches; 1 if the processor is busy for longer than `BOUND_S` (others may share it)."""
    device = load_device(DEVICE)
    assert isinstance(device, SsdSpec)
    pages = zipfian_pages(DATA_BYTES // ITEM_BYTES, seed=1, items_per_page=PAGE_BYTES // ITEM_BYTES)
    cache = PageCache(DATA_BYTES // PAGE_BYTES, CACHE_BYTES // PAGE_BYTES)
    warm = PageCache(10, 10)
    run_threads(iter([np.zeros(1, np.int64)]), warm, device, threads=1, duration_s=10.0, costs=COSTS)  # compiled
    begun_s, busy_s = time.perf_counter(), time.process_time()
    run = run_threads(pages, cache, device, threads=THREADS, duration_s=DURATION_S, costs=COSTS, page_bytes=PAGE_BYTES)
    took_s, busy_s = time.perf_counter() - begun_s, time.process_time() - busy_s
    rates, operations = run.rates(from_s=DURATION_S / 2), int(run.operations.sum())
    print(
        f"{DURATION_S:,.0f} s of {THREADS} threads on {DEVICE}, {CACHE_BYTES // GIB} GiB RAM, {DATA_BYTES // GIB} GiB data: "
        f"{took_s:.1f} s, {busy_s:.1f} of them on the processor (bound: {BOUND_S:.0f}), {operations:,} operations; "
        f"second half {rates.reads_per_s:,.0f} reads/s, {rates.miss_ratio:.3f} missed, {rates.device_iops:,.0f} IOPS"
    )
    return int(busy_s > BOUND_S)


if __name__ == "__main__":
    sys.exit(main())
