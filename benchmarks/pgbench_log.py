"""What pgbench's own log costs: its processor time for a transaction without a log, with one line a transaction, and with one a second.

Processor time, because a rate depends on whatever else the machine does. Run: python benchmarks/pgbench_log.py
"""

import re
import resource
import shutil
import statistics
import subprocess
import tempfile
from typing import Final

from tierwise.core.units import MIB
from tierwise.core.vocabulary import IoMode
from tierwise.postgres import pgbench
from tierwise.postgres.binaries import find_binaries
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.settings import loading_settings, measuring_settings
from tierwise.postgres.workspace import open_workspace, server_account

SCALE: Final = 10
CLIENTS: Final = 8
SECONDS: Final = 4
REPEATS: Final = 5
LOGS: Final = {"no log": [], "a line a transaction": ["--log"], "a line a second": ["--log", "--aggregate-interval=1"]}


def spent(cluster: Cluster, script: str, log: list[str]) -> tuple[float, float]:
    """(microseconds of pgbench's processor time for a transaction, transactions a second) of one run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    options = ["--no-vacuum", f"--builtin={script}", f"--client={CLIENTS}", f"--time={SECONDS}", *log]
    with tempfile.TemporaryDirectory() as folder:
        said = subprocess.run(pgbench.command(cluster, options), cwd=folder, capture_output=True, text=True, check=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    done, rate = (float(found[1]) for found in (re.search(r"processed: (\d+)", said), re.search(r"tps = ([\d.]+)", said)) if found)
    return 1e6 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / done, rate


def main() -> None:
    """Measure, interleaved, and print medians."""
    folder = open_workspace() / "benchmark-pgbench-log"
    shutil.rmtree(folder, ignore_errors=True)
    cluster = Cluster(folder, find_binaries(), server_account())
    cluster.create()
    try:
        cluster.start(loading_settings())
        pgbench.initialise(cluster, SCALE, tables="pg_default", indexes="pg_default")
        cluster.stop()
        cluster.start(measuring_settings(cluster.binaries, io_mode=IoMode.BUFFERED, shared_buffers_bytes=400 * MIB))
        for script in ("select-only", "tpcb-like"):
            runs = [{name: spent(cluster, script, log) for name, log in LOGS.items()} for _ in range(REPEATS)]
            for name in LOGS:
                cpu_us, rate = (statistics.median(run[name][part] for run in runs) for part in (0, 1))
                print(f"{script:12} {name:22} {cpu_us:7.1f} us of pgbench's processor a transaction, {rate:8.0f} transactions/s")
    finally:
        cluster.stop("immediate")
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
