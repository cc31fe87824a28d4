"""The pgbench study: which placement of pgbench's tables and indexes on disks and flash gives the most transactions a second?

A trial is one window over a running pgbench. Before it the database is restored as prepared, with tables, indexes and WAL on the
trial's tiers; caches are filled and pages dirtied with the delays off. The window holds a whole checkpoint in its middle, which begins
with as many dirty pages as a server has between two of them.

The load is our script of TPC-B's statements, over as many branches and tellers as the source had: with fewer, clients would wait for each
other's rows and not for the storage. Direct I/O decides. A kernel's page cache absorbs the pages that a server evicts and writes them
later, together; an emulated mount writes each one at once, so with buffered I/O a session waits for writes that it would not wait for.
Past the page cache the server itself waits for its writes on either storage, and all of its memory is its own cache.
"""

import json
import shutil
from collections.abc import Callable, Mapping
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, Final

import polars as pl
from psycopg import sql

from tierwise.bench.recording import Observed, Recorder
from tierwise.bench.replaying import Modelled
from tierwise.bench.study import Study, Trial, no_study_state
from tierwise.bench.testbed import Testbed
from tierwise.bench.window import CPU_BOUND, Window, io_by_relation, need_transactions
from tierwise.core import memory_group
from tierwise.core.errors import EvidenceError
from tierwise.core.files import write_whole
from tierwise.core.pairs import Pair
from tierwise.core.profiles import Profile
from tierwise.core.progress import say
from tierwise.core.tasks import processors
from tierwise.core.units import KIB, MIB, PAGE_BYTES
from tierwise.core.vocabulary import Evidence, IoMode
from tierwise.postgres import pgbench
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.cluster_files import TABLESPACES, restore
from tierwise.postgres.loading import loading
from tierwise.postgres.settings import Connection, measuring_settings
from tierwise.simulate.placements import Warming
from tierwise.simulate.transactions import Rows
from tierwise.studies.pgbench_placement.measuring.grid import JUDGED, PUBLISHED_SCALES, WAL_TIER, Cell, Grid, banks, grid, grid_on, plain
from tierwise.studies.pgbench_placement.measuring.simulated_maps import by_scale, flip_map, open_map

NAME: Final = "pgbench_placement"
TIERS: Final = ("hdd", "ssd")
Fill = Callable[[Cluster, Connection], Mapping[str, Any]]  # fills the database of a running cluster and returns facts to keep
TEMPLATES: Final = ("template0", "template1")
PUBLISHED_MEMORY: Final = 16 / 45
"""RAM over the size of the large set, both from the source. Branches and tellers, which are not scaled, have additional memory."""
BUFFERED_SHARE: Final = 0.25  # shared buffers over memory with buffered I/O, as usual; the rest is the kernel's page cache
SESSION_BYTES: Final = 6 * MIB
"""Private memory of a server process, which does not shrink with the data and so is added to the limit (assumed)."""
OTHER_PROCESSES: Final = 8
FILL: Final = 3
"""Lookups per page of memory before a window; reads a transaction then differ by at most 3 % before and after the checkpoint."""
WARM_TPS: Final = 3400
"""Transactions for each second of writing with the delays off, on every machine alike: between the 1,500 and 7,700 (geometric mean)
of nine windows on two cores, by their share of updates.
"""
SKEWED_WARM: Final = 4  # how much longer a skewed load warms up, since the lookups before it are uniform
WAL_BUFFERS_BYTES: Final = 16 * MIB
"""As the source's server chose for itself from 512 MiB of shared buffers on; a small one's would fill while commits do not wait."""


def trials(profile: Profile, pair: Pair) -> tuple[Trial[Cell], ...]:
    """Return every cell of the grid that the pair's tiers allow; none is slowed beside a real disk, a simulated disk has none."""
    pair.require(TIERS, NAME)
    evidence_kinds = {tier.evidence for tier in pair.tiers.values()}
    if Evidence.SIMULATED in evidence_kinds:
        say(f"{NAME}: a load of many sessions cannot be replayed from one recording, so nothing is measured without FUSE")
        return ()
    unlimited = memory_group.obstacle()
    at_own_speed = {} if evidence_kinds == {Evidence.EMULATED} else {"slowdowns": (1.0,)}
    wanted = [trial for cells in grid_on(profile, pair).cells for trial in cells.model_copy(update=at_own_speed).trials(profile, pair)]
    if unlimited and any(trial.io_mode.cached for trial in wanted):
        say(f"{NAME}: buffered I/O is left out, since its page cache would be the whole machine's ({unlimited})")
    return tuple({trial.key: trial for trial in wanted if not (trial.io_mode.cached and unlimited)}.values())


def published_share(testbed: Testbed, study_state: None) -> float:  # noqa: ARG001 - nothing was found out
    for bank in banks(testbed.profile):
        testbed.note_dataset(bank)
    return grid(testbed.profile).scale / PUBLISHED_SCALES["large"]


def prepare(trial: Trial[Cell], testbed: Testbed, study_state: None) -> None:  # noqa: ARG001 - facts lie beside the databases
    cell, config = trial.cell, grid(testbed.profile)
    bank, scattered, partitions = config.bank(cell.size), cell.scattered, cell.partitions or 0

    def fill(cluster: Cluster, connection: Connection) -> dict[str, int]:
        rows, branches = bank.rows, bank.branches
        pgbench.fill(cluster, connection, accounts=rows, branches=branches, tables="tables", indexes="indexes", partitions=partitions)
        if partitions:
            pgbench.move_first_partition(connection, tables="hot_tables", indexes="hot_indexes")
        if scattered:
            pgbench.scatter(connection, rows)
        pgbench.age(connection, scattered=rows if scattered else 0)
        names = list(pgbench.relations(partitions))
        sizes = connection.execute("SELECT name, pg_table_size(name::regclass) FROM unnest(%s::text[]) AS name", [names])
        return dict(sizes.fetchall())

    name = config.database(cell)
    prepare_database(testbed, name, tuple(cell.places), fill)
    restore_database(testbed, name, cell.places, wal=WAL_TIER)


def warm_transactions(config: Grid, skew: float) -> int:
    return round(WARM_TPS * (config.warm_s * (SKEWED_WARM if skew else 1)))


def scaled_memory_bytes(sizes_bytes: Mapping[str, int]) -> float:
    """Return the source's share of a set of these sizes, by relation: of its accounts, which alone are scaled."""
    return PUBLISHED_MEMORY * sum(size for name, size in sizes_bytes.items() if name.startswith("pgbench_accounts"))


def memory_bytes(cell: Cell, testbed: Testbed) -> int:
    """Return the memory of a window: the source's share of the large set times the cell's factor, and the branches and tellers on top."""
    config = grid(testbed.profile)
    sizes = database_facts(testbed, config.database(cell)) or {}
    scaled = scaled_memory_bytes(sizes) * config.scale / config.scale_of(cell.size)
    used = sum(size for name, size in sizes.items() if not name.startswith("pgbench_accounts"))
    return round(cell.memory * scaled) + (used if cell.script == JUDGED["script"] else 0)


def measure(trial: Trial[Cell], testbed: Testbed, study_state: None, recorder: Recorder) -> Observed:  # noqa: ARG001 - no query is watched
    cell, config, clients = trial.cell, grid(testbed.profile), trial.cell.clients
    memory, bank = memory_bytes(cell, testbed), config.bank(cell.size)
    buffered = trial.io_mode is IoMode.BUFFERED
    shared_buffers = round(BUFFERED_SHARE * memory) if buffered else memory
    window_s, settle_s = (lengths[config.waits_on(cell, testbed.pair)] for lengths in (config.window_s, config.settle_s))
    limit = memory + WAL_BUFFERS_BYTES + SESSION_BYTES * (clients + OTHER_PROCESSES) if buffered else None
    settings = measuring_settings(testbed.cluster.binaries, io_mode=trial.io_mode, shared_buffers_bytes=shared_buffers)
    settings |= {"synchronous_commit": cell.synchronous_commit, "wal_buffers": f"{WAL_BUFFERS_BYTES // KIB}kB"}
    settings |= {"min_wal_size": "1GB"}  # log files are kept for reuse, as in a database that has run for long
    relations = pgbench.relations(cell.partitions or 0)
    testbed.down("immediate")  # what a server holds is not written down
    testbed.empty_caches(cached=buffered)
    clock = testbed.clock(alone=False)
    with testbed.serving(settings, clock, stop="immediate", memory_bytes=limit) as connection:
        pgbench.fill_caches(testbed.cluster, FILL * memory // PAGE_BYTES, accounts=bank.rows)
        script = cell.load(testbed.seed, branches=bank.branches)
        loaded = partial(pgbench.Load, testbed.cluster, script, clients=clients, accounts=bank.rows, protocol=cell.protocol)
        with loaded(seed=testbed.seed, logged=False, transactions=warm_transactions(config, cell.skew or 0.0)):
            pass
        testbed.go_by(clock)
        testbed.delays(True, slowdown=cell.slowdown)
        window = Window(testbed, connection, relations, cell.places)
        load = loaded(seed=testbed.seed + 1, within=testbed.started_by(clock))
        with load, window:
            testbed.hold(True)  # not before pgbench is ready: it reads the catalogues first
            testbed.sleep(settle_s, hold=True)
            with window.phase("before"):
                testbed.sleep(window_s / 4, hold=True)
            with window.phase("checkpoint"):
                connection.execute("CHECKPOINT")
            spent_s = sum(phase.elapsed_s for phase in window.phases)
            with window.phase("after"):
                testbed.sleep(max(window_s / 4, window_s - spent_s), hold=True)
        transactions = window.by_clock(load.transactions)
        timings = window.timings(transactions, script=cell.script, clients=clients, cell=trial.coordinates)
        return Observed(tuple(timings), transactions=transactions)


def describe(testbed: Testbed, study_state: None) -> dict[str, Any]:  # noqa: ARG001 - facts lie beside the databases
    config = grid_on(testbed.profile, testbed.pair)
    every = {bank.size: bank for bank in banks(testbed.profile)}
    sizes = {size: facts for size, bank in every.items() if (facts := database_facts(testbed, plain(bank)))}
    return {
        "scales": {size: config.scale_of(size) for size in PUBLISHED_SCALES if size in every},
        "branches": {size: bank.branches for size, bank in every.items()},
        "size_bytes": sizes,
        "memory_share": PUBLISHED_MEMORY,
        "window_s": config.window_s,
        "cpu_bound": CPU_BOUND,
        **_maps(testbed, config, sizes.get("large")),
    }


def _maps(testbed: Testbed, config: Grid, sizes: dict[str, int] | None) -> dict[str, list[dict[str, Any]]]:
    if sizes is None or not (config.flip_map or config.left_open or config.scales):
        return {}
    with processors():
        return _simulated(Modelled(testbed.pair, testbed.stretch, testbed.seed), config, sizes)


def _simulated(testbed: Modelled, config: Grid, sizes: dict[str, int]) -> dict[str, list[dict[str, Any]]]:
    rows, memory = Rows(config.bank("large").rows, sizes["pgbench_accounts_pkey"] // PAGE_BYTES), scaled_memory_bytes(sizes)

    def warming(skew: float) -> Warming:
        return Warming(FILL, warm_transactions(config, skew))

    found = {}
    if config.flip_map:
        found["flip_map"] = flip_map(testbed, config.flip_map, rows, memory_bytes=memory, clients=JUDGED["clients"], warming=warming)
    if config.left_open:
        found["left_open"] = open_map(testbed, config.left_open, rows, memory_bytes=memory, warming=warming(0.0))
    if config.scales:
        found["by_scale"] = by_scale(
            testbed,
            config.scales,
            rows,
            scale=config.scale,
            memory_bytes=memory,
            published=PUBLISHED_SCALES["large"],
            clients=JUDGED["clients"],
            warming=warming(0.0),
        )
    return found


def summarise(rows: pl.DataFrame) -> dict[str, Any]:
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for (trial, text), phase in rows.group_by("trial", "cell", maintain_order=True):
        cell = json.loads(str(text))
        if JUDGED.items() <= cell.items():
            found.setdefault(str(trial), {})[cell["phase"]] = io_by_relation(phase)
    return {"io_by_relation": found}


def check(rows: pl.DataFrame) -> None:
    need_transactions(rows)
    for keys, window in rows.group_by("pair", "trial", "replicate"):
        if window.filter(pl.col("cell").str.json_path_match("$.phase") == "checkpoint").height != 1:
            raise EvidenceError(f"{keys}: the window holds no whole checkpoint")


def prepare_database(testbed: Testbed, name: str, tablespaces: tuple[str, ...], fill: Fill) -> None:
    """Make the database `name` by `fill`, with `tablespaces`, once, whole or not at all."""
    cluster = _cluster(testbed, name)
    if _facts_file(testbed, name).exists():
        return
    say(f"filling the database {name}")
    cluster.stop("immediate")
    shutil.rmtree(cluster.folder, ignore_errors=True)
    testbed.make_cluster(cluster)
    with loading(cluster, {tablespace: cluster.folder / TABLESPACES / tablespace for tablespace in tablespaces}) as connection:
        facts = fill(cluster, connection)
        for template in TEMPLATES:  # two thirds of a small cluster's files, each of which would be put back for every trial
            connection.execute(sql.SQL("ALTER DATABASE {} IS_TEMPLATE false").format(sql.Identifier(template)))
            connection.execute(sql.SQL("DROP DATABASE {}").format(sql.Identifier(template)))
    write_whole(_facts_file(testbed, name), json.dumps(facts))


def database_facts(testbed: Testbed, name: str) -> dict[str, Any] | None:
    file = _facts_file(testbed, name)
    return dict(json.loads(file.read_text(encoding="utf-8"))) if file.exists() else None


def restore_database(testbed: Testbed, name: str, tablespaces: Mapping[str, str], *, wal: str) -> None:
    """Make the testbed's cluster the database `name` as prepared, with tablespaces (name -> tier), and WAL on the tier `wal`."""
    testbed.cluster.stop("immediate")
    for tier, tablespace in product(testbed.tiers.values(), tablespaces):
        shutil.rmtree(tier.directory / tablespace, ignore_errors=True)  # of the trial before
    places = {tablespace: testbed.tiers[tier].directory for tablespace, tier in tablespaces.items()}
    restore(_cluster(testbed, name), testbed.cluster, places, testbed.tiers[wal].directory if wal in testbed.tiers else None)


def _cluster(testbed: Testbed, name: str) -> Cluster:
    return Cluster(testbed.work / f"prepared-{name}", testbed.cluster.binaries, testbed.cluster.account)


def _facts_file(testbed: Testbed, name: str) -> Path:
    return _cluster(testbed, name).folder / "facts.json"


STUDY: Final = Study(
    name=NAME,
    source="V",
    question="Which placement of tables and indexes on disks and flash gives the most transactions a second?",
    begin=no_study_state,
    published_share=published_share,
    trials=trials,
    prepare=prepare,
    measure=measure,
    describe=describe,
    check=check,
    summarise=summarise,
    keeps="transactions",
    today=True,
)
