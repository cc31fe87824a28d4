"""The pgbench study: which placement of pgbench's tables and indexes on disks and flash gives the most transactions a second?

A trial is one window over a running pgbench. Before it the database is restored as prepared, with tables, indexes and WAL on the
trial's tiers; caches are filled and pages dirtied with the delays off. The window holds a whole checkpoint in its middle, which begins
with as many dirty pages as a server has between two of them.
"""

import json
from collections.abc import Iterator
from itertools import product
from typing import Annotated, Any, Final, Literal, Self

import polars as pl
from pydantic import Field, model_validator

from tierwise.bench.bounds import CPU_BOUND
from tierwise.bench.recording import Observed, Recorder
from tierwise.bench.study import Study, Trial, no_study_state
from tierwise.bench.testbed import PROCESSORS, Testbed
from tierwise.bench.window import Window, io_by_relation, need_transactions
from tierwise.core import memory_group
from tierwise.core.errors import EvidenceError
from tierwise.core.pairs import Pair
from tierwise.core.profiles import Profile
from tierwise.core.progress import say
from tierwise.core.toml import Strict
from tierwise.core.units import MIB, PAGE_BYTES
from tierwise.core.vocabulary import Evidence, IoMode, Layout
from tierwise.datasets.pgbench import Bank
from tierwise.postgres import pgbench
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.settings import Connection, measuring_settings
from tierwise.simulate.placements import Warming
from tierwise.simulate.transactions import Rows
from tierwise.studies.pgbench_placement.measuring.cells import MIX, Cell, Script, Size, Tier
from tierwise.studies.pgbench_placement.measuring.prepared_databases import database_facts, prepare_database, restore_database
from tierwise.studies.pgbench_placement.measuring.scales import Scales, by_scale
from tierwise.studies.pgbench_placement.measuring.simulated_maps import FlipMap, OpenAxes, flip_map, open_map

TIERS: Final = ("hdd", "ssd")
WAL_TIER: Final = "wal"
PUBLISHED_SCALES: Final = {"small": 300, "large": 3000}
PUBLISHED_MEMORY: Final = 16 / 45
"""RAM over the size of the large set, both from the source."""
PLACEMENTS: Final[dict[str, tuple[Tier, Tier]]] = {
    "all_hdd": ("hdd", "hdd"),
    "index_ssd": ("hdd", "ssd"),
    "table_ssd": ("ssd", "hdd"),
    "all_ssd": ("ssd", "ssd"),
    "hot_ssd": ("hdd", "hdd"),
}
"""(tier of the tables, tier of the indexes); `HOT` moves only the first partition, with its index."""
HOT: Final = "hot_ssd"
BUFFERED_SHARE: Final = 0.25
"""Shared buffers over memory with buffered I/O, as usual; the rest is the kernel's page cache."""
SESSION_BYTES: Final = 6 * MIB
"""Private memory of a server process, which does not shrink with the data and so is added to the limit (assumed)."""
OTHER_PROCESSES: Final = 8
SKEWED_WARM: Final = 4
"""How much longer a skewed load warms up, since the lookups before it are uniform."""
FILL: Final = 3
"""Lookups per page of memory before a window; reads a transaction then differ by at most 3 % before and after the checkpoint."""
WARM_TPS: Final = 3400
"""Transactions for each second of writing with the delays off, on every machine alike: between the 1,500 and 7,700 (geometric mean)
of nine windows on two cores, by their share of updates.
"""
JUDGED: Final[dict[str, Any]] = {"clients": 8, "script": "tpcb-like", "memory": 1.0}
"""Where the claims are looked up: the source states neither script nor clients."""

PlacementName = Literal["all_hdd", "index_ssd", "table_ssd", "all_ssd", "hot_ssd"]


class MixSpec(Strict):
    writes: float = Field(ge=0, le=1)
    skew: float = Field(ge=0)
    layout: Layout = Layout.STREWN


class Cells(Strict):
    sizes: tuple[Size, ...] = ("large",)
    placements: tuple[PlacementName, ...] = ("all_hdd", "index_ssd", "table_ssd", "all_ssd")
    clients: tuple[int, ...] = (8,)
    scripts: tuple[Script, ...] = ("tpcb-like",)
    mixes: tuple[MixSpec, ...] = Field(default=(), description="in place of the scripts")
    io_modes: tuple[IoMode, ...] = (IoMode.DIRECT,)
    slowdowns: tuple[float, ...] = Field(default=(1.0,), description="factor on the times of every tier, the WAL's included")
    memories: tuple[float, ...] = Field(default=(1.0,), description="memory over the source's share of the data")
    partitions: int = Field(default=0, ge=0, description="of the accounts, by ranges of their keys; 0: none")
    processors: int = Field(default=PROCESSORS, ge=1, description="that a virtual clock assumes")

    @model_validator(mode="after")
    def _has_a_first_partition(self) -> Self:
        if HOT in self.placements and not self.partitions:
            raise ValueError(f"{HOT} moves the first partition, so partitions must be 1 or more")
        return self


class Grid(Strict):
    replicates: int = Field(default=5, ge=1)
    scale: int = Field(ge=1, description="pgbench's scale of the large set; the small one is a tenth, as in the source")
    window_s: dict[Tier, Annotated[float, Field(gt=0)]] = Field(
        min_length=2, description="of a window at least, by where the tables lie; it ends when its checkpoint has, and a while more"
    )
    warm_s: float = Field(gt=0, description="of writing with the delays off, before")
    settle_s: float = Field(gt=0, description="of running with the delays on, before")
    cells: tuple[Cells, ...]
    today: tuple[Cells, ...] = Field(default=(), description="of the pair of today")
    flip_map: FlipMap | None = Field(default=None, description="of every other pair")
    left_open: OpenAxes | None = Field(default=None, description="of every other pair")
    scales: Scales | None = Field(default=None, description="of every other pair")

    def warming_s(self, skew: float) -> float:
        return self.warm_s * (SKEWED_WARM if skew else 1)

    def scale_of(self, size: str) -> int:
        return max(1, self.scale * PUBLISHED_SCALES[size] // PUBLISHED_SCALES["large"])

    def rows_of(self, size: str) -> int:
        return self.scale_of(size) * pgbench.ROWS_PER_SCALE


def grid(profile: Profile) -> Grid:
    return profile.study("pgbench_placement", Grid)


def grid_on(profile: Profile, pair: Pair) -> Grid:
    """Return the study's table for `pair`: that of today has its own cells, and no maps."""
    config = grid(profile)
    if pair.name != profile.today:
        return config
    return config.model_copy(update={"cells": config.today, "flip_map": None, "left_open": None, "scales": None})


def banks(profile: Profile) -> list[Bank]:
    config = grid(profile)
    sizes = {size for cells in (*config.cells, *config.today) for size in cells.sizes}
    return [Bank(size, config.scale_of(size), config.rows_of(size)) for size in PUBLISHED_SCALES if size in sizes]


def trials(profile: Profile, pair: Pair) -> tuple[Trial[Cell], ...]:
    """Return every cell of the grid that the pair's tiers allow; none is slowed beside a real disk, a simulated disk has none."""
    pair.require(TIERS, "pgbench_placement")
    evidence_kinds = {tier.evidence for tier in pair.tiers.values()}
    if Evidence.SIMULATED in evidence_kinds:
        say("pgbench_placement: a load of many sessions cannot be replayed from one recording, so nothing is measured without FUSE")
        return ()
    unlimited = memory_group.obstacle()
    at_own_speed = {} if evidence_kinds == {Evidence.EMULATED} else {"slowdowns": (1.0,)}
    wanted = [
        trial
        for cells in grid_on(profile, pair).cells
        for trial in _trials(cells.model_copy(update=at_own_speed), profile, WAL_TIER in pair.tiers)
    ]
    if unlimited and any(trial.io_mode.cached for trial in wanted):
        say(f"pgbench_placement: buffered I/O is left out, since its page cache would be the whole machine's ({unlimited})")
    return tuple({trial.key: trial for trial in wanted if not (trial.io_mode.cached and unlimited)}.values())


def _trials(cells: Cells, profile: Profile, own_wal: bool) -> Iterator[Trial[Cell]]:
    scripts = [{"script": MIX, **mix.model_dump()} for mix in cells.mixes] or [{"script": script} for script in cells.scripts]
    for io_mode, size, name, clients, script, slowdown, memory in product(
        profile.possible(cells.io_modes), cells.sizes, cells.placements, cells.clients, scripts, cells.slowdowns, cells.memories
    ):
        table, index = PLACEMENTS[name]
        cell = Cell(
            size=size,
            table=table,
            index=index,
            clients=clients,
            **script,
            io_mode=io_mode,
            slowdown=slowdown,
            memory=memory,
            processors=None if cells.processors == PROCESSORS else cells.processors,
            partitions=cells.partitions or None,
            hot=("ssd" if name == HOT else table) if cells.partitions else None,
        )
        tiers = frozenset({table, index, *([WAL_TIER] if own_wal else [])})
        yield Trial(cell, io_mode, tiers, preparation=cell.key, placed=name)  # each is put back first


def published_share(testbed: Testbed, study_state: None) -> float:  # noqa: ARG001 - nothing was found out
    for bank in banks(testbed.profile):
        testbed.note_dataset(bank)
    return grid(testbed.profile).scale / PUBLISHED_SCALES["large"]


def prepare(trial: Trial[Cell], testbed: Testbed, study_state: None) -> None:  # noqa: ARG001 - facts lie beside the databases
    cell, config = trial.cell, grid(testbed.profile)
    size, scattered, partitions = cell.size, cell.scattered, cell.partitions or 0

    def fill(cluster: Cluster, connection: Connection) -> dict[str, int]:
        pgbench.initialise(cluster, config.scale_of(size), tables="tables", indexes="indexes", partitions=partitions)
        if partitions:
            pgbench.move_first_partition(connection, tables="hot_tables", indexes="hot_indexes")
        if scattered:
            pgbench.scatter(connection, config.rows_of(size))
        pgbench.age(connection, scattered=config.rows_of(size) if scattered else 0)
        names = list(pgbench.relations(partitions))
        rows = connection.execute("SELECT name, pg_table_size(name::regclass) FROM unnest(%s::text[]) AS name", [names])
        return dict(rows.fetchall())

    prepare_database(testbed, cell.database, tuple(cell.places), fill)
    restore_database(testbed, cell.database, cell.places, wal=WAL_TIER)


def warm_transactions(config: Grid, skew: float) -> int:
    return round(WARM_TPS * config.warming_s(skew))


def memory_bytes(cell: Cell, testbed: Testbed) -> int:
    """Return the memory of a window: the source's share of the large set, whichever set is measured, times the cell's factor."""
    config, size_bytes = grid(testbed.profile), sum((database_facts(testbed, cell.database) or {}).values())
    large_bytes: float = size_bytes * config.scale_of("large") / config.scale_of(cell.size)
    return round(cell.memory * PUBLISHED_MEMORY * large_bytes)


def measure(trial: Trial[Cell], testbed: Testbed, study_state: None, recorder: Recorder) -> Observed:  # noqa: ARG001 - no query is watched
    cell, config, clients, scale = trial.cell, grid(testbed.profile), trial.cell.clients, grid(testbed.profile).scale_of(trial.cell.size)
    memory = memory_bytes(cell, testbed)
    testbed.processors = cell.processors or PROCESSORS
    buffered = trial.io_mode is IoMode.BUFFERED
    shared_buffers = round(BUFFERED_SHARE * memory) if buffered else memory
    window_s = config.window_s[cell.table]
    limit = memory + SESSION_BYTES * (clients + OTHER_PROCESSES) if buffered else None
    settings = measuring_settings(testbed.cluster.binaries, io_mode=trial.io_mode, shared_buffers_bytes=shared_buffers)
    settings |= {"min_wal_size": "1GB"}  # log files are kept for reuse, as in a database that has run for long
    relations = pgbench.relations(cell.partitions or 0)
    testbed.down("immediate")  # what a server holds is not written down
    testbed.empty_caches(cached=buffered)
    clock = testbed.clock(alone=False)
    with testbed.serving(settings, clock, stop="immediate", memory_bytes=limit) as connection:
        pgbench.fill_caches(testbed.cluster, FILL * memory // PAGE_BYTES, scale=scale)
        warming = pgbench.Load(
            testbed.cluster,
            cell.load(testbed.seed),
            clients=clients,
            seed=testbed.seed,
            scale=scale,
            logged=False,
            transactions=warm_transactions(config, cell.skew or 0.0),
        )
        with warming:
            pass
        testbed.go_by(clock)
        testbed.delays(True, slowdown=cell.slowdown)
        window = Window(testbed, connection, relations, cell.places)
        load = pgbench.Load(
            testbed.cluster, cell.load(testbed.seed), clients=clients, seed=testbed.seed + 1, scale=scale, within=testbed.started_by(clock)
        )
        with load, window:
            testbed.hold(True)  # not before pgbench is ready: it reads the catalogues first
            testbed.sleep(config.settle_s, hold=True)
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
    sizes = {size: facts for size in PUBLISHED_SCALES if (facts := database_facts(testbed, size))}
    return {
        "scales": {size: config.scale_of(size) for size in sizes},
        "size_bytes": sizes,
        "memory_share": PUBLISHED_MEMORY,
        "window_s": config.window_s,
        "cpu_bound": CPU_BOUND,
        **(_maps(testbed, config, sizes["large"]) if "large" in sizes else {}),
    }


def _maps(testbed: Testbed, config: Grid, sizes: dict[str, int]) -> dict[str, list[dict[str, Any]]]:
    rows, memory = Rows(config.rows_of("large"), sizes["pgbench_accounts_pkey"] // PAGE_BYTES), PUBLISHED_MEMORY * sum(sizes.values())

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
        if JUDGED.items() <= cell.items() and "processors" not in cell:
            found.setdefault(str(trial), {})[cell["phase"]] = io_by_relation(phase)
    return {"io_by_relation": found}


def check(rows: pl.DataFrame) -> None:
    need_transactions(rows)
    for keys, window in rows.group_by("pair", "trial", "replicate"):
        if window.filter(pl.col("cell").str.json_path_match("$.phase") == "checkpoint").height != 1:
            raise EvidenceError(f"{keys}: the window holds no whole checkpoint")


STUDY: Final = Study(
    name="pgbench_placement",
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
