"""What scans cost the processor on this machine: the figures of data/machines/postgres-18-scans.toml, measured anew.

Run by name: ``python benchmarks/by_name/scan_processor.py`` (some minutes, 5 GB below /var/tmp). A real PostgreSQL 18 of its own; two
tables of 4 and 40 rows a page, in the order of the column and in none. Everything in shared buffers, then in the kernel's cache alone.
Processor time of the session from ``/proc/PID/schedstat``, the least of several repetitions; costs by non-negative least squares over the
relative errors. What a page costs that the kernel has to fetch: preadv on a file, its pages cached or not.
"""

import math
import mmap
import os
import resource
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
import psutil
from scipy.optimize import nnls

from tierwise.core.units import KIB, MIB, PAGE_BYTES
from tierwise.postgres.binaries import find_binaries
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.settings import Connection
from tierwise.postgres.workspace import server_account
from tierwise.scans.rows import lossy_share

PAGES: Final = 100_000
"""Far more than a processor caches."""
ROWS: Final = (4, 40)
SELECTED: Final = (0.01, 0.1, 1.0)
REPEATS: Final = 7
SETTINGS: Final = {
    "shared_buffers": "1GB",
    "autovacuum": "off",
    "max_parallel_workers_per_gather": "0",
    "jit": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "8GB",
    "bgwriter_lru_maxpages": "0",
}
SCANS: Final = {
    "sequential": "SET enable_seqscan=on; SET enable_indexscan=off; SET enable_bitmapscan=off",
    "index": "SET enable_seqscan=off; SET enable_indexscan=on; SET enable_indexonlyscan=off; SET enable_bitmapscan=off",
    "bitmap": "SET enable_seqscan=off; SET enable_indexscan=off; SET enable_bitmapscan=on",
}
TABLES: Final = [(order, rows) for order in ("k", "random()") for rows in ROWS]


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="tierwise-bench-", dir="/var/tmp") as folder:
        Path(folder).chmod(0o755)
        cluster = Cluster(Path(folder) / "server", find_binaries(), server_account())
        cluster.create()
        with steal() as stolen:
            with served(cluster) as conn:
                for order, rows in TABLES:
                    load(conn, order, rows)
            with served(cluster) as conn:
                warm = measure_warm(conn)
            measure_reading(cluster, warm, measure_kernel(Path(folder) / "file"))
        print(f"steal {stolen[0]:.1%} of the processors' time")
    return 0


@contextmanager
def steal() -> Iterator[list[float]]:
    """Append the share of processor time that the host kept for itself meanwhile."""
    before, found = psutil.cpu_times(), list[float]()
    yield found
    gone = [now - then for now, then in zip(psutil.cpu_times(), before, strict=True)]
    found.append(gone[psutil.cpu_times()._fields.index("steal")] / sum(gone))


@contextmanager
def served(cluster: Cluster, **settings: str) -> Iterator[Connection]:
    cluster.start({**SETTINGS, **settings})
    try:
        with cluster.connect() as conn:
            conn.execute("SET work_mem = '1GB'; SET maintenance_work_mem = '1GB'")
            yield conn
    finally:
        cluster.stop()


def name_of(order: str, rows: int) -> str:
    return f"t_{'ordered' if order == 'k' else 'strewn'}_{rows}"


def load(conn: Connection, order: str, rows: int) -> None:
    """Return a table of about `PAGES` pages, its index, hint bits and visibility map."""
    name, filler = name_of(order, rows), (PAGE_BYTES - 24) // rows - 4 - 24 - 8 - 8
    with conn.transaction():
        conn.execute(f"CREATE TABLE {name} (k bigint, f text STORAGE PLAIN)")
        keys = f"generate_series(0, {PAGES * rows - 1}) k"
        conn.execute(f"INSERT INTO {name} SELECT k, repeat('x', {filler}) FROM {keys} ORDER BY {order}")
        conn.execute(f"CREATE INDEX {name}_k ON {name} (k)")
    conn.execute(f"VACUUM ANALYZE {name}")


def processor_s(pid: int) -> float:
    """Return the processor time of all threads of the process so far."""
    return int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[0]) / 1e9


def took_s(conn: Connection, table: str, low: int, high: int, *, repeats: int = REPEATS) -> float:
    """Processor time of the session for the query, the least of `repeats`."""
    found = []
    for _ in range(repeats):
        before_s = processor_s(conn.info.backend_pid)
        conn.execute(f"SELECT count(f) FROM {table} WHERE k BETWEEN {low} AND {high}", prepare=False)
        found.append(processor_s(conn.info.backend_pid) - before_s)
    return min(found)


def measure_warm(conn: Connection) -> dict[tuple[str, str, float], float]:
    """Print the costs of what is in shared buffers; seconds by method, table and share."""
    conn.execute("CREATE EXTENSION pg_prewarm")
    statement_s = math.inf
    found: dict[tuple[str, str, float], float] = {}
    features: dict[str, list[list[float]]] = {method: [] for method in SCANS}
    for order, rows in TABLES:
        table = name_of(order, rows)
        conn.execute(f"SELECT pg_prewarm('{table}'), pg_prewarm('{table}_k')")
        pages, total = one(conn, f"SELECT pg_relation_size('{table}') / {PAGE_BYTES}, count(*) FROM {table}")
        for method, settings in SCANS.items():
            conn.execute(settings)
            if method == "index":
                statement_s = min(statement_s, took_s(conn, table, -2, -1, repeats=5 * REPEATS))
            for share in SELECTED if method != "sequential" else (1e-6, 0.1, 1.0):
                matched = max(1, round(total * share))
                low = (total - matched) // 2
                found[method, table, share] = took_s(conn, table, low, low + matched - 1)
                touched, jumps = matched * pages / total, 0.0
                if order != "k":
                    touched, jumps = pages * (1 - (1 - matched / total) ** (total / pages)), float(matched)
                features[method].append(
                    {
                        "sequential": [pages, total, matched],
                        "index": [matched, 0.0 if jumps else touched, jumps],
                        "bitmap": [matched, touched],
                    }[method]
                )
    for method, names in {"sequential": "page row match", "index": "row page jump", "bitmap": "row page"}.items():
        times = np.array([seconds for (of, _, _), seconds in found.items() if of == method]) - statement_s
        solved, _ = nnls(np.array(features[method]) / times[:, None], np.ones(len(times)))
        errors = np.array(features[method]) @ solved / times
        print(f"{method}:", ", ".join(f"{name} {cost * 1e9:.0f} ns" for name, cost in zip(names.split(), solved, strict=True)), end="; ")
        print(f"fitted over measured {errors.min():.2f} to {errors.max():.2f}", flush=True)
    print(f"statement: {statement_s * 1e6:.0f} us (no row, through the index)", flush=True)
    print(f"bitmap: outside {outside_s(conn) * 1e9:.0f} ns", flush=True)
    return found


def outside_s(conn: Connection) -> float:
    """Return the processor time of a row outside the range on a lossy page: what a bitmap of 64 kB takes longer than one of 1 GB."""
    rows, share = max(ROWS), min(SELECTED)
    table = name_of("random()", rows)
    matched = round(PAGES * rows * share)
    low = (PAGES * rows - matched) // 2
    conn.execute(SCANS["bitmap"])
    times_s = {}
    for memory in ("64kB", "1GB"):
        conn.execute(f"SET work_mem = '{memory}'")
        times_s[memory] = took_s(conn, table, low, low + matched - 1)
    touched = PAGES * (1 - (1 - share) ** rows)
    lossy = lossy_share(touched, 64 * KIB) * touched
    return (times_s["64kB"] - times_s["1GB"]) / (lossy * (rows - matched / touched))


def one(conn: Connection, query: str) -> tuple[Any, ...]:
    row = conn.execute(query).fetchone()
    assert row is not None
    return row


def measure_reading(cluster: Cluster, warm: dict[tuple[str, str, float], float], kernel: dict[str, float]) -> None:
    """Print what a page costs that the kernel has and shared buffers have not: in order 16 a call into a ring of buffers, at random one."""
    per: dict[str, float] = {}
    for method, table, share, pages in (
        ("sequential", "t_ordered_4", 1e-6, PAGES),
        ("index", "t_strewn_4", 0.1, round(PAGES * (1 - 0.9**4))),
    ):
        times = []
        for _ in range(3):
            with served(cluster, io_method="sync") as conn:  # with buffers that nobody has used yet
                conn.execute(SCANS[method])
                matched = max(1, round(PAGES * 4 * share))
                low = (PAGES * 4 - matched) // 2
                conn.execute(f"SELECT count(*) FROM {table} WHERE k = -1")
                times.append(took_s(conn, table, low, low + matched - 1, repeats=1))
        per[method] = (min(times) - warm[method, table, share]) / pages
    copying_s = per["sequential"] - kernel["call"] / 16
    print(f"copying {copying_s * 1e6:.2f} us, fresh {(per['index'] - copying_s - kernel['call']) * 1e6:.2f} us a page", flush=True)


def measure_kernel(path: Path, usual: Callable[[list[float]], float] = min) -> dict[str, float]:
    """Print and return what a call, a request of the device and a page new in the kernel's cache cost the process that reads.

    `usual` says which of the repetitions counts: the least is the machine's own, the median what it takes beside other work.
    """
    size = 256 * MIB
    path.write_bytes(os.urandom(MIB) * (size // MIB))
    times: dict[bool, list[float]] = {False: [], True: []}
    lengths = (PAGE_BYTES, 128 * KIB)
    for length in lengths:
        offsets = np.random.default_rng(1).permutation(size // length)[:2_000] * length
        read_s(path, offsets, length, drop=False)
        for drop, found in times.items():
            found.append(usual([read_s(path, offsets, length, drop=drop) for _ in range(REPEATS)]) / len(offsets))
    page_s, new_s = ((found[1] - found[0]) / 15 for found in times.values())
    costs = {"call": times[False][0] - page_s, "fill": new_s - page_s}
    costs["request"] = times[True][0] - times[False][0] - costs["fill"]
    print(", ".join(f"{name} {cost_s * 1e6:.2f} us" for name, cost_s in costs.items()), flush=True)
    return costs


def read_s(path: Path, offsets: np.ndarray[Any, Any], length: int, *, drop: bool) -> float:
    """Processor time of reading `length` bytes at each of `offsets`, the pages dropped before or not."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)
        if drop:
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        with mmap.mmap(-1, length) as buffer:
            before = resource.getrusage(resource.RUSAGE_SELF)
            for offset in offsets.tolist():
                os.preadv(descriptor, [buffer], offset)
            after = resource.getrusage(resource.RUSAGE_SELF)
    finally:
        os.close(descriptor)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    sys.exit(main())
