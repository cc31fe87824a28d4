"""Compare the misses that `map` finds from recorded page requests with PostgreSQL's own reads at ten sizes of shared_buffers.

python scripts/validate_map.py        (as root with bpftrace; some minutes; writes data/validation/map.json)

The maps of three loads, with placements, cost and the five-minute rule, are computed from the requests of `MAPPED`.
Each point's load runs twice from an empty server: once recorded with `RECORDED_BUFFERS`, once counted with the point's buffers.
"""

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from itertools import groupby
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

from tierwise.advisor.memory_map import Wish, map_traces, paces
from tierwise.core import paths
from tierwise.core.files import write_whole
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
from tierwise.postgres.settings import Connection, measuring_settings, one_value
from tierwise.postgres.workspace import open_workspace, server_account
from tierwise.recorders import page_requests
from tierwise.recorders.reads import find_server
from tierwise.simulate.page_trace import TraceOptions

RECORDED_BUFFERS: Final = 128
"""So few that every large scan has a ring."""
CENSUS_FRACTION: Final = 0.05
DATA_SEED: Final = 48
COUNTS: Final = 14
SCALE: Final = 5
TRANSACTIONS: Final = 40_000
ALLOWED_SHARE, ALLOWED_PAGES = 0.10, 10
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
RELATIONS: Final = {"census": ("census", "pob", "census_pkey"), "pgbench": ("pgbench_accounts", "pgbench_accounts_pkey")}


def load_data(connection: Connection, cluster: Cluster, workload: str) -> None:
    if workload == "pgbench":
        pgbench.initialise(cluster, SCALE, tables="pg_default", indexes="pg_default")
        return
    data = census.acquire("synthetic", fraction=CENSUS_FRACTION, seed=DATA_SEED, folder=paths.data() / "external" / "census")
    connection.execute(census.ddl("census"))
    copy_parquet(connection, data.parquet, "census", [column.name for column in census.COLUMNS])
    connection.execute("CREATE INDEX pob ON census (pob) WITH (deduplicate_items = off)")
    connection.execute("VACUUM (FREEZE, ANALYZE) census")


def run_load(connection: Connection, cluster: Cluster, point: Point) -> None:
    """Run the counts of states in a drawn order with one scan of the whole table, or pgbench's lookups by one client."""
    if point.workload == "pgbench":
        with pgbench.Load(cluster, pgbench.Mix(0.0, point.skew), clients=1, seed=point.seed, scale=SCALE, transactions=TRANSACTIONS):
            return
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
        for name, key in {"disk": ("hdd", "hdd"), "table_ssd": ("ssd", "hdd"), "index_ssd": ("hdd", "ssd"), "ssd": ("ssd", "ssd")}.items():
            times = (read_s[tier, each] * size.relations[each].read_misses for tier, each in zip(key, (table_name, index), strict=True))
            row |= {f"{name}_s": sum(times), f"{name}_cost": placed[key].cost_a_month * per_tib}
        row["ram_pays_from"] = (larger.pages - size.pages) * per_tib / interval_s / saved if saved > 0 else None
        rows.append(row)
    return rows


def judged(cluster: Cluster, point: Point, pages: int, folder: Path, maps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    buffers, file = round(point.share * pages), folder / f"{point.workload}-{point.seed}.parquet"
    named = recorded(cluster, point, file)
    found = map_traces([file], TraceOptions(), Wish(pages=[buffers], policy="postgresql", named=named), load_book(PRICES))
    if point.seed in MAPPED:
        kept = RELATIONS[point.workload][:2]
        ours = {label: name for name in kept for label, other in named.items() if other == name}
        maps += mapped(file, ours, MAPPED[point.seed])
    rows = []
    for name, page_count in counted(cluster, point, buffers).items():
        one = found.sizes[0].relations[name]
        replayed = one.replayed_misses or 0
        off = abs(replayed - page_count.reads)
        row = {"buffers": buffers, "relation": name, "requests": page_count.accesses, "lru_misses": one.read_misses}
        row |= {"replayed_misses": replayed, "reads": page_count.reads, "held": off <= max(ALLOWED_SHARE * page_count.reads, ALLOWED_PAGES)}
        rows.append(point._asdict() | row)
    return rows


def main() -> None:
    rows: list[dict[str, Any]] = []
    maps: list[dict[str, Any]] = []
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
            for point in points:
                rows += judged(cluster, point, sum(sizes) // PAGE_BYTES, folder, maps)
    header = list(rows[0])
    print(table(header, [[str(value) for value in row.values()] for row in rows], numbers=range(1, len(header))))
    held = sum(row["held"] for row in rows)
    print(f"{held} of {len(rows)} within {ALLOWED_SHARE:.0%} or {ALLOWED_PAGES} pages")
    kept = {"made_by": "scripts/validate_map.py", "prices": str(PRICES), "tiers": TIERS, "rows": rows, "maps": maps}
    write_whole(paths.data() / "validation" / "map.json", json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
