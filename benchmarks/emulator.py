"""What the emulated mount costs by itself: latency that it adds, requests that it can take, processor time of each.

Run: ``make bench``, or ``python benchmarks/emulator.py``. Everything is 8 KiB direct reads of one file, which lies in the page cache below
the mount, beside the same reads of the plain directory in the same run; figures depend on the machine, ratios less so.
"""

import mmap
import multiprocessing
import os
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

import psutil

from tierwise.core.errors import TierwiseError
from tierwise.core.units import MIB, PAGE_BYTES
from tierwise.tiers.emulated import Emulated

FILE_BYTES = 64 * MIB
DURATION_S = 2.0
JOBS = (1, 2, 4, 8)


def read(path: Path, seed: int) -> list[float]:
    """Seconds that each read took, one at a time for `DURATION_S`."""
    chance, took_s = random.Random(seed), []
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECT)
    with mmap.mmap(-1, PAGE_BYTES) as page:
        end_s = time.perf_counter() + DURATION_S
        while (begun_s := time.perf_counter()) < end_s:
            os.preadv(descriptor, [page], chance.randrange(FILE_BYTES // PAGE_BYTES) * PAGE_BYTES)
            took_s.append(time.perf_counter() - begun_s)
    os.close(descriptor)
    return took_s


def read_from(path: Path, jobs: int) -> list[float]:
    """The same by `jobs` processes at once."""
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        return [took_s for part in pool.starmap(read, [(path, job) for job in range(jobs)]) for took_s in part]


def report(what: str, took_s: list[float], extra: str = "") -> None:
    quantiles = statistics.quantiles(took_s, n=100)
    print(
        f"{what:25} {len(took_s) / DURATION_S:9,.0f} IOPS   p50 {quantiles[49] * 1e6:7.1f} us   p99 {quantiles[98] * 1e6:7.1f} us   "
        f"mean {statistics.mean(took_s) * 1e6:7.1f} us{extra}",
        flush=True,
    )


def main() -> int:
    try:
        with tempfile.TemporaryDirectory(prefix="tierwise-bench-") as folder:
            compare(Path(folder))
    except TierwiseError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def compare(folder: Path) -> None:
    """Print a table: plain directory, mount without delays, mount as an ssd and as a disk array."""
    plain = folder / "plain"
    plain.write_bytes(bytes(FILE_BYTES))
    with plain.open("rb") as file:
        os.fsync(file.fileno())
    alone_s: list[float] = []
    for jobs in JOBS:
        took_s = read_from(plain, jobs)
        report(f"plain directory, {jobs} jobs", took_s)
        alone_s = alone_s or took_s
    for device in ("mtron-3025", "sata-7k2-x6"):
        work = folder / device
        tier = Emulated("bench", device, work=work, stretch=1.0, seed=1, owner=(os.getuid(), os.getgid()))
        tier.start()
        try:
            measure(tier, alone_s if device == "mtron-3025" else None)
        finally:
            tier.stop()


def measure(tier: Emulated, plain_s: list[float] | None) -> None:
    """One tier; without delays, too, where `plain_s` is given to compare with."""
    path = tier.directory / "file"
    path.write_bytes(bytes(FILE_BYTES))
    daemon = psutil.Process(tier.daemon_pid)
    for delayed in (False, True) if plain_s else (True,):
        tier.delays(delayed)
        for jobs in JOBS:
            tier.reset_io()
            used_s = sum(daemon.cpu_times()[:2])
            took_s = read_from(path, jobs)
            used_s = sum(daemon.cpu_times()[:2]) - used_s
            io = tier.io()["file"]
            overshoot_us = (io.actual_s - io.intended_s) / io.reads * 1e6
            extra = f"   daemon {used_s / len(took_s) * 1e6:5.1f} us/request"
            if delayed:
                extra += f"   intended {io.intended_s / io.reads * 1e6:8.1f} us   overshoot {overshoot_us:5.1f} us"
            report(f"{tier.device if delayed else 'no delays'}, {jobs} jobs", took_s, extra)
            if plain_s and not delayed and jobs == 1:
                ratio = statistics.median(took_s) / statistics.median(plain_s)
                print(f"{'':25} {ratio:.2f} x the plain directory's median latency")


if __name__ == "__main__":
    sys.exit(main())
