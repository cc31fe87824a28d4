"""How much longer the census takes to load from Parquet than by psql's bare ``COPY`` of the raw file.

Run: ``make bench``, or ``python benchmarks/loading.py``. One server, one table, the same million rows, the settings of the study's own
loading; both sides empty the table in the transaction that fills it, so that neither is logged, and each begins every other pair. The ratio
depends little on the machine, as long as nothing else keeps its two processors busy.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import polars.selectors as cs

from tierwise.analysis.statistics import geometric_estimate
from tierwise.bench.workspace import exclusive_workspace
from tierwise.core import paths
from tierwise.core.errors import TierwiseError
from tierwise.core.units import MIB
from tierwise.datasets import census
from tierwise.postgres.binaries import find_binaries
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.loading import copy_parquet
from tierwise.postgres.settings import Connection, loading_settings
from tierwise.postgres.workspace import server_account

ROWS = 1_000_000
REPEATS = 6
BOUND = 1.25
COLUMNS = list(census.TYPES)


def main() -> int:
    try:
        data = census.acquire("synthetic", fraction=ROWS / census.ROWS, seed=1, folder=paths.data() / "external" / "census")
        with exclusive_workspace() as workspace, tempfile.TemporaryDirectory(prefix="bench-loading-", dir=workspace) as folder:
            Path(folder).chmod(0o755)  # the server's account must pass
            return compare(data.parquet, Path(folder))
    except TierwiseError as error:
        print(error, file=sys.stderr)
        return 1


def compare(parquet: Path, folder: Path) -> int:
    """Print each pair and their ratio; 1 if its whole interval lies above `BOUND`."""
    raw = folder / "census.txt"
    as_raw = pl.scan_parquet(parquet).select(COLUMNS).with_columns(cs.boolean().cast(pl.UInt8))
    as_raw.sink_csv(raw, separator="\t", include_header=False)
    cluster = Cluster(folder / "cluster", find_binaries(), server_account())
    cluster.create()
    cluster.start(loading_settings())
    print(f"{ROWS:,} rows, {raw.stat().st_size / MIB:,.0f} MiB of text, PostgreSQL {cluster.server_version}", flush=True)
    try:
        with cluster.connect() as connection:
            connection.execute(census.ddl("census"))
            ratios = [
                measure(connection, parquet, cluster.binaries.path("psql"), raw, ours_first=turn % 2 == 0) for turn in range(REPEATS + 1)
            ]
    finally:
        cluster.stop()
    estimate = geometric_estimate(ratios[1:])  # the first pair warms files and code
    print(f"ratio {estimate.value:.3f}, 95 % interval {estimate.low:.3f} to {estimate.high:.3f} of {REPEATS} pairs (bound: {BOUND})")
    return int(estimate.low is not None and estimate.low > BOUND)


def measure(connection: Connection, parquet: Path, psql: Path, raw: Path, *, ours_first: bool) -> float:
    """Print the seconds of both, one right after the other; their ratio."""
    ways: dict[str, Callable[[], object]] = {
        "copy_parquet": lambda: copy_parquet(connection, parquet, "census", COLUMNS),
        "\\copy": lambda: bare_copy(connection, psql, raw),
    }
    took_s = {}
    for name in ways if ours_first else reversed(ways):
        connection.execute("CHECKPOINT")
        begun_s = time.perf_counter()
        ways[name]()
        took_s[name] = time.perf_counter() - begun_s
        found = connection.execute("SELECT count(*) FROM census").fetchone()
        assert found == (ROWS,), f"{name} loaded {found} rows"
    print(", ".join(f"{name} {took_s[name]:.2f} s" for name in ways), flush=True)
    return took_s["copy_parquet"] / took_s["\\copy"]


def bare_copy(connection: Connection, psql: Path, raw: Path) -> None:
    """Empty the table and fill it from `raw` by one psql, beside `connection`."""
    info = connection.info
    where = [f"--host={info.host}", f"--port={info.port}", f"--username={info.user}", f"--dbname={info.dbname}"]
    commands = ["BEGIN", "TRUNCATE census", f"\\copy census ({', '.join(COLUMNS)}) FROM '{raw}'", "COMMIT"]
    said = [f"--command={command}" for command in commands]
    subprocess.run([psql, "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", *where, *said], check=True)


if __name__ == "__main__":
    sys.exit(main())
