"""How much longer the first set-up of a fresh clone takes than ``pip install`` of the same pins alone, and where its time goes.

Run by name: ``python benchmarks/by_name/installation.py`` (eleven installations). In turn, each first in every other pair: ``make
.venv/.ready`` in a new clone of this checkout's last commit, and pip with the options of the set-up in a new environment, which is made
before the clock starts. An installation before the first pair fills pip's cache for both. Beside the ratio of times stands that of
processor time, which other work on the machine moves less. Bound: `BOUND`, of times.
"""

import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path
from typing import Final

from tierwise.analysis.statistics import geometric_estimate
from tierwise.core import paths

PAIRS: Final = 5
BOUND: Final = 1.2
PIP: Final = ("-I", "-m", "pip", "install", "--no-input", "--disable-pip-version-check")
PINS: Final = ("--require-hashes", "--only-binary", ":all:", "-r", "requirements.txt")
"""Options of pip for the pins, the same as those of scripts/setup_install.py."""


def main() -> int:
    times, processor = [], []
    with tempfile.TemporaryDirectory(prefix="tierwise-bench-") as name:
        folder = Path(name)
        bare(folder)
        for pair in range(PAIRS):
            took = {way.__name__: way(folder) for way in ((set_up, bare) if pair % 2 == 0 else (bare, set_up))}
            (ours_s, ours_used_s), (theirs_s, theirs_used_s) = took["set_up"], took["bare"]
            print(f"set-up {ours_s:.1f} s ({ours_used_s:.1f} of processors), pip {theirs_s:.1f} s ({theirs_used_s:.1f})", flush=True)
            times.append(ours_s / theirs_s)
            processor.append(ours_used_s / theirs_used_s)
    used, estimate = geometric_estimate(processor), geometric_estimate(times)
    print(f"ratio of processor time {used.value:.3f}, 95 % interval {used.low:.3f} to {used.high:.3f}")
    print(f"ratio of times {estimate.value:.3f}, 95 % interval {estimate.low:.3f} to {estimate.high:.3f} of {PAIRS} pairs (bound: {BOUND})")
    return int(estimate.low is not None and estimate.low > BOUND)


def set_up(folder: Path) -> tuple[float, float]:
    """Return the seconds of a clone's first set-up, and its processors'; its parts are printed."""
    clone = folder / "clone"
    subprocess.run(["git", "clone", "--quiet", str(paths.home()), str(clone)], check=True)
    begun = time.time()
    took = timed(["make", ".venv/.ready", "PROFILE=smoke", f"PYTHON={sys.executable}"], clone)
    environment = clone / ".venv"
    written = {
        record.parent.name.split("-")[0]: record.stat().st_mtime for record in environment.glob("lib/python*/site-packages/*/RECORD")
    }
    ends = {
        "the environment": written.pop("pip"),
        "the package": written.pop("tierwise"),
        "the pins": max(written.values()),
        "all": (environment / ".ready").stat().st_mtime,
    }
    said = [f"{part} after {until - begun:.1f} s" for part, until in sorted(ends.items(), key=itemgetter(1))]
    print(f"set-up: {', '.join(said)}", flush=True)
    shutil.rmtree(clone)
    return took


def bare(folder: Path) -> tuple[float, float]:
    """Return the seconds of pip alone, and its processors'."""
    environment = folder / "bare"
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    took = timed([str(environment / "bin" / "python"), *PIP, *PINS], paths.home())
    shutil.rmtree(environment)
    return took


def timed(command: Sequence[str], folder: Path) -> tuple[float, float]:
    """Run the command in `folder`; the seconds that it took, and those of processors."""
    before, begun_s = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.perf_counter() - begun_s, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    sys.exit(main())
