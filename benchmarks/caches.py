"""How fast page caches are: LRU and CLOCK beside libCacheSim's, the kernel's two lists beside CLOCK, and 10^8 requests read as a stream.
A whole curve of misses by size stands beside two single-size replays of libCacheSim's LRU, and how far samples of its pages are from it.
Reading the trace is timed apart: libCacheSim maps the file that it is given, and has nothing to read before.

Run: ``make bench``, or ``python benchmarks/caches.py``. All on one core, sides in turn, each first in every other round; ratios are of
processor times. libCacheSim (PyPI: libcachesim) is no dependency of the project: without it that comparison is left out, and the reason is
printed. Beside each cache stands the least that any must do, which is what memory takes: to read and to write one number of each page that
is read, in a table as new as the cache's. Ratios to reach are `TO_REACH`.
"""

import importlib
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl

from tierwise.analysis.statistics import geometric_estimate
from tierwise.core import paths
from tierwise.core.compiled import Ints, compiled
from tierwise.core.errors import TierwiseError
from tierwise.core.units import GIB, KIB
from tierwise.simulate.page_cache import replay
from tierwise.simulate.page_trace import TraceOptions, TraceReader
from tierwise.simulate.stack_distances import Curve, SampledCurve, curve_of
from tierwise.simulate.trace_stream import NEAR_PAGES, Stream, read_stream
from tierwise.simulate.zipfian import zipfian_pages

REPEATS = 9
OLTP = paths.home().parent / "shared" / "realdata" / "traces" / "OLTP.lis.zst"
OLTP_PAGES = (1000, 2000, 5000, 10_000, 15_000)
ZIPFIANS = ((20_000, (1000, 10_000)), (1_000_000, (10_000, 100_000)), (30_000_000, (100_000, 1_000_000)))
"""Pages of the file, which take 4 bytes each, and of the cache: in the second level of most processors' caches, in the last, in neither."""
ZIPFIAN_REQUESTS = 2**20
STREAM_REQUESTS, STREAM_PAGES, STREAM_CACHE = 10**8, 10**7, 10**6
STREAM_BYTES = 8 * GIB
MAP = (
    "import sys; from pathlib import Path; from tierwise.simulate.page_trace import TraceOptions;"
    " from tierwise.simulate.stack_distances import curve_of; from tierwise.simulate.trace_stream import read_stream;"
    " found = read_stream([Path(sys.argv[1])], TraceOptions());"
    " print(curve_of(found.pages, found.is_write, found.relation, 1).at(int(sys.argv[2])))"
)
STREAM = (
    "import sys; from pathlib import Path; from tierwise.simulate.page_trace import simulate_trace;"
    " print(simulate_trace(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]))"
)

BESIDE = (("lru", "libCacheSim LRU"), ("clock", "libCacheSim Clock"), ("two-list", "clock"))
TO_REACH = {"lru": 3.0, "clock": 2.0, "two-list": 0.5, "curve": 0.5}
"""How many times as fast as what each is held beside."""
SHARDS_ERRORS = {0.01: 0.02, 0.1: 0.005}
"""The most that miss ratios from a sample of pages, by its rate, may be off in the mean over `SHARDS_SIZES` sizes."""
SHARDS_SIZES = 200
IN_CACHE = 5.0
"""What LRU has to reach where its table fits the processor's last cache."""

Way = Callable[[], tuple[int, float]]
Result = TypeVar("Result")


def main() -> int:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    try:
        return max(compare_replays(), time_stream())
    except TierwiseError as error:
        print(error, file=sys.stderr)
        return 1


def compare_replays() -> int:
    """Print a line for each trace, size and policy; 1 if any counts of misses differ."""
    try:
        library = importlib.import_module("libcachesim")
    except ImportError as error:
        library = None
        print(f"libCacheSim left out, {error} (pip install libcachesim)")
    differ = False
    if OLTP.exists():
        oltp = np.concatenate([chunk.pages for chunk in TraceReader(OLTP).chunks()])
        differ |= compare(library, "OLTP", oltp, OLTP_PAGES)
        _, read_s = timed(lambda: read_stream([OLTP], TraceOptions()))
        print(f"reading the text of OLTP for a curve takes {read_s:.2f} s")
    else:
        print("the OLTP trace is not on this machine: no ../shared/realdata/traces/OLTP.lis.zst")
    for items, sizes in ZIPFIANS:
        differ |= compare(library, f"zipfian of {items:,}", next(zipfian_pages(items, seed=1, chunk=ZIPFIAN_REQUESTS)), sizes)
    return int(differ)


def compare(library: Any, name: str, trace: Ints, sizes: tuple[int, ...]) -> bool:
    """Whether misses are others than libCacheSim's, or samples are too far from the whole."""
    with tempfile.TemporaryDirectory(prefix="tierwise-bench-") as folder:
        path = Path(folder) / "trace.bin"
        write_for_libcachesim(trace, path)
        differ = compare_samples(name, path)
        fits = 4 * int(trace.max()) < last_cache_bytes()
        for pages in sizes:
            ways = {policy: ours(trace, pages, policy) for policy in ("lru", "clock", "two-list")}
            ways["curve"] = whole_curve(trace, pages)
            ways["least"] = lambda: (0, timed(lambda: touch_each(np.zeros(int(trace.max()) + 1, np.int32), trace))[1])
            if library:
                ways |= {f"libCacheSim {kind}": theirs(library, kind, path, len(trace), pages) for kind in ("LRU", "Clock")}
            misses, took_s = in_turn(ways)
            least_ns = min(took_s["least"]) / len(trace) * 1e9
            for policy, other in (*BESIDE, ("curve", "libCacheSim LRU")):
                if other not in ways:
                    continue
                each_ns = min(took_s[policy]) / len(trace) * 1e9
                ratio = geometric_estimate([one / mine for mine, one in zip(took_s[policy], took_s[other], strict=True)])
                to_reach = IN_CACHE if policy == "lru" and fits else TO_REACH[policy]
                print(
                    f"{policy}, {name}, {pages:,} pages: {misses[policy]:,} misses of {len(trace):,}, {each_ns:.1f} ns a request at best"
                    f" (the least {least_ns:.1f}); {ratio.value:.2f} x as fast as {other}, {ratio.low:.2f} to {ratio.high:.2f}"
                    f" (to reach: {to_reach:g})",
                    flush=True,
                )
                if policy != "two-list" and misses[policy] != misses[other]:
                    print(f"MISSES DIFFER: {other} counts {misses[other]:,}")
                    differ = True
    return differ


def compare_samples(name: str, path: Path) -> bool:
    """Whether the miss ratios of samples are farther from the whole trace's than `SHARDS_ERRORS`."""

    def read(rate: float) -> tuple[Stream, float]:
        return timed(lambda: read_stream([path], TraceOptions(input_format="oracle"), sample_rate=rate))

    def curve(stream: Stream) -> Curve:
        return curve_of(stream.pages, stream.is_write, stream.relation, 1)

    read(1.0)  # compiles
    stream, read_s = read(1.0)
    whole, far = curve(stream), False
    print(f"{name}: {stream.requests:,} requests for {whole.most:,} pages; reading and numbering takes {read_s:.2f} s")
    spread = {
        "evenly": np.linspace(1, whole.most, SHARDS_SIZES),
        "by orders of magnitude": np.geomspace(1, whole.most, SHARDS_SIZES),
        "where none is counted exactly": np.geomspace(min(NEAR_PAGES, whole.most), whole.most, SHARDS_SIZES),
    }
    for rate, bound in SHARDS_ERRORS.items():
        sample, read_s = read(rate)
        estimate = SampledCurve(curve(sample), rate, sample.near)
        for how, sizes in spread.items():
            off = [abs(int(estimate.at(size).reads[0] - whole.at(size).reads[0])) / stream.requests for size in sizes.astype(int).tolist()]
            print(f"  sample of {rate:g}, sizes {how}: off by {np.mean(off):.5f}, at most {max(off):.5f} (bound of the mean: {bound:g})")
            far |= bool(np.mean(off) > bound)
        print(f"  its reading takes {read_s:.2f} s", flush=True)
    return far


def last_cache_bytes() -> int:
    """Return the processor's largest cache; 0 where Linux does not say."""
    sizes = Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")
    return max((int(size.read_text(encoding="ascii").strip().removesuffix("K")) * KIB for size in sizes), default=0)


def in_turn(ways: dict[str, Way]) -> tuple[dict[str, int], dict[str, list[float]]]:
    """Misses of each way, and its seconds in each of `REPEATS` rounds, after one that warms code and memory."""
    misses: dict[str, int] = {}
    took_s: dict[str, list[float]] = {name: [] for name in ways}
    for repeat in range(REPEATS + 1):
        for name in ways if repeat % 2 == 0 else reversed(ways):
            misses[name], lasted_s = ways[name]()
            took_s[name] += [lasted_s] if repeat else []
    return misses, took_s


def ours(trace: Ints, pages: int, policy: str) -> Way:
    """All of `replay`, its table included."""
    return lambda: timed(lambda: replay(trace, pages, policy).misses)


def whole_curve(trace: Ints, pages: int) -> Way:
    """Count the misses at every size; one size's are returned."""
    numbers = (trace - trace.min()).astype(np.int32)
    relation, writes = np.zeros(int(numbers.max()) + 1, np.int32), np.zeros(len(numbers), np.bool_)
    return lambda: timed(lambda: int(curve_of(numbers, writes, relation, 1).at(pages).reads[0]))


def theirs(library: Any, kind: str, path: Path, requests: int, pages: int) -> Way:
    """Run the library's loop alone, reading the mapped trace; its table has the size that suits it, far quicker than the default."""

    def run() -> tuple[int, float]:
        reader = library.TraceReader(trace=str(path), trace_type=library.TraceType.ORACLE_GENERAL_TRACE)
        cache = getattr(library, kind)(cache_size=pages, hashpower=max(16, (2 * pages).bit_length()))
        (miss_ratio, _), lasted_s = timed(lambda: cache.process_trace(reader))
        return round(miss_ratio * requests), lasted_s

    return run


def timed(run: Callable[[], Result]) -> tuple[Result, float]:
    """Return what `run` returns, and the seconds of the processor that it took: all run in one thread, and other work takes no part."""
    begun_s = time.process_time()
    result = run()
    return result, time.process_time() - begun_s


@compiled
def touch_each(table: Any, trace: Ints) -> int:
    """Each page's number is read, and written."""
    seen = 0
    for at in range(len(trace)):
        seen += table[trace[at]]
        table[trace[at]] = at
    return seen


def write_for_libcachesim(trace: Ints, path: Path) -> None:
    """Write the library's binary format `oracleGeneral`, which it reads fastest: every page an object of size 1."""
    record = np.dtype([("time", "<u4"), ("id", "<u8"), ("size", "<u4"), ("next", "<i8")])
    records = np.zeros(len(trace), record)
    records["id"], records["size"], records["next"] = trace, 1, -2
    records.tofile(path)


def time_stream() -> int:
    """Uniform requests through each policy, in its own process; 1 if one takes more memory than `STREAM_BYTES`.

    Any cache that has filled holds a request's page as often as it holds pages of the file: the share of hits that stands beside.
    """
    chance = np.random.default_rng(1)
    most_bytes = 0
    with tempfile.TemporaryDirectory(prefix="tierwise-bench-") as folder:
        path = Path(folder) / "trace.lis"
        with path.open("wb") as file:
            for _ in range(100):
                start = pl.Series("start", chance.integers(0, STREAM_PAGES, STREAM_REQUESTS // 100))
                rows = pl.DataFrame(start).with_columns(pl.lit(1).alias("blocks"), pl.lit(0).alias("x"), pl.lit(0).alias("request"))
                rows.write_csv(file, include_header=False, separator=" ")
        print(f"{STREAM_REQUESTS:,} requests over {STREAM_PAGES:,} pages, {path.stat().st_size / GIB:.1f} GiB of text", flush=True)
        for policy in TO_REACH:
            replaying = [sys.executable, "-c", MAP if policy == "curve" else STREAM, str(path), str(STREAM_CACHE), policy]
            begun_s = time.perf_counter()
            _, status, used = os.wait4(os.posix_spawn(sys.executable, replaying, os.environ), 0)
            lasted_s, used_s, used_bytes = time.perf_counter() - begun_s, used.ru_utime + used.ru_stime, used.ru_maxrss * KIB
            if status:
                return 1
            most_bytes = max(most_bytes, used_bytes)
            print(
                f"{policy}, {STREAM_CACHE:,} pages (hits to come near {STREAM_CACHE / STREAM_PAGES:.2f}): {lasted_s:.0f} s,"
                f" {used_s:.0f} of the processor, {used_bytes / GIB:.2f} GiB of memory (bound: {STREAM_BYTES / GIB:.0f})",
                flush=True,
            )
    return int(most_bytes > STREAM_BYTES)


if __name__ == "__main__":
    sys.exit(main())
