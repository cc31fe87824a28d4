"""How quickly 100 million single reads become histograms: DuckDB over the Parquet file of the view `reads`, beside a bare scan of a column.

Run: ``make bench``, or ``python benchmarks/reads.py [ROWS]``. The times are fabricated, log-normal by tablespace, as the speed depends on
their number alone. Both sides take the best of a few and at most `MEMORY_BYTES`. Bound: the histogram of all reads takes at most twice as
long as adding up their latencies; the one by tablespace, which reads a second column, is shown.
"""

import sys
import tempfile
import time
from pathlib import Path

import duckdb

from tierwise.analysis.views import OFFLINE
from tierwise.core.units import MIB

ROWS = 100_000_000
REPEATS = 3
BOUND = 2.0
MEMORY_BYTES = 512 * MIB
SPACES = {"hdd": (0.6, -5.2, 0.7), "ssd": (0.3, -8.6, 0.4), "cached": (0.1, -12.0, 0.5)}
"""Share of the reads; mean and deviation of the logarithm of seconds."""


def main(rows: int = ROWS) -> int:
    with tempfile.TemporaryDirectory(prefix="bench-reads-", dir="/var/tmp") as folder:
        connection = duckdb.connect(":memory:", config={**OFFLINE, "memory_limit": f"{MEMORY_BYTES}B", "temp_directory": folder})
        file = Path(folder) / "reads.parquet"
        make(connection, file, rows)
        connection.execute(f"create view reads as from read_parquet('{file}')")
        scan_s = best(connection, "select sum(latency_s) from reads")
        whole_s = best(connection, "select bucket, count(*) from reads group by bucket")
        spaces_s = best(connection, "select tablespace, bucket, count(*) from reads group by all")
        computed_s = best(connection, "select floor(log2(latency_s * 1e9))::utinyint, count(*) from reads group by 1")
    print(
        f"{rows:,} reads, {MEMORY_BYTES // MIB} MiB at most: sum of the latencies {scan_s:.2f} s; histogram {whole_s:.2f} s, by tablespace"
    )
    print(f"{spaces_s:.2f} s, with its buckets computed {computed_s:.2f} s; histogram over sum {whole_s / scan_s:.2f} (bound: {BOUND:g})")
    return int(whole_s > BOUND * scan_s)


def make(connection: duckdb.DuckDBPyConnection, file: Path, rows: int) -> None:
    """Write the columns that matter, as the bench would."""
    below, spaces, times = 0.0, "", ""
    for name, (share, mean, deviation) in SPACES.items():
        below += share
        spaces += f"when u < {below:.3f} then '{name}' "
        times += f"when u < {below:.3f} then exp({mean} + {deviation} * n) "
    connection.execute(
        f"copy (select case {spaces}else 'cached' end as tablespace, latency_s, floor(log2(latency_s * 1e9))::int::varchar as bucket from ("
        f"select u, case {times}else 1e-5 end as latency_s from ("
        f"select random() as u, sqrt(-2 * ln(random() + 1e-12)) * cos(2 * pi() * random()) as n from range({rows})))) "
        f"to '{file}' (format parquet)"
    )


def best(connection: duckdb.DuckDBPyConnection, query: str) -> float:
    """Seconds of `query`, the least of a few."""
    took_s = []
    for _ in range(REPEATS):
        begun_s = time.perf_counter()
        connection.execute(query).fetchall()
        took_s.append(time.perf_counter() - begun_s)
    return min(took_s)


if __name__ == "__main__":
    sys.exit(main(*(int(argument.replace("_", "")) for argument in sys.argv[1:2])))
