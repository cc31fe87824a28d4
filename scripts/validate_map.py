"""Compare what `map` finds from recorded page requests with PostgreSQL at ten sizes of shared_buffers: misses, and time of placements.

python scripts/validate_map.py        (as root with bpftrace; some minutes; writes data/validation/map.json)

The maps of three loads, with placements, cost and the five-minute rule, are computed from the requests of `MAPPED`.
Each point's load runs from an empty server: once recorded with `RECORDED_BUFFERS`, once counted with the point's buffers, and once by
each of `PLACEMENTS` on emulated tiers, with direct I/O in virtual time. The rule, fixed before the first comparison of times: a point's
time is right if the time of each placement is within `ALLOWED_TIME`. Its order is right if of every two placements whose times differ by
more than `TIED`, the faster one is predicted to be faster. Nine of the ten times, and each order, must be right.
"""

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import date
from itertools import groupby, permutations
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

from tierwise.advisor.memory_map import LOG_TIER, Size, Wish, map_traces, paces
from tierwise.core import paths
from tierwise.core.files import write_whole
from tierwise.core.pairs import load_pair
from tierwise.core.text_table import table
from tierwise.core.units import GIB, PAGE_BYTES
from tierwise.core.vocabulary import IoMode
from tierwise.costs.book import load_book
from tierwise.costs.break_even import memory_over
from tierwise.costs.iops import device_iops
from tierwise.datasets import census
from tierwise.postgres import pgbench
from tierwise.postgres.binaries import find_binaries
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.loading import copy_parquet, loading
from tierwise.postgres.page_counts import PageCount, PageCounter
from tierwise.postgres.relations import move
from tierwise.postgres.settings import PROCESSES, SESSIONS, Connection, measuring_settings, one_value
from tierwise.postgres.workspace import open_workspace, server_account
from tierwise.recorders import page_requests
from tierwise.recorders.reads import find_server
from tierwise.simulate import shared_buffers
from tierwise.simulate.page_trace import TraceOptions
from tierwise.tiers.daemon import Daemon
from tierwise.tiers.emulated import Emulated
from tierwise.tiers.open import open_tier

RECORDED_BUFFERS: Final = 128
"""So few that every large scan has a ring."""
CENSUS_FRACTION: Final = 0.05
DATA_SEED: Final = 48
COUNTS: Final = 14
SCALE: Final = 5
TRANSACTIONS: Final = 40_000
ALLOWED_SHARE, ALLOWED_PAGES = 0.10, 10
ALLOWED_TIME, TIED = 0.15, 0.10
PUBLISHED_SCAN: Final = "SET enable_indexonlyscan = off; SET enable_bitmapscan = off; SET enable_seqscan = off"


class Point(NamedTuple):
    """Buffers as a share of the table and its index; `skew` is that of pgbench's lookups."""

    workload: str
    share: float
    seed: int
    skew: float = 0.0


POINTS: Final = (
    Point("census", 0.03, 101),
    Point("census", 0.10, 102),
    Point("census", 0.25, 103),
    Point("census", 0.50, 104),
    Point("census", 0.80, 105),
    Point("pgbench", 0.03, 201),
    Point("pgbench", 0.10, 202, 1.1),
    Point("pgbench", 0.25, 203),
    Point("pgbench", 0.50, 204, 1.1),
    Point("pgbench", 0.80, 205),
)
MAPPED: Final = {105: "census counts", 205: "pgbench lookups, uniform", 204: "pgbench lookups, skewed"}
"""Seed of the point -> its load."""
MAP_SHARES: Final = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
TIERS: Final = "today-server"
PRICES: Final = date(2026, 11, 1)
PLACEMENTS: Final = {"disk": ("hdd", "hdd"), "table_ssd": ("ssd", "hdd"), "index_ssd": ("hdd", "ssd"), "ssd": ("ssd", "ssd")}
"""Tiers of the table and of its indexes."""
RELATIONS: Final = {"census": ("census", "pob", "census_pkey"), "pgbench": ("pgbench_accounts", "pgbench_accounts_pkey")}


def load_data(connection: Connection, cluster: Cluster, workload: str) -> None:
    if workload == "pgbench":
        pgbench.initialise(cluster, SCALE, tables="pg_default", indexes="pg_default")
        return
    data = census.acquire("synthetic", fraction=CENSUS_FRACTION, seed=DATA_SEED, folder=paths.data() / "external" / "census")
    connection.execute(census.ddl("census"))
    copy_parquet(connection, data.parquet, "census", list(census.TYPES))
    connection.execute("CREATE INDEX pob ON census (pob) WITH (deduplicate_items = off)")
    connection.execute("VACUUM (FREEZE, ANALYZE) census")


def run_load(connection: Connection, cluster: Cluster, point: Point, begin: Callable[[int], None] = lambda _: None) -> None:
    """Run the counts of states in a drawn order with one scan of the whole table, or pgbench's lookups by one client.

    `begin` is called with the session's process before it reads; pgbench's session waits for a lock until then.
    """
    if point.workload == "pgbench":
        mix = pgbench.Mix(0.0, point.skew)
        with cluster.connect(autocommit=False) as gate:
            gate.execute("LOCK TABLE pgbench_accounts")
            with pgbench.Load(cluster, mix, clients=1, seed=point.seed, scale=SCALE, transactions=TRANSACTIONS):
                waiting = "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                while not (found := connection.execute(waiting).fetchone()):
                    time.sleep(0.01)
                begin(found[0])
                gate.commit()
        return
    begin(connection.info.backend_pid)
    chance = np.random.default_rng(point.seed)
    order = [f"SELECT count(*) FROM census WHERE pob = {code}" for code in chance.choice(list(census.STATES.values()), COUNTS)]
    order.insert(int(chance.integers(COUNTS)), "SET enable_seqscan = on; SELECT count(age) FROM census; SET enable_seqscan = off")
    connection.execute("; ".join([PUBLISHED_SCAN, *order]))


@contextmanager
def served(cluster: Cluster, buffers: int) -> Iterator[None]:
    settings = measuring_settings(cluster.binaries, io_mode=IoMode.BUFFERED, shared_buffers_bytes=buffers * PAGE_BYTES)
    cluster.start(settings)
    try:
        yield
    finally:
        cluster.stop()


def counted(cluster: Cluster, point: Point, buffers: int) -> dict[str, PageCount]:
    with served(cluster, buffers), cluster.connect() as connection, PageCounter(connection, RELATIONS[point.workload]) as counter:
        run_load(connection, cluster, point)
    return counter.pages


def recorded(cluster: Cluster, point: Point, file: Path) -> dict[str, str]:
    """Record the point's page requests into `file`; return the relation's name by that in the file."""
    with (
        served(cluster, RECORDED_BUFFERS),
        page_requests.recorded(find_server(cluster=cluster.data), seconds=600) as recording,
        cluster.connect() as connection,
    ):
        names = {str(one_value(connection, "SELECT pg_relation_filenode(%s)", [each])): each for each in RELATIONS[point.workload]}
        run_load(connection, cluster, point)
    assert not recording.full
    recording.reads.write_parquet(file, metadata=page_requests.KIND)
    there = recording.reads["relation"].unique().to_list()
    return {each: names[node] for each in there if (node := each.split("/")[1].split("_")[0]) in names}


def mapped(file: Path, named: dict[str, str], load: str) -> list[dict[str, Any]]:
    """Return for each size the misses, device time and cost of placements, and the request rate from which more RAM costs less than reads.

    Costs are a month's, and rates page requests a second, of data with 1 TiB that miss as these do; a small file fits a disk's own cache.
    """
    table_name, *_, index = named.values()
    data = pl.read_parquet(file).filter(pl.col("relation").is_in(list(named)))
    part = file.with_suffix(".part")
    data.write_parquet(part, metadata=page_requests.KIND)
    pages = data.select("relation", "page").n_unique()
    book, sizes = load_book(PRICES), [round(share * pages) for share in (*MAP_SHARES, 1.0)]
    found = map_traces([part], TraceOptions(), Wish(pages=sizes, tiers=TIERS, named=named), book)
    disk = found.tiers["hdd"]
    interval_s = memory_over(disk, PAGE_BYTES, device_iops(disk), book).by_year_s
    per_tib, rows = 1024 * GIB / (pages * PAGE_BYTES), []
    scaled = {name: round(count * per_tib) for name, count in found.relation_pages.items()}
    read_s = {key: pace for key, (pace, _) in paces(found.tiers, scaled, PAGE_BYTES).items()}
    for share, size, larger in zip(MAP_SHARES, found.sizes, found.sizes[1:], strict=False):
        placed = {(one.placement[table_name], one.placement[index]): one for one in size.placements}
        saved = (size.misses - larger.misses) / found.requests
        row: dict[str, Any] = {"load": load, "share": share, "pages": size.pages, "requests": found.requests}
        row |= {"table_misses": size.relations[table_name].read_misses, "index_misses": size.relations[index].read_misses}
        for name, key in PLACEMENTS.items():
            times = (read_s[tier, each] * size.relations[each].read_misses for tier, each in zip(key, (table_name, index), strict=True))
            row |= {f"{name}_s": sum(times), f"{name}_cost": placed[key].cost_a_month * per_tib}
        row["ram_pays_from"] = (larger.pages - size.pages) * per_tib / interval_s / saved if saved > 0 else None
        rows.append(row)
    return rows


def judged(cluster: Cluster, point: Point, buffers: int, folder: Path, maps: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], Size]:
    """Return the rows of the point's misses, and what is predicted of it; the map of a load of `MAPPED` is added to `maps`."""
    file = folder / f"{point.workload}-{point.seed}.parquet"
    named = recorded(cluster, point, file)
    wish = Wish(pages=[buffers], policy="postgresql", tiers=TIERS, named=named)
    (size,) = map_traces([file], TraceOptions(), wish, load_book(PRICES)).sizes
    if point.seed in MAPPED:
        kept = RELATIONS[point.workload][:2]
        ours = {label: name for name in kept for label, other in named.items() if other == name}
        maps += mapped(file, ours, MAPPED[point.seed])
    rows = []
    for name, page_count in counted(cluster, point, buffers).items():
        one = size.relations[name]
        replayed = one.replayed_misses or 0
        off = abs(replayed - page_count.reads)
        row = {"buffers": buffers, "relation": name, "requests": page_count.accesses, "lru_misses": one.read_misses}
        row |= {"replayed_misses": replayed, "reads": page_count.reads, "held": off <= max(ALLOWED_SHARE * page_count.reads, ALLOWED_PAGES)}
        rows.append(point._asdict() | row)
    return rows, size


@contextmanager
def mounted(folder: Path, seed: int, owner: tuple[int, int]) -> Iterator[dict[str, Emulated]]:
    folder.mkdir()
    folder.chmod(0o755)
    daemon = Daemon(folder / "daemon")
    specs = {name: spec for name, spec in load_pair(TIERS).tiers.items() if name != LOG_TIER}
    with ExitStack() as stack:
        tiers: dict[str, Emulated] = {}
        for name, spec in specs.items():
            tier = open_tier(name, spec, work=folder / name, stretch=1.0, seed=seed, owner=owner, daemon=daemon)
            assert isinstance(tier, Emulated)
            tier.start()
            stack.callback(tier.stop)
            tiers[name] = tier
        yield tiers


def seen_s(cluster: Cluster, tiers: Mapping[str, Emulated], point: Point, buffers: int) -> float:
    """Return the virtual seconds of the reads of the point's load, where its relations lie now.

    The server has as many processes as `map` assumes, because it divides its buffers among them.
    """
    settings = measuring_settings(cluster.binaries, io_mode=IoMode.DIRECT, shared_buffers_bytes=buffers * PAGE_BYTES)
    settings["max_connections"] = str(SESSIONS + shared_buffers.PROCESSES - PROCESSES)
    daemon = next(iter(tiers.values())).daemon

    def begin(session: int) -> None:
        daemon.count_one(session, origin_s=0.0)
        for tier in tiers.values():
            tier.delays(True)
            tier.reset_io()

    cluster.start(settings)
    try:
        with cluster.connect() as connection:
            run_load(connection, cluster, point, begin)
            return sum(float(tier.requests().filter(operation="read")["intended_s"].cast(pl.Float64).sum()) for tier in tiers.values())
    finally:
        for tier in tiers.values():
            tier.delays(False)
        daemon.wait_in_real_time()
        cluster.stop()


def timed(cluster: Cluster, folder: Path, predicted: Sequence[tuple[Point, Size]]) -> list[dict[str, Any]]:
    """Return predicted and emulated times of each placement, by point; all points are of one workload."""
    table_name, *_ = relations = RELATIONS[predicted[0][0].workload]
    rows: list[dict[str, Any]] = [point._asdict() | {"buffers": size.pages, "predicted_s": {}, "seen_s": {}} for point, size in predicted]
    with mounted(folder, DATA_SEED, cluster.account.ids) as tiers:
        for name, (of_table, of_indexes) in PLACEMENTS.items():
            where = {relation: of_table if relation == table_name else of_indexes for relation in relations}
            with loading(cluster, {tier: mount.directory for tier, mount in tiers.items()}) as connection:
                for relation, tier in where.items():
                    move(connection, relation, tier)
            for row, (point, size) in zip(rows, predicted, strict=True):
                row["predicted_s"][name] = next(one.device_s for one in size.placements if one.placement == where)
                row["seen_s"][name] = seen_s(cluster, tiers, point, size.pages)
                print(point, name, row["predicted_s"][name], row["seen_s"][name], flush=True)
    for row in rows:
        ours, theirs = row["predicted_s"], row["seen_s"]
        row["worst"] = max((ours[name] / theirs[name] - 1 for name in PLACEMENTS), key=abs)
        row["held"] = abs(row["worst"]) <= ALLOWED_TIME
        apart = [(fast, slow) for fast, slow in permutations(PLACEMENTS, 2) if theirs[slow] > (1 + TIED) * theirs[fast]]
        row["order_right"] = all(ours[fast] < ours[slow] for fast, slow in apart)
    return rows


def main() -> None:
    rows: list[dict[str, Any]] = []
    maps: list[dict[str, Any]] = []
    times: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="tierwise-map-", dir="/var/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        os.environ["TIERWISE_WORK"] = name
        open_workspace()
        for workload, points in groupby(POINTS, lambda point: point.workload):
            cluster = Cluster(folder / workload, find_binaries(), server_account())
            cluster.create()
            with loading(cluster, {}) as connection:
                load_data(connection, cluster, workload)
                sizes = [one_value(connection, "SELECT pg_relation_size(%s)", [each]) for each in RELATIONS[workload][:2]]
            predicted = []
            for point in points:
                found, size = judged(cluster, point, round(point.share * (sum(sizes) // PAGE_BYTES)), folder, maps)
                rows += found
                predicted.append((point, size))
            times += timed(cluster, folder / f"{workload}-tiers", predicted)
    header = list(rows[0])
    print(table(header, [[str(value) for value in row.values()] for row in rows], numbers=range(1, len(header))))
    held = sum(row["held"] for row in rows)
    print(f"{held} of {len(rows)} within {ALLOWED_SHARE:.0%} or {ALLOWED_PAGES} pages")
    print(f"{sum(row['held'] for row in times)} times and {sum(row['order_right'] for row in times)} orders of {len(times)} right")
    kept = {"made_by": "scripts/validate_map.py", "prices": str(PRICES), "tiers": TIERS, "rows": rows, "times": times, "maps": maps}
    write_whole(paths.data() / "validation" / "map.json", json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
