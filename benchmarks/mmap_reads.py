"""How fast threads read a file that is in memory through mmap, by a Zipfian: ours beside fio's mmap engine, on the same file, in turn.

Run: ``make bench``, or ``python benchmarks/mmap_reads.py``. 1 KiB a read, theta 0.99, for one thread and for eight; the ratio is the
geometric mean over the rounds, with its interval. fio (apt-get install fio) is no dependency: without it the comparison is left out.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from tierwise.analysis.statistics import geometric_estimate
from tierwise.core.units import MIB
from tierwise.simulate.zipfian import THETA
from tierwise.studies.ram_or_ssd.measuring.mapped_reads import ITEM_BYTES, Reading, read_mapped, write_items

FILE_BYTES: Final = 256 * MIB
ROUNDS: Final = 7
LASTS_S: Final = 1.0
THREADS: Final = (1, 8)


def main() -> int:
    if not shutil.which("fio"):
        print("mmap reads beside fio: left out, there is no fio (apt-get install fio)")
        return 0
    with tempfile.TemporaryDirectory(prefix="tierwise-bench-") as folder:
        path = Path(folder) / "items"
        write_items(path, FILE_BYTES // ITEM_BYTES)
        read_per_s(path, 1)  # compiled, and in memory
        return max(int(compare(path, threads) < 1) for threads in THREADS)


def compare(path: Path, threads: int) -> float:
    """Print one line; how many times as fast ours are."""
    rounds = [(read_per_s(path, threads), fio_per_s(path, threads)) for _ in range(ROUNDS)]
    ratio = geometric_estimate([ours / theirs for ours, theirs in rounds])
    assert ratio.value is not None
    ours, theirs = (geometric_estimate(each).value or 0.0 for each in zip(*rounds, strict=True))
    said = f" ({ratio.low:.2f} to {ratio.high:.2f})" if ratio.low and ratio.high else ""
    print(
        f"mmap, {threads} threads, {FILE_BYTES // MIB} MiB in memory: {ours:,.0f} reads/s, fio {theirs:,.0f}: "
        f"{ratio.value:.2f} x{said}, {ROUNDS} rounds in turn",
        flush=True,
    )
    return ratio.value


def read_per_s(path: Path, threads: int) -> float:
    """Ours."""
    items = FILE_BYTES // ITEM_BYTES
    first, last = read_mapped(Reading(path, items, scale=1, threads=threads, random=False, intervals=1, interval_s=LASTS_S, seed=1))
    assert not last.wrong
    return (last.reads - first.reads) / (last.time_s - first.time_s)


def fio_per_s(path: Path, threads: int) -> float:
    """fio's, without its clock calls for each read and without its own eviction of the file."""
    options = {
        "name": "zipf",
        "filename": path,
        "ioengine": "mmap",
        "rw": "randread",
        "random_distribution": f"zipf:{THETA}",
        "bs": ITEM_BYTES,
        "size": FILE_BYTES,
        "numjobs": threads,
        "runtime": f"{LASTS_S:g}",
        "output-format": "json",
    }
    flags = ("thread", "time_based", "group_reporting", "norandommap", "gtod_reduce=1", "invalidate=0")
    command = ["fio", *(f"--{name}={value}" for name, value in options.items()), *(f"--{flag}" for flag in flags)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return float(json.loads(said)["jobs"][0]["read"]["iops"])


if __name__ == "__main__":
    sys.exit(main())
