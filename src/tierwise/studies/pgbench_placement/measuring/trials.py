"""Source V: which placement of pgbench's tables and indexes on disks and flash gives the most transactions a second?

A trial is one window over a running pgbench. Before it the database is put back as it was prepared, its tables, indexes and WAL on
the trial's tiers; the caches are filled and pages dirtied with the delays off, and a CHECKPOINT writes them down. The window
holds a whole checkpoint, asked for in its midst.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any, Final, Literal, Self

import polars as pl
from pydantic import Field, model_validator

from tierwise.bench.lab import PROCESSORS, Lab
from tierwise.bench.study import Study, Trial
from tierwise.bench.window import CPU_BOUND, Window, io_by_relation, serving
from tierwise.core import memory_group
from tierwise.core.errors import EvidenceError, InputError
from tierwise.core.pairs import Pair
from tierwise.core.profiles import Profile
from tierwise.core.progress import say
from tierwise.core.toml import Strict
from tierwise.core.units import MIB, PAGE_BYTES
from tierwise.core.words import IoArm, Layout, Substrate
from tierwise.datasets.pgbench import Bank
from tierwise.postgres import pgbench
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.settings import Connection, measuring_settings
from tierwise.simulate.placements import Warming
from tierwise.simulate.transactions import Rows
from tierwise.studies.pgbench_placement.measuring.flip_map import FlipMap, flip_map
from tierwise.studies.pgbench_placement.measuring.prepared import database_facts, prepare_database, put_back
from tierwise.timings.schema import Timing

TIERS: Final = ("hdd", "ssd")
WAL_TIER: Final = "wal"
PUBLISHED_SCALES: Final = {"small": 300, "large": 3000}
PUBLISHED_MEMORY: Final = 16 / 45
"""RAM over the data of the large set, as the source gives both."""
PLACEMENTS: Final = {
    "all_hdd": ("hdd", "hdd"),
    "index_ssd": ("hdd", "ssd"),
    "table_ssd": ("ssd", "hdd"),
    "all_ssd": ("ssd", "ssd"),
    "hot_ssd": ("hdd", "hdd"),
}
"""(tier of the tables, tier of the indexes); `HOT` moves the first partition alone, with its index."""
HOT: Final = "hot_ssd"
BUFFERED_SHARE: Final = 0.25
"""Shared buffers over memory in the buffered arm, as is usual; the rest is the kernel's page cache."""
SESSION_BYTES: Final = 6 * MIB
"""A process of the server's own memory, which does not shrink with the data and so comes on top of the limit (assumed)."""
OTHER_PROCESSES: Final = 8
SKEWED_WARM: Final = 4
"""How much longer a skewed load warms up, since the lookups before it are uniform."""
FILL: Final = 3
"""Lookups for each block of memory, before a window: reads a transaction then differ by 3 % at most before and after its checkpoint."""
WARM_TPS: Final = 3400
"""Transactions a second while the delays are off, as the flip map assumes them: between the 1,500 and 7,700 (geometric mean) that nine
windows on two cores began with, by their share of updates."""
MIX: Final = "mix"
JUDGED: Final[dict[str, Any]] = {"clients": 8, "script": "tpcb-like", "memory": 1.0}
"""Where the claims are looked up: the source states neither script nor clients."""

Size = Literal["small", "large"]
PlacementName = Literal["all_hdd", "index_ssd", "table_ssd", "all_ssd", "hot_ssd"]
Script = Literal["tpcb-like", "simple-update", "select-only"]


class MixSpec(Strict):
    """A mix of lookups and updates; see `pgbench.Mix`."""

    writes: float = Field(ge=0, le=1)
    skew: float = Field(ge=0)
    layout: Layout = Layout.STREWN


class Cells(Strict):
    """Trials: each combination of these."""

    sizes: tuple[Size, ...] = ("large",)
    placements: tuple[PlacementName, ...] = ("all_hdd", "index_ssd", "table_ssd", "all_ssd")
    clients: tuple[int, ...] = (8,)
    scripts: tuple[Script, ...] = ("tpcb-like",)
    mixes: tuple[MixSpec, ...] = Field(default=(), description="in place of the scripts")
    arms: tuple[IoArm, ...] = (IoArm.DIRECT,)
    slowdowns: tuple[float, ...] = Field(default=(1.0,), description="factor on the times of every tier, the WAL's included")
    memories: tuple[float, ...] = Field(default=(1.0,), description="memory over the source's share of the data")
    partitions: int = Field(default=0, ge=0, description="of the accounts, by ranges of their keys; 0: none")
    processors: int = Field(default=PROCESSORS, ge=1, description="that a counted clock assumes")

    @model_validator(mode="after")
    def _has_a_first_partition(self) -> Self:
        if HOT in self.placements and not self.partitions:
            raise ValueError(f"{HOT} moves the first partition, so partitions must be 1 or more")
        return self


class Grid(Strict):
    """The study's table in a profile."""

    blocks: int = Field(default=5, ge=1)
    scale: int = Field(ge=1, description="pgbench's scale of the large set; the small one is a tenth, as in the source")
    window_s: float = Field(gt=0, description="of a window at least; it ends when its checkpoint has, and a while more")
    warm_s: float = Field(gt=0, description="of writing with the delays off, before")
    settle_s: float = Field(gt=0, description="of running with the delays on, before")
    cells: tuple[Cells, ...]
    flip_map: FlipMap | None = None

    def warming_s(self, skew: float) -> float:
        """Seconds of writing with the delays off, before, where keys have this skew."""
        return self.warm_s * (SKEWED_WARM if skew else 1)

    def scale_of(self, size: str) -> int:
        """pgbench's scale of one of the two sets."""
        return max(1, self.scale * PUBLISHED_SCALES[size] // PUBLISHED_SCALES["large"])

    def rows_of(self, size: str) -> int:
        """Rows of pgbench_accounts in one of the two sets."""
        return self.scale_of(size) * pgbench.ROWS_PER_SCALE


def grid(profile: Profile) -> Grid:
    """The study's table of `profile`."""
    return profile.study("pgbench_placement", Grid)


def banks(profile: Profile) -> list[Bank]:
    """Each set that `profile` fills."""
    sizes, asked = {size for cells in grid(profile).cells for size in cells.sizes}, grid(profile)
    return [Bank(size, asked.scale_of(size), asked.rows_of(size)) for size in PUBLISHED_SCALES if size in sizes]


def trials(profile: Profile, pair: Pair) -> tuple[Trial, ...]:
    """Every cell of the profile's grid that the pair's tiers allow: beside a real disk none is slowed, a simulated one cannot be run on."""
    absent = [name for name in TIERS if name not in pair.tiers]
    if absent:
        raise InputError(
            f"data/tiers/{pair.name}.toml",
            field="tiers",
            value=sorted(pair.tiers),
            rule=f"pgbench_placement needs a tier named {absent[0]!r}",
        )
    substrates = {tier.substrate for tier in pair.tiers.values()}
    if Substrate.SIMULATED in substrates:
        say("pgbench_placement: a load of many sessions cannot be replayed from one recording, so nothing is measured without FUSE")
        return ()
    unlimited = memory_group.obstacle()
    if unlimited and IoArm.BUFFERED in profile.arms:
        say(f"pgbench_placement: the buffered arm is left out, since its page cache would be the whole machine's ({unlimited})")
    at_own_speed = {} if substrates == {Substrate.EMULATED} else {"slowdowns": (1.0,)}
    found = {
        trial.key: trial
        for cells in grid(profile).cells
        for trial in _trials(cells.model_copy(update=at_own_speed), profile, WAL_TIER in pair.tiers)
        if not (trial.arm is IoArm.BUFFERED and unlimited)
    }
    return tuple(found.values())


def _trials(cells: Cells, profile: Profile, own_wal: bool) -> Iterator[Trial]:
    arms = [arm for arm in cells.arms if arm in profile.arms] or list(profile.arms)  # a server without direct I/O has one arm
    scripts = [{"script": MIX, **mix.model_dump(mode="json")} for mix in cells.mixes] or [{"script": script} for script in cells.scripts]
    for arm, size, name, clients, script, slowdown, memory in product(
        arms, cells.sizes, cells.placements, cells.clients, scripts, cells.slowdowns, cells.memories
    ):
        table, index = PLACEMENTS[name]
        cell: dict[str, str | int | float] = {
            "size": size,
            "table": table,
            "index": index,
            "clients": clients,
            **script,
            "arm": str(arm),
            "slowdown": slowdown,
            "memory": memory,
        }
        if cells.processors != PROCESSORS:
            cell |= {"processors": cells.processors}
        if cells.partitions:
            cell |= {"partitions": cells.partitions, "hot": "ssd" if name == HOT else table}
        tiers = frozenset({table, index, *([WAL_TIER] if own_wal else [])})
        trial = Trial(cell=cell, arm=arm, tiers=tiers, preparation="", placed=name)
        yield replace(trial, preparation=trial.key)  # each is put back first


def published_share(lab: Lab) -> float:
    """Rows of this run over the published rows, the same for both sets; the manifest names them."""
    for bank in banks(lab.profile):
        lab.note_dataset(bank)
    return grid(lab.profile).scale / PUBLISHED_SCALES["large"]


def prepare(trial: Trial, lab: Lab) -> None:
    """The prepared database put back, on the trial's tiers."""
    size, scattered = str(trial.cell["size"]), trial.cell.get("layout") == Layout.RANDOM_KEYS
    asked, partitions = grid(lab.profile), int(trial.cell.get("partitions", 0))

    def fill(cluster: Cluster, connection: Connection) -> dict[str, int]:
        pgbench.initialise(cluster, asked.scale_of(size), tables="tables", indexes="indexes", partitions=partitions)
        if partitions:
            pgbench.part_off(connection, tables="hot_tables", indexes="hot_indexes")
        if scattered:
            pgbench.scatter(connection, asked.rows_of(size))
        pgbench.age(connection, scattered=asked.rows_of(size) if scattered else 0)
        names = list(pgbench.relations(partitions))
        rows = connection.execute("SELECT name, pg_table_size(name::regclass) FROM unnest(%s::text[]) AS name", [names])
        return dict(rows.fetchall())

    places = _places(trial)
    prepare_database(lab, database_of(trial), tuple(places), fill)
    put_back(lab, database_of(trial), places, wal=WAL_TIER)


def _places(trial: Trial) -> dict[str, str]:
    """Tablespace -> tier."""
    table, index, hot = (str(trial.cell.get(name, "")) for name in ("table", "index", "hot"))
    places = {"tables": table, "indexes": index}
    return {**places, "hot_tables": hot, "hot_indexes": index if hot == table else hot} if hot else places


def database_of(trial: Trial) -> str:
    """Name of the prepared database that the trial begins with."""
    scattered = ["scattered"] if trial.cell.get("layout") == Layout.RANDOM_KEYS else []
    parted = [f"{trial.cell['partitions']}-parts"] if "partitions" in trial.cell else []
    return "-".join([str(trial.cell["size"]), *scattered, *parted])


def memory_bytes(trial: Trial, lab: Lab) -> int:
    """The trial's memory: the source's share of the large set, whichever set is measured, times the trial's factor."""
    size = str(trial.cell["size"])
    scales = grid(lab.profile)
    large_bytes: float = sum((database_facts(lab, database_of(trial)) or {}).values()) * scales.scale_of("large") / scales.scale_of(size)
    return round(float(trial.cell["memory"]) * PUBLISHED_MEMORY * large_bytes)


def measure(trial: Trial, lab: Lab) -> Iterator[Timing]:
    """One window: before its checkpoint, during it, after it."""
    asked, clients, scale = grid(lab.profile), int(trial.cell["clients"]), grid(lab.profile).scale_of(str(trial.cell["size"]))
    script = _script(trial)
    memory = memory_bytes(trial, lab)
    lab.processors = int(trial.cell.get("processors", PROCESSORS))
    buffered = trial.arm is IoArm.BUFFERED
    shared_buffers = round(BUFFERED_SHARE * memory) if buffered else memory
    limit = memory + SESSION_BYTES * (clients + OTHER_PROCESSES) if buffered else None
    settings = measuring_settings(lab.cluster.binaries, arm=trial.arm, shared_buffers_bytes=shared_buffers)
    settings |= {"min_wal_size": "1GB"}  # log files are kept for reuse, as in a database that has run for long
    relations = pgbench.relations(int(trial.cell.get("partitions", 0)))
    with serving(lab, settings, arm=trial.arm, memory_bytes=limit) as connection:
        pgbench.touch(lab.cluster, FILL * memory // PAGE_BYTES, scale=scale)
        with pgbench.Load(lab.cluster, script, clients=clients, seed=lab.seed, scale=scale, logged=False):
            time.sleep(asked.warming_s(float(trial.cell.get("skew", 0.0))))
        connection.execute("CHECKPOINT")
        lab.go_by(lab.clock(alone=False))
        for tier in lab.tiers.values():
            tier.delays(True, slowdown=float(trial.cell["slowdown"]))
        window = Window(lab, connection, relations, _places(trial))
        load = pgbench.Load(
            lab.cluster, script, clients=clients, seed=lab.seed + 1, scale=scale, within=lab.started_by(lab.clock(alone=False))
        )
        with load:
            lab.sleep(asked.settle_s)
            with window.phase("before"):
                lab.sleep(asked.window_s / 4, hold=True)
            with window.phase("checkpoint"):
                connection.execute("CHECKPOINT")
            spent_s = sum(phase.elapsed_s for phase in window.phases)
            with window.phase("after"):
                lab.sleep(max(asked.window_s / 4, asked.window_s - spent_s), hold=True)
        transactions = window.by_clock(load.transactions)
        lab.recorder.transactions = transactions
        yield from window.timings(transactions, script=str(trial.cell["script"]), clients=clients, cell=trial.cell)


def _script(trial: Trial) -> str | pgbench.Mix:
    if trial.cell["script"] == MIX:
        return pgbench.Mix(float(trial.cell["writes"]), float(trial.cell["skew"]), Layout(str(trial.cell["layout"])))
    return str(trial.cell["script"])


def describe(lab: Lab) -> dict[str, Any]:
    """Sizes of the prepared databases and the shape of a window."""
    asked = grid(lab.profile)
    sizes = {size: facts for size in PUBLISHED_SCALES if (facts := database_facts(lab, size))}
    return {
        "scales": {size: asked.scale_of(size) for size in sizes},
        "size_bytes": sizes,
        "memory_share": PUBLISHED_MEMORY,
        "window_s": asked.window_s,
        "cpu_bound": CPU_BOUND,
        "flip_map": _flip_map(lab, asked.flip_map, sizes["large"]) if asked.flip_map and "large" in sizes else [],
    }


def _flip_map(lab: Lab, axes: FlipMap, sizes: dict[str, int]) -> list[dict[str, Any]]:
    rows = Rows(grid(lab.profile).rows_of("large"), sizes["pgbench_accounts_pkey"] // PAGE_BYTES)

    def warming(skew: float) -> Warming:
        return Warming(FILL, round(WARM_TPS * grid(lab.profile).warming_s(skew)))

    return flip_map(lab, axes, rows, memory_bytes=PUBLISHED_MEMORY * sum(sizes.values()), clients=JUDGED["clients"], warming=warming)


def summarise(rows: pl.DataFrame) -> dict[str, Any]:
    """V5: what became of the accesses to each relation, by trial and phase, over all blocks, in the trials that claims are judged on."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for (trial, text), phase in rows.group_by("trial", "cell", maintain_order=True):
        cell = json.loads(str(text))
        if JUDGED.items() <= cell.items() and "processors" not in cell:
            found.setdefault(str(trial), {})[cell["phase"]] = io_by_relation(phase)
    return {"io_by_relation": found}


def check(rows: pl.DataFrame) -> None:
    """Every window holds a whole checkpoint, and its load did something in it."""
    for keys, window in rows.group_by("pair", "trial", "block"):
        if window["result_rows"].sum() == 0:
            raise EvidenceError(f"{keys}: no transaction ended in the window")
        if window.filter(pl.col("cell").str.json_path_match("$.phase") == "checkpoint").height != 1:
            raise EvidenceError(f"{keys}: the window holds no whole checkpoint")


STUDY: Final = Study(
    name="pgbench_placement",
    source="V",
    question="Which placement of tables and indexes on disks and flash gives the most transactions a second?",
    published_share=published_share,
    trials=trials,
    prepare=prepare,
    measure=measure,
    describe=describe,
    check=check,
    summarise=summarise,
    keeps="transactions",
)
