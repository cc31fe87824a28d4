"""How fast the simulator is: LRU replay beside libCacheSim's, and twenty simulated minutes of eight threads on flash.

Run: ``make bench``, or ``python benchmarks/simulator.py``. All on one core; figures depend on the machine, the ratio less so. libCacheSim
(PyPI: libcachesim) is no dependency of the project: without it the comparison is left out, and the reason is printed.
"""

import importlib
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tierwise.core import paths
from tierwise.core.errors import TierwiseError
from tierwise.core.units import GIB, KIB
from tierwise.devices.spec import SsdSpec, load_device
from tierwise.simulate.closed_loop import Costs, run_threads
from tierwise.simulate.page_cache import PageCache, replay
from tierwise.simulate.page_trace import read_page_trace
from tierwise.simulate.zipfian import zipfian_pages

REPEATS = 5
OLTP = paths.home().parent / "shared" / "realdata" / "traces" / "OLTP.lis.zst"
OLTP_PAGES = (1000, 2000, 5000, 10_000, 15_000)
ZIPFIAN_ITEMS, ZIPFIAN_PAGES = 1_000_000, (10_000, 100_000)
DEVICE, THREADS, DURATION_S = "crucial-m4", 8, 1200.0
PAGE_BYTES, ITEM_BYTES, DATA_BYTES, CACHE_BYTES = 4 * KIB, KIB, 32 * GIB, 16 * GIB
COSTS = Costs(hit_s=1.5e-6, fault_s=8e-6)
BOUND_S = 60.0

Pages = NDArray[np.int64]


def main() -> int:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    try:
        return max(compare_replays(), time_simulation())
    except TierwiseError as error:
        print(error, file=sys.stderr)
        return 1


def compare_replays() -> int:
    """Time to a count of misses for the same pages and cache, best of `REPEATS` in turn; 1 if the counts differ."""
    try:
        other = importlib.import_module("libcachesim")
    except ImportError as error:
        print(f"LRU beside libCacheSim: left out, {error} (pip install libcachesim)")
        return 0
    traces: list[tuple[str, Pages, tuple[int, ...]]] = []
    if OLTP.exists():
        traces.append(("OLTP", read_page_trace(OLTP), OLTP_PAGES))
    else:
        print("the OLTP trace is not on this machine: no ../shared/realdata/traces/OLTP.lis.zst")
    traces.append(("zipfian", next(zipfian_pages(ZIPFIAN_ITEMS, seed=1, chunk=2**20)), ZIPFIAN_PAGES))
    replay(traces[0][1][:1000], 10)  # compiled
    differ = False
    for name, trace, sizes in traces:
        with tempfile.TemporaryDirectory(prefix="tierwise-bench-") as folder:
            path = Path(folder) / "trace.bin"
            write_for_libcachesim(trace, path)
            for pages in sizes:
                differ |= compare(other, name, trace, path, pages)
    return int(differ)


def compare(library: Any, name: str, trace: Pages, path: Path, pages: int) -> bool:
    """Print one line; are the misses others?"""
    ours_s, theirs_s = [], []
    for _ in range(REPEATS):
        begun_s = time.perf_counter()
        misses = replay(trace, pages).misses
        ours_s.append(time.perf_counter() - begun_s)
        their_misses, their_s = libcachesim_misses(library, path, len(trace), pages)
        theirs_s.append(their_s)
    each_ns, theirs_ns = (min(took_s) / len(trace) * 1e9 for took_s in (ours_s, theirs_s))
    said = "equal misses" if misses == their_misses else f"MISSES DIFFER: libCacheSim counts {their_misses:,}"
    print(
        f"LRU, {name}, {pages:7,} pages: {misses:9,} misses of {len(trace):,}, {said}   {each_ns:6.1f} ns a request, "
        f"libCacheSim {theirs_ns:6.1f}: {theirs_ns / each_ns:.2f} x as fast",
        flush=True,
    )
    return misses != their_misses


def write_for_libcachesim(trace: Pages, path: Path) -> None:
    """Its binary format `oracleGeneral`, which it reads fastest: every page an object of size 1."""
    record = np.dtype([("time", "<u4"), ("id", "<u8"), ("size", "<u4"), ("next", "<i8")])
    records = np.zeros(len(trace), record)
    records["id"], records["size"], records["next"] = trace, 1, -2
    records.tofile(path)


def libcachesim_misses(library: Any, path: Path, requests: int, pages: int) -> tuple[int, float]:
    """Its misses, and the seconds of its loop alone; its table is of the size that suits it, several times quicker than the default."""
    reader = library.TraceReader(trace=str(path), trace_type=library.TraceType.ORACLE_GENERAL_TRACE)
    cache = library.LRU(cache_size=pages, hashpower=max(16, (2 * pages).bit_length()))
    begun_s = time.perf_counter()
    miss_ratio, _ = cache.process_trace(reader)
    return round(miss_ratio * requests), time.perf_counter() - begun_s


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
