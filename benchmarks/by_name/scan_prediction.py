"""`tierwise predict-scan` beside a real server: 45 cells, three methods by five selectivities by three correlations, on an emulated drive.

Run by name, as root: ``python benchmarks/by_name/scan_prediction.py [DEVICE [IO_METHOD [PAGES [FILE]]]]``; `FILE` keeps what was measured,
and where it is there already only the judgement is made. For each correlation a table and an index on a buffered mount; for each cell the
server is stopped, the mount made anew, the server started and the query timed once, with nothing of either in memory, by a clock that
counts: processor time of all that the server runs, and the device model's time while all of it is blocked. The predictor is given the
correlation of pg_stats, and the processor of this machine: what a row and a page cost from the same query with all of it in shared buffers,
what reading costs from other scans of what the kernel has cached (`calibrate`). Nothing is fitted on a time that is predicted. Bounds:
distinct pages within 3 % of the server's own counter in every cell of at least 1,000, time within a factor of 1.5 in 36 cells of 45.
"""

import json
import random
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any, Final

import psutil
from scan_processor import measure_kernel

from tierwise.bench.stopwatch import cpu_s
from tierwise.core.session_group import SessionGroup, session_group
from tierwise.core.units import PAGE_BYTES
from tierwise.devices.parameter import Parameter
from tierwise.postgres.binaries import find_binaries
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.cold_proof import warm_catalogues
from tierwise.postgres.page_counts import PageCounter
from tierwise.postgres.relations import create_tablespace
from tierwise.postgres.settings import Connection
from tierwise.postgres.workspace import server_account
from tierwise.scans.methods import LEAF_ROWS
from tierwise.scans.prediction import Prediction, Scan, predict
from tierwise.scans.processor import Buffers, IoMethod, ReadingCosts, ScanMethod, load_processor
from tierwise.scans.rows import Table, jitter
from tierwise.tiers.emulated import Emulated
from tierwise.tiers.reclaim import reclaim

ROWS: Final = 20
"""Rows on a page."""
CORRELATIONS: Final = (1.0, 0.99, 0.0)
SELECTIVITIES: Final = (0.001, 0.01, 0.1, 0.5, 1.0)
PAGES_BOUND: Final = 0.03
JUDGED_PAGES: Final = 1_000
TIME_BOUND: Final = 1.5
ENOUGH: Final = 36
IO_WORKERS: Final = 3
PROCESSORS: Final = 2
"""As many as the machine that this is run on: processes that must take turns are counted longer than side by side."""
CALIBRATED: Final = 0.02
"""Share of the strewn rows that the calibration finds by a bitmap: of none of the cells."""
LEAST_US: Final = 0.01
"""The least that a cost may be, which must not be 0."""
WORK_MEM_MIB: Final = 256
SETTINGS: Final = {
    "shared_buffers": "256MB",
    "autovacuum": "off",
    "max_parallel_workers_per_gather": "0",
    "jit": "off",
    "work_mem": f"{WORK_MEM_MIB}MB",
    "synchronize_seqscans": "off",
}
SWITCHES: Final = {ScanMethod.SEQUENTIAL: "enable_seqscan", ScanMethod.INDEX: "enable_indexscan", ScanMethod.BITMAP: "enable_bitmapscan"}


@dataclass(frozen=True)
class Cell:
    """One scan: what the server did."""

    method: str
    table: dict[str, float]
    pages: int
    took_s: float
    device_s: float  # of that, while nobody computed
    session_s: float  # of the processor, for the session
    used_s: float  # of the processor, for all that the server runs
    warm_s: float  # of the processor, for the session with everything in shared buffers
    requests: int
    requested_pages: float


@dataclass
class Measured:
    device: str
    io_method: str
    reading_us: dict[str, float] = field(default_factory=dict)  # of the processor, on the device's mount
    cells: list[Cell] = field(default_factory=list)
    steal: float = 0.0
    idle: float = 0.0


@dataclass(frozen=True)
class Bench:
    """A server whose tables `t0`, `t1` … lie on a buffered mount: of each its pages, rows and correlation."""

    cluster: Cluster
    tier: Emulated
    group: SessionGroup
    tables: list[tuple[int, int, float]] = field(default_factory=list)

    def query(self, number: int, selectivity: float) -> str:
        wanted = Table(*self.tables[number], selectivity)
        return f"SELECT count(f) FROM t{number} WHERE k BETWEEN {wanted.first} AND {wanted.first + wanted.matched - 1}"


def main(device: str = "kingston-dc600m", io_method: str = "worker", pages: str = "10000", file: str = "") -> int:
    kept = Path(file) if file else None
    if kept and kept.exists():
        table = json.loads(kept.read_text(encoding="utf-8"))
        return judge(Measured(**table | {"cells": [Cell(**cell) for cell in table["cells"]]}))
    found = Measured(device, io_method)
    try:
        measure_all(found, int(pages))
    finally:
        if kept:
            kept.write_text(json.dumps(asdict(found), indent=1), encoding="utf-8")
    return judge(found)


def judge(found: Measured) -> int:
    """Print a line for each cell, and the hits; 0 where they are within the bounds."""
    print(", ".join(f"{name} {us:.2f} us" for name, us in found.reading_us.items()))
    in_order = sorted(found.cells, key=lambda cell: (-cell.table["correlation"], cell.method, cell.table["selectivity"]))
    hits = [hit(found, cell) for cell in in_order]
    pages_good, time_good, default_good = (sum(column) for column in zip(*hits, strict=True))
    print(
        f"{found.device}, {found.io_method}: pages good in {pages_good} of {len(hits)}, time within {TIME_BOUND:g} x in {time_good} "
        f"(bound: {ENOUGH} of 45), the device's part, or within 5 % of the time, in {default_good}; "
        f"steal {found.steal:.1%}, idle {found.idle:.1%}"
    )
    return int(pages_good < len(hits) or time_good < ENOUGH * len(hits) / 45)


def hit(found: Measured, cell: Cell) -> tuple[bool, bool, bool]:
    """Whether pages (where they are judged), time, and the device's part of it are within the bounds."""
    said = predicted(found, cell)
    apart = said.time_s / cell.took_s
    pages_good = cell.pages < JUDGED_PAGES or abs(said.pages / cell.pages - 1) <= PAGES_BOUND
    time_good = 1 / TIME_BOUND <= apart <= TIME_BOUND
    device_good = 1 / TIME_BOUND <= said.device_s / max(cell.device_s, 1e-9) <= TIME_BOUND
    device_good |= abs(said.device_s - cell.device_s) <= 0.05 * cell.took_s
    print(
        f"{cell.method:10} correlation {cell.table['correlation']:6.3f} selectivity {cell.table['selectivity']:5g}: {cell.pages:6} pages, "
        f"{said.pages:6} said; {cell.took_s * 1e3:8.1f} ms, {said.time_s * 1e3:8.1f} said: {apart:.2f} x; "
        f"device {cell.device_s * 1e3:8.1f} ms, {said.device_s * 1e3:8.1f} said; "
        f"session {cell.session_s * 1e3:.1f}, all processes {cell.used_s * 1e3:.1f}, warm {cell.warm_s * 1e3:.1f}; "
        f"{cell.requests} requests of {cell.requested_pages / max(1, cell.requests):.1f} pages"
        f"{'' if pages_good and time_good else '   <--'}",
        flush=True,
    )
    return pages_good, time_good, device_good


def predicted(found: Measured, cell: Cell) -> Prediction:
    """Return what is said of the cell, with this machine's processor."""
    pages, rows, correlation, selectivity = (cell.table[name] for name in ("pages", "rows", "correlation", "selectivity"))
    table, method, io_method = Table(int(pages), int(rows), correlation, selectivity), ScanMethod(cell.method), IoMethod(found.io_method)
    usual = load_processor()
    usual = usual.at(1 / usual.speed.value)
    warm = Scan(found.device, table, method, Buffers.WARM, io_method, work_mem_mib=WORK_MEM_MIB)
    slower = cell.warm_s / predict(warm, usual).time_s  # than in the file
    reading = {name: Parameter(value=us / slower, unit="us", source="calibrate") for name, us in found.reading_us.items()}
    here = usual.at(1 / slower).model_copy(update={"reading": ReadingCosts.model_validate(reading)})
    return predict(replace(warm, cache=Buffers.COLD, io_workers=IO_WORKERS, processors=PROCESSORS), here)


def measure_all(found: Measured, pages: int) -> None:
    before = psutil.cpu_times()
    with tempfile.TemporaryDirectory(prefix="tierwise-bench-", dir="/var/tmp") as folder:
        Path(folder).chmod(0o755)
        try:
            with session_group() as group:
                measure(found, Path(folder), group, pages)
        finally:
            reclaim(Path(folder))
            gone = {name: now - getattr(before, name) for name, now in psutil.cpu_times()._asdict().items()}
            found.steal, found.idle = (gone[name] / sum(gone.values()) for name in ("steal", "idle"))


def measure(found: Measured, folder: Path, group: SessionGroup, pages: int) -> None:
    account, io_method = server_account(), IoMethod(found.io_method)
    work = folder / "tier"
    work.mkdir()
    tier = Emulated("tier", found.device, work=work, stretch=1.0, seed=1, owner=(account.uid, account.gid))
    cluster = Cluster(folder / "server", find_binaries(), account)
    bench = Bench(cluster, tier, group)
    cluster.create()
    tier.start()
    tier.empty_cache(cached=True)
    try:
        with served(cluster, io_method) as conn:
            conn.execute("CREATE EXTENSION pg_prewarm")
            create_tablespace(conn, "tier", tier.directory)
            bench.tables.extend(load(conn, number, correlation, pages) for number, correlation in enumerate(CORRELATIONS))
        found.reading_us.update(calibrate(bench))
        order = list(product(range(len(CORRELATIONS)), ScanMethod, SELECTIVITIES))
        random.Random(1).shuffle(order)
        for number, method, selectivity in order:
            found.cells.append(run(bench, io_method, number, method, selectivity))
            print(len(found.cells), end=" ", flush=True)
    finally:
        cluster.stop()
        tier.stop()


@contextmanager
def served(cluster: Cluster, io_method: IoMethod, group: SessionGroup | None = None) -> Iterator[Connection]:
    with group.entered() if group else nullcontext():
        cluster.start({**SETTINGS, "io_method": str(io_method), "io_workers": str(IO_WORKERS)})
    try:
        with cluster.connect() as conn:
            yield conn
    finally:
        cluster.stop()


def load(conn: Connection, number: int, correlation: float, pages: int) -> tuple[int, int, float]:
    """Return a table on the tier; its pages, rows, and its correlation by pg_stats."""
    rows, filler = pages * ROWS, (PAGE_BYTES - 24) // ROWS - 4 - 24 - 8 - 8
    order = {1.0: "k", 0.0: "random()"}.get(correlation, f"k + random_normal(0, {jitter(correlation) * rows})")
    conn.execute("SET default_tablespace = tier; SET maintenance_work_mem = '256MB'")
    conn.execute(f"CREATE TABLE t{number} (k bigint, f text STORAGE PLAIN)")
    conn.execute(f"INSERT INTO t{number} SELECT k, repeat('x', {filler}) FROM generate_series(0, {rows - 1}) k ORDER BY {order}")
    conn.execute(f"CREATE INDEX t{number}_k ON t{number} (k)")
    conn.execute(f"ALTER TABLE t{number} ALTER k SET STATISTICS 1000")
    conn.execute(f"VACUUM (FREEZE, ANALYZE) t{number}")
    found = one(conn, f"SELECT pg_relation_size('t{number}') / {PAGE_BYTES}")[0]
    return int(found), rows, float(one(conn, f"SELECT correlation FROM pg_stats WHERE tablename = 't{number}' AND attname = 'k'")[0])


def kernel_s(tier: Emulated, group: SessionGroup) -> dict[str, float]:
    """Return what a call, a request and a page new to the kernel cost the processor, by reads that wait for the device as a cell does."""
    file = tier.directory / "file"
    with group.entered():
        tier.daemon.count_several(group.folders, processors=PROCESSORS, origin_s=0.0)
        tier.delays(True)
        try:
            return measure_kernel(file, usual=statistics.median)
        finally:
            tier.delays(False)
            tier.daemon.wait_in_real_time()
            file.unlink()


def calibrate(bench: Bench) -> dict[str, float]:
    """Return what reading costs the processor, in microseconds, by name as in `ReadingCosts`.

    Calls, requests and pages new to the kernel: `kernel_s`. The rest, from scans of what the kernel has cached, is what the session needs
    more than with everything in shared buffers, for the ordered table: in order (`copying`, and `ask` where others read), through the index
    (`fresh`), and for strewn rows by a bitmap where others read (`hand`, with the session's own processor time for the end of its wait).
    Check sums are in `copying`. By a clock that counts, waking a process takes no time (`wake`).
    """
    costs_s = kernel_s(bench.tier, bench.group)
    pages, rows, _ = bench.tables[0]
    in_order, by_index = (0, ScanMethod.SEQUENTIAL, 1.0), (0, ScanMethod.INDEX, 1.0)
    strewn = (2, ScanMethod.BITMAP, CALIBRATED)
    more_s = {
        (scan, io_method): scan_cpu_s(bench, io_method, *scan) - scan_cpu_s(bench, io_method, *scan, warm=True)
        for io_method, scans in ((IoMethod.SYNC, (in_order, by_index)), (IoMethod.WORKER, (in_order, strewn)))
        for scan in scans
    }
    ask_s = more_s[in_order, IoMethod.WORKER] / pages
    copying_s = more_s[in_order, IoMethod.SYNC] / pages - costs_s["call"] / 16 - ask_s
    strewn_pages = bench.tables[2][0] * (1 - (1 - CALIBRATED) ** ROWS)
    found_s = {
        **costs_s,
        "copying": copying_s,
        "fresh": more_s[by_index, IoMethod.SYNC] / (pages + rows / LEAF_ROWS) - copying_s - ask_s - costs_s["call"],
        "ask": ask_s,
        "hand": more_s[strewn, IoMethod.WORKER] / strewn_pages - ask_s,
        "check": 0.0,
        "wake": 0.0,
    }
    return {name: max(LEAST_US, seconds * 1e6) for name, seconds in found_s.items()}


def scan_cpu_s(bench: Bench, io_method: IoMethod, number: int, method: ScanMethod, selectivity: float, *, warm: bool = False) -> float:
    """Processor time of the session for a scan of what the kernel, or all of it shared buffers, holds; the median of three."""
    query, found_s = bench.query(number, selectivity), []
    how = "buffer" if warm else "read"
    for _ in range(3):
        with served(bench.cluster, io_method) as conn:
            prepare(conn, method, query)
            conn.execute(f"SELECT pg_prewarm('t{number}', '{how}'), pg_prewarm('t{number}_k', '{how}')")
            found_s.append(session_s(conn, query))
    return statistics.median(found_s)


def session_s(conn: Connection, query: str) -> float:
    before_s = cpu_s(conn.info.backend_pid)
    conn.execute(query)
    return cpu_s(conn.info.backend_pid) - before_s


def prepare(conn: Connection, method: ScanMethod, query: str) -> None:
    for other, switch in SWITCHES.items():
        conn.execute(f"SET {switch} = {'on' if other is method else 'off'}")
    warm_catalogues(conn, query)


def run(bench: Bench, io_method: IoMethod, number: int, method: ScanMethod, selectivity: float) -> Cell:
    """Stop the server, so that nothing is in memory but catalogues."""
    tier, name, query = bench.tier, f"t{number}", bench.query(number, selectivity)
    tier.empty_cache()
    with served(bench.cluster, io_method, bench.group) as conn:
        try:
            prepare(conn, method, query)
            tier.forget()
            tier.daemon.count_several(bench.group.folders, processors=PROCESSORS, origin_s=0.0)
            tier.delays(True)
            tier.reset_io()
            with PageCounter(conn, [name]) as counter:
                begun = tier.daemon.time()
                own_s = session_s(conn, query)
                ended = tier.daemon.time()
        finally:
            tier.delays(False)
            tier.daemon.wait_in_real_time()
        requests = tier.io().values()
        conn.execute(f"SELECT pg_prewarm('{name}'), pg_prewarm('{name}_k')")
        warm_s = statistics.median(session_s(conn, query) for _ in range(3))
    return Cell(
        str(method),
        asdict(Table(*bench.tables[number], selectivity)),
        counter.pages[name].reads,
        ended.now_s - begun.now_s,
        ended.jumped_s - begun.jumped_s,
        own_s,
        ended.used_s - begun.used_s,
        warm_s,
        sum(io.reads for io in requests),
        sum(io.read_bytes for io in requests) / PAGE_BYTES,
    )


def one(conn: Connection, query: str) -> Sequence[Any]:
    row = conn.execute(query).fetchone()
    assert row is not None
    return row


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
