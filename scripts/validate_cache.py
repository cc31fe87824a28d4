"""Compare the same bytes of SSD as a cache of the disks and as a tablespace, and check a cache's hit ratio with PostgreSQL.

python scripts/validate_cache.py        (as root; some minutes; writes data/validation/cache.json)

The census study's and the survey's jobs are recorded requests of the reference run, drawn at random, each from an empty server.
The other loads are drawn like those of their studies. All is in virtual time on the devices of the pair `PAIR`. The cache is empty at the
beginning.
"""

import json
import os
import re
import tempfile
import time
from collections import Counter, OrderedDict
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from itertools import combinations, product
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

from tierwise.bench.replaying import trace_of
from tierwise.core import paths
from tierwise.core.files import write_whole
from tierwise.core.pairs import EmulatedTier, load_pair
from tierwise.core.text_table import table
from tierwise.core.units import GIB, MIB, PAGE_BYTES
from tierwise.devices.model import build
from tierwise.devices.protocol import DeviceModel, Operation
from tierwise.devices.spec import load_device
from tierwise.devices.ssd_cache import POLICIES, SsdCache
from tierwise.postgres import pgbench
from tierwise.postgres.binaries import find_binaries
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.loading import loading
from tierwise.postgres.relations import create_tablespace
from tierwise.postgres.workspace import open_workspace, server_account
from tierwise.simulate.placements import HDD, SSD, Case, Warming, recorded_case
from tierwise.simulate.replay import Access, Trace, lay_out, replay
from tierwise.simulate.transactions import INDEX, WAL, WAL_PAGES, Recorded, Rows, rate
from tierwise.simulate.zipfian import zipfian_pages
from tierwise.studies.read_latency.measuring.trials import CACHED as CACHED_TABLE
from tierwise.studies.read_latency.measuring.trials import SESSIONS, SPAN_BYTES
from tierwise.tiers.emulated import Emulated
from tierwise.timings.manifest import load_manifest

SEED: Final = 48
PAIR: Final = "today-server"
ROUNDS: Final = 12
"""Rounds of a study's jobs; the time to warm compares windows as long with the last one."""
WARM: Final = 0.95
JOBS: Final = {"census counts": "index_placement", "survey queries": "survey_placement"}
SCALE, CLIENTS, TRANSACTIONS, HOST_S = 5, 8, 20_000, 0.0005
PGBENCH: Final = {"pgbench, uniform": 0.0, "pgbench, skewed": 1.1}
CACHED, BEHIND, DISKS = "exos-x24-raid10-x4-smq", "exos-x24-raid10-x4", "sata-7k2"
"""The check has a cached device on a single disk, so that the lookups take longer than what the policies wait for."""
CHECK_MIB: Final = (8, 16)
"""A quarter and half of the data."""
SIZE: Final = 'size = {{ value = {}, unit = "MiB", source = "assumed" }}\n'
BLOCK: Final = 'block = { value = 32, unit = "KiB", source = "assumed" }\n'
"""The least of dm-cache. With blocks of 256 KiB, smq's hotspots have 4 MiB, and the data of the check are eight of them. By which two of
these fit, 0.25 ms more a read turn a simulated hit ratio of 11 % into 45 %."""
CHECK_SCALE, CHECK_LOOKUPS = 2, 4_000
FILE_PAGES, FILE_READS, FILE_THREADS = 8192, 40_000, 8
FILE_GIB, MEMORY_GIB = 64, 14
"""The published file and page cache, which are simulated at a scale of 1,024."""
STATEMENTS, COMMITS = 1_500, 1_000
"""Of each session of the latency study, and of each client of the log study."""
SETTINGS: Final = {"shared_buffers": "1MB", "autovacuum": "off", "synchronize_seqscans": "off"}


class Watched(SsdCache):
    """A cache that keeps for each read when it came, and whether the flash served it."""

    def reset(self) -> None:
        super().reset()
        self.reads: list[tuple[float, int]] = []

    def submit(self, now_s: float, tag: int, operation: Operation, address_bytes: int, size_bytes: int) -> None:
        before, _ = self.hits()
        super().submit(now_s, tag, operation, address_bytes, size_bytes)
        if operation is Operation.READ:
            self.reads.append((now_s, self.hits()[0] - before))


class Work(NamedTuple):
    """Traces that follow each other, or requests of several clients; the size of each relation, and those of the SSD to compare."""

    traces: Sequence[Trace]
    sizes_bytes: Mapping[str, int]
    ssds: Mapping[str, int]
    stretch: float
    clients: Recorded | None = None


Request = tuple[str, int, Operation, float]
"""Relation, page, what is done with it, and seconds before."""


def sized(sizes_bytes: Mapping[str, int], indexes: Collection[str]) -> dict[str, int]:
    tables = [size for relation, size in sizes_bytes.items() if relation not in {*indexes, WAL}]
    return {"indexes": sum(sizes_bytes[index] for index in indexes), "largest table": max(tables)}


def jobs(study: str) -> Work:
    (folder,) = paths.reference().glob("[!.]*/")
    (record,) = [one for one in load_manifest(folder).studies if (one.name, one.pair) == (study, PAIR)]
    traces = pl.read_parquet(folder / "traces" / study / f"{PAIR}.parquet")
    on_disks = traces.filter((pl.col("tier") == HDD).fill_null(value=True).all().over("trial"))
    found = [trace_of(query) for _, query in on_disks.group_by("trial", "step", maintain_order=True)]
    chance = np.random.default_rng(SEED)
    drawn = [found[job] for _ in range(ROUNDS) for job in chance.permutation(len(found))]
    found_sizes = on_disks.drop_nulls("relation").group_by("relation").agg(pl.col("relation_pages").max() * PAGE_BYTES)
    sizes = dict(found_sizes.sort("relation").rows())
    indexes = [name for name in sizes if name.endswith(("_pkey", "_ra", "_dec")) or name == "pob"]
    return Work(drawn, sizes, sized(sizes, indexes), float(record.facts["seek_stretch"]))


def transactions(skew: float) -> Work:
    """Return transactions on a table of `SCALE`, half of them updates, with a memory of half the index."""
    pages = SCALE * 275
    rows = Rows(SCALE * pgbench.ROWS_PER_SCALE, pages)
    warming = Warming(lookups_per_page=2, transactions=TRANSACTIONS)
    case = Case(2.0, skew, writes=0.5)
    found = recorded_case(rows, case, clients=CLIENTS, host_s=HOST_S, transactions=TRANSACTIONS, warming=warming, seed=SEED)
    return Work([found.trace], found.sizes_bytes, sized(found.sizes_bytes, [INDEX]), 3000 / SCALE, found)


def looped(clients: Sequence[Sequence[Request]]) -> Trace:
    """Return the requests that each client makes one after the other."""
    accesses: list[Access] = []
    for requests in clients:
        for number, (relation, page, operation, think_s) in enumerate(requests):
            size_bytes = 0 if operation is Operation.FLUSH else PAGE_BYTES
            accesses.append(Access(relation, page, size_bytes, operation, think_s, len(accesses) - 1 if number else None))
    return Trace(accesses)


def zipfian_reads() -> Work:
    """Return what the threads of the Zipfian study read from a file, through a page cache of the study's share of the file."""
    memory: OrderedDict[int, None] = OrderedDict()
    threads: list[list[Request]] = [[] for _ in range(FILE_THREADS)]
    for number, page in enumerate(next(zipfian_pages(FILE_PAGES, seed=SEED, chunk=FILE_READS)).tolist()):
        if page not in memory:
            half, rest = divmod(page, FILE_PAGES // 2)
            threads[number % FILE_THREADS].append((f"half {half}", rest, Operation.READ, 0.0))
            if len(memory) >= FILE_PAGES * MEMORY_GIB / FILE_GIB:
                memory.popitem(last=False)
        memory[page] = None
        memory.move_to_end(page)
    whole = FILE_PAGES * PAGE_BYTES
    halves = {"half 0": whole // 2, "half 1": whole // 2}
    return Work([looped(threads)], halves, {"half of the file": whole // 2, "file": whole}, FILE_GIB * GIB / whole)


def mixed_load() -> Work:
    """Return reads of the latency study's sessions, and a write where a row is changed, on tables of a quarter of the study's size."""
    chance = np.random.default_rng(SEED)
    tables = {name: (64 if name == HDD else 16) * MIB for name in SESSIONS if name != CACHED_TABLE}
    sessions: list[list[Request]] = []
    for name, size in tables.items():
        number, pause_s, share = SESSIONS[name]
        for _ in range(number):
            sessions.append([])
            for page in chance.integers(0, size // PAGE_BYTES, STATEMENTS).tolist():
                sessions[-1].append((name, page, Operation.READ, pause_s))
                if chance.random() < share:
                    sessions[-1].append((name, page, Operation.WRITE, 0.0))
    least, most = min(tables.values()), max(tables.values())
    return Work([looped(sessions)], tables, {"smallest table": least, "largest table": most}, SPAN_BYTES / most)


def log_commits() -> Work:
    """Return the commits of `CLIENTS`, each a write of the log's next page and a flush: nothing else waits for a device."""
    clients: list[list[Request]] = [[] for _ in range(CLIENTS)]
    for number in range(COMMITS * CLIENTS):
        clients[number % CLIENTS] += [("log", number % WAL_PAGES, Operation.WRITE, HOST_S), ("log", 0, Operation.FLUSH, 0.0)]
    size = WAL_PAGES * PAGE_BYTES
    return Work([looped(clients)], {"log": size}, {"log": size}, 1.0)


def placed(work: Work, budget_bytes: int) -> dict[str, str]:
    """Return relation -> tier: those with most requests together that fit are on the SSD."""
    requests = Counter(access.relation for trace in work.traces for access in trace.accesses)
    names = sorted(set(work.sizes_bytes) - {WAL})
    chosen = [subset for count in range(len(names) + 1) for subset in combinations(names, count)]
    fitting = [subset for subset in chosen if sum(work.sizes_bytes[name] for name in subset) <= budget_bytes]
    best = max(fitting, key=lambda subset: sum(requests[name] for name in subset))
    return {name: WAL if name == WAL else SSD if name in best else HDD for name in work.sizes_bytes}


def played_s(work: Work, placement: Mapping[str, str], devices: Mapping[str, DeviceModel]) -> float:
    if work.clients:
        return TRANSACTIONS / rate(work.clients, placement, devices)
    addresses: dict[str, list[int]] = {}
    for tier in devices:
        addresses |= lay_out({name: size for name, size in work.sizes_bytes.items() if placement.get(name) == tier})
    now_s = 0.0
    for trace in work.traces:
        found = replay(trace, placement, devices, addresses, started_s=now_s)
        ended_s: list[float] = []
        for access, latency_s in zip(trace.accesses, found.latencies_s, strict=True):
            ended_s.append((0.0 if access.after is None else ended_s[access.after]) + access.think_s + latency_s)
        now_s += found.elapsed_s or max(ended_s)  # of several clients, the last
    return now_s


def warmed(reads: Sequence[tuple[float, int]]) -> tuple[float | None, float | None]:
    """Return the hit ratio of the last round, and the seconds until a window as long first had `WARM` of it."""
    if not reads:
        return None, None
    window = max(1, len(reads) // ROUNDS)
    hits = np.convolve([hit for _, hit in reads], np.ones(window), "valid") / window
    return float(hits[-1]), reads[int(np.argmax(hits >= WARM * hits[-1])) + window - 1][0] - reads[0][0]


def compared(name: str, work: Work) -> list[dict[str, Any]]:
    tiers = {tier: spec.device for tier, spec in load_pair(PAIR).tiers.items() if isinstance(spec, EmulatedTier)}

    def devices() -> dict[str, DeviceModel]:
        return {tier: build(load_device(device), seed=SEED, stretch=work.stretch) for tier, device in tiers.items()}

    on_disks = placed(work, 0)
    alone_s = played_s(work, on_disks, devices())
    rows = []
    for what, size in work.ssds.items():
        placement = placed(work, size)
        on_ssd = sorted(relation for relation, tier in placement.items() if tier == SSD)
        row: dict[str, Any] = {"work": name, "ssd": what, "ssd_bytes": size, "on_ssd": on_ssd, "disk_s": alone_s}
        row["tablespace_s"] = played_s(work, placement, devices())
        for policy in POLICIES:
            own = devices()
            cache = Watched(own[HDD], own[SSD], POLICIES[policy], cache_bytes=size)
            taken_s = played_s(work, on_disks, own | {HDD: cache})
            last, warm_s = warmed(cache.reads)
            hits, reads = cache.hits()
            row[policy] = {"seconds": taken_s, "hit_ratio": hits / reads if reads else None, "last_hit_ratio": last, "warm_s": warm_s}
        print(json.dumps(row), flush=True)
        rows.append(row)
    return rows


def checked(cluster: Cluster, folder: Path, policies: Sequence[str]) -> list[dict[str, Any]]:
    """Return the hit ratio of lookups by a PostgreSQL whose table lies on an emulated cached device, and the simulated one.

    The simulation has the requests of the same lookups on the bare disks.
    """
    shipped = (paths.data() / "devices" / f"{CACHED}.toml").read_text(encoding="utf-8")
    home = folder / "home"
    devices = home / "data" / "devices"
    devices.mkdir(parents=True)
    for path in (paths.data() / "devices").glob("*.toml"):
        (devices / path.name).write_bytes(path.read_bytes())
    for policy, mib in product(policies, CHECK_MIB):
        text = shipped.replace('value = "smq"', f'value = "{policy}"').replace(f'"{BEHIND}"', f'"{DISKS}"')
        size = SIZE.format(mib) + (BLOCK if policy == "smq" else "")
        (devices / f"{policy}-{mib}.toml").write_text(re.sub(r"(?m)^size = .*\n", size, text), encoding="utf-8")
    os.environ["TIERWISE_HOME"] = str(home)
    try:
        log, _ = looked_up(cluster, folder, DISKS, load=True)
        rows = []
        for policy, mib in product(policies, CHECK_MIB):
            _, counted = looked_up(cluster, folder, f"{policy}-{mib}")
            assert counted is not None
            hits, reads = simulated(log, f"{policy}-{mib}")
            measured, found = counted[0] / counted[1], hits / reads
            rows.append({"policy": policy, "mib": mib, "reads": counted[1], "hit_ratio": measured, "simulated": found})
            print(json.dumps(rows[-1]), flush=True)
    finally:
        del os.environ["TIERWISE_HOME"]
    return rows


def looked_up(cluster: Cluster, folder: Path, device: str, *, load: bool = False) -> tuple[pl.DataFrame, tuple[int, int] | None]:
    """Look up rows of a table on `device`, by one session in virtual time; return its requests, and hits and reads of a cache."""
    rows = CHECK_SCALE * pgbench.ROWS_PER_SCALE
    chance = np.random.default_rng(SEED)
    weights = np.arange(1, rows + 1) ** -1.1
    keys = chance.permutation(rows)[chance.choice(rows, CHECK_LOOKUPS, p=weights / weights.sum())] + 1
    tier = Emulated("tier", device, work=folder / "tier", stretch=1.0, seed=SEED, owner=cluster.account.ids)
    tier.start()
    try:
        if load:
            with loading(cluster, {}) as connection:
                create_tablespace(connection, "tier", tier.directory)
                pgbench.initialise(cluster, CHECK_SCALE, tables="tier", indexes="tier")
                connection.execute("VACUUM (FREEZE) pgbench_accounts")
        cluster.start(SETTINGS)
        with cluster.connect() as connection:
            connection.execute("SELECT abalance FROM pgbench_accounts WHERE aid = 1")
            tier.daemon.count_one(connection.info.backend_pid, origin_s=0.0)
            tier.delays(True)
            tier.reset_io()
            for key in keys.tolist():
                connection.execute("SELECT abalance FROM pgbench_accounts WHERE aid = %s", [key])
            log, hits = tier.requests(), tier.hits()
            tier.delays(False)
            tier.daemon.wait_in_real_time()
        cluster.stop()
        return log, hits
    finally:
        tier.stop()


def simulated(log: pl.DataFrame, device: str) -> tuple[int, int]:
    """Return hits and reads of the cached `device` under the requests of `log`, with the think times of its session."""
    model = build(load_device(device), seed=SEED)
    assert isinstance(model, SsdCache)
    done_s = log["time_s"] + log["intended_s"]
    think_s = (log["time_s"] - done_s.shift(1)).fill_null(0.0)
    accesses = [
        Access("all", address // PAGE_BYTES, size, Operation[operation.upper()], think, number - 1 if number else None)
        for number, (address, size, operation, think) in enumerate(
            zip(log["address_bytes"], log["size_bytes"], log["operation"], think_s, strict=True)
        )
    ]
    extents = lay_out({"all": int(log["address_bytes"].max()) + PAGE_BYTES})  # type: ignore[arg-type]
    replay(Trace(accesses), {"all": HDD}, {HDD: model}, extents)
    return model.hits()


DRAWN: Final = {"Zipfian reads": zipfian_reads, "mixed load": mixed_load, "log commits": log_commits}


def main() -> None:
    began_s = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tierwise-cache-", dir="/var/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        os.environ["TIERWISE_WORK"] = name
        open_workspace()
        cluster = Cluster(folder / "server", find_binaries(), server_account())
        cluster.create()
        check = checked(cluster, folder, list(POLICIES))
    rows = [row for name, study in JOBS.items() for row in compared(name, jobs(study))]
    rows += [row for name, skew in PGBENCH.items() for row in compared(name, transactions(skew))]
    rows += [row for name, work in DRAWN.items() for row in compared(name, work())]
    kept = {
        "command": "python scripts/validate_cache.py",
        "made_at": datetime.now(tz=UTC).isoformat(timespec="seconds"),
        "duration_s": round(time.monotonic() - began_s),
        "seed": SEED,
        "tiers": PAIR,
        "rows": rows,
        "check": check,
    }
    write_whole(paths.data() / "validation" / "cache.json", json.dumps(kept, indent=1) + "\n")
    print(table(list(check[0]), [[str(value) for value in row.values()] for row in check]))


if __name__ == "__main__":
    main()
