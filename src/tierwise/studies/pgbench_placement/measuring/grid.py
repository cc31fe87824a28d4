"""How much of the study a profile measures: its cells, each one window of pgbench, by the profile's table, and the sizes of its data."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, model_validator

from tierwise.bench.study import Cell as AnyCell
from tierwise.bench.study import Trial
from tierwise.core.pairs import Pair
from tierwise.core.profiles import Profile
from tierwise.core.toml import Strict
from tierwise.core.vocabulary import IoMode, Layout
from tierwise.datasets.pgbench import Bank
from tierwise.postgres import pgbench
from tierwise.studies.pgbench_placement.measuring.simulated_maps import FlipMap, OpenAxes, Scales
from tierwise.tiers.open import is_flash

Size = Literal["small", "large"]
Tier = Literal["hdd", "ssd"]
Commit = Literal["on", "off"]
MIX: Final = "mix"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell(AnyCell):
    """Tiers of tables and indexes (`hot`: of the first partition), the load, the slowdown of the tiers, and the memory.

    `memory` is a multiple of the source's share of the data. The script `MIX` has `writes`, `skew` and `layout`. Without `partitions` the
    accounts are in one piece.
    """

    size: Size
    table: Tier
    index: Tier
    clients: int
    script: str
    writes: float | None = None
    skew: float | None = None
    layout: Layout | None = None
    protocol: pgbench.Statements
    synchronous_commit: Commit
    io_mode: IoMode
    slowdown: float
    memory: float
    partitions: int | None = None
    hot: Tier | None = None

    @property
    def places(self) -> dict[str, str]:
        places: dict[str, str] = {"tables": self.table, "indexes": self.index}
        if self.hot is None:
            return places
        return {**places, "hot_tables": self.hot, "hot_indexes": self.index if self.hot == self.table else self.hot}

    @property
    def scattered(self) -> bool:
        return self.layout is Layout.RANDOM_KEYS

    def load(self, seed: int, *, branches: int) -> pgbench.TpcB | pgbench.Mix:
        """Return what the sessions do; `seed` decides which accounts are popular where they are strewn."""
        if self.script != MIX:
            return pgbench.TpcB(branches)
        assert self.writes is not None
        assert self.skew is not None
        assert self.layout is not None
        return pgbench.Mix(self.writes, self.skew, self.layout, seed)


WAL_TIER: Final = "wal"
PUBLISHED_SCALES: Final[dict[Size, int]] = {"small": 300, "large": 3000}
"""Branches of the published sets, which a scaled set keeps: fewer would have the clients wait for each other's rows."""
PLACEMENTS: Final[dict[str, tuple[Tier, Tier]]] = {
    "all_hdd": ("hdd", "hdd"),
    "index_ssd": ("hdd", "ssd"),
    "table_ssd": ("ssd", "hdd"),
    "all_ssd": ("ssd", "ssd"),
    "hot_ssd": ("hdd", "hdd"),
}
"""(tier of the tables, tier of the indexes); `HOT` moves only the first partition, with its index."""
HOT: Final = "hot_ssd"
JUDGED: Final[dict[str, Any]] = {"clients": 8, "script": "tpcb-like", "memory": 1.0, "protocol": "prepared", "synchronous_commit": "on"}
"""Where the claims are looked up: the source states neither script nor clients."""

Lengths = dict[Tier, Annotated[float, Field(gt=0)]]
PlacementName = Literal["all_hdd", "index_ssd", "table_ssd", "all_ssd", "hot_ssd"]


class MixSpec(Strict):
    writes: float = Field(ge=0, le=1)
    skew: float = Field(ge=0)
    layout: Layout = Layout.STREWN


class Cells(Strict):
    sizes: tuple[Size, ...] = ("large",)
    placements: tuple[PlacementName, ...] = ("all_hdd", "index_ssd", "table_ssd", "all_ssd")
    clients: tuple[int, ...] = (8,)
    mixes: tuple[MixSpec, ...] = Field(default=(), description="in place of the script")
    commits: tuple[Commit, ...] = Field(default=("on",), description="synchronous_commit: whether a transaction waits for its log")
    slowdowns: tuple[float, ...] = Field(default=(1.0,), description="factor on the times of every tier, the WAL's included")
    memories: tuple[float, ...] = Field(default=(1.0,), description="memory over the source's share of the data")
    partitions: int = Field(default=0, ge=0, description="of the accounts, by ranges of their keys; 0: none")
    real_time: int = Field(default=0, ge=0, description="replicates that are measured in real time too, beside an emulated tier")

    @model_validator(mode="after")
    def _has_a_first_partition(self) -> Self:
        if HOT in self.placements and not self.partitions:
            raise ValueError(f"{HOT} moves the first partition, so partitions must be 1 or more")
        return self

    def trials(self, profile: Profile, pair: Pair) -> Iterator[Trial[Cell]]:
        loads = [{"script": MIX, **mix.model_dump()} for mix in self.mixes] or [{"script": JUDGED["script"]}]
        axes = {
            "io_mode": profile.possible((IoMode.DIRECT,)),
            "size": self.sizes,
            "clients": self.clients,
            "synchronous_commit": self.commits,
            "slowdown": self.slowdowns,
            "memory": self.memories,
        }
        for name, load, *values in product(self.placements, loads, *axes.values()):
            table, index = PLACEMENTS[name]
            cell = Cell(
                table=table,
                index=index,
                **load,
                **dict(zip(axes, values, strict=True)),
                protocol=JUDGED["protocol"],
                partitions=self.partitions or None,
                hot=("ssd" if name == HOT else table) if self.partitions else None,
            )
            tiers = frozenset({table, index, *([WAL_TIER] if WAL_TIER in pair.tiers else [])})
            trial = Trial(cell, cell.io_mode, tiers, preparation=cell.key, placed=name)  # each is put back first
            yield from (trial, *([trial.in_real_time(self.real_time)] if self.real_time and pair.name not in profile.today else []))


class Grid(Strict):
    replicates: int = Field(default=5, ge=1)
    scale: int = Field(ge=1, description="pgbench's scale of the large set's accounts; the small set has a tenth of them, as in the source")
    window_s: Lengths = Field(
        min_length=2, description="of a window at least, by where the tables lie; it ends when its checkpoint has, and a while more"
    )
    warm_s: float = Field(gt=0, description="of writing with the delays off, before")
    settle_s: Lengths = Field(min_length=2, description="of running with the delays on, before: until a controller's cache has filled")
    cells: tuple[Cells, ...]
    today: tuple[Cells, ...] = Field(default=(), description="of a pair of today")
    flip_map: FlipMap | None = Field(default=None, description="of every other pair")
    left_open: OpenAxes | None = Field(default=None, description="of every other pair")
    scales: Scales | None = Field(default=None, description="of every other pair")

    def waits_on(self, cell: Cell, pair: Pair) -> Tier:
        """Return the tier by which the length of a window goes: where the tables lie, unless memory holds them or it is flash too."""
        return "ssd" if cell.size == "small" or is_flash(pair.tiers[cell.table]) else cell.table

    def scale_of(self, size: Size) -> float:
        return self.scale * PUBLISHED_SCALES[size] / PUBLISHED_SCALES["large"]

    def bank(self, size: Size) -> Bank:
        return Bank(size, PUBLISHED_SCALES[size], round(self.scale_of(size) * pgbench.ROWS_PER_SCALE))

    def database(self, cell: Cell) -> str:
        """Return the name of the database that `cell` begins with; one of other rows has another name."""
        bank = self.bank(cell.size)
        kinds = [*(["scattered"] if cell.scattered else []), *([f"{cell.partitions}-parts"] if cell.partitions else [])]
        return "-".join([plain(bank), *kinds])


def plain(bank: Bank) -> str:
    """Return the name of the database of `bank` whose accounts lie in one piece, in the order of their keys."""
    return f"{bank.size}-{bank.branches}-branches-{bank.rows}-accounts"


def grid(profile: Profile) -> Grid:
    return profile.study("pgbench_placement", Grid)


def grid_on(profile: Profile, pair: Pair) -> Grid:
    """Return the study's table for `pair`: one of today has its own cells, and no maps."""
    config = grid(profile)
    if pair.name not in profile.today:
        return config
    return config.model_copy(update={"cells": config.today, "flip_map": None, "left_open": None, "scales": None})


def banks(profile: Profile) -> list[Bank]:
    config = grid(profile)
    sizes = {size for cells in (*config.cells, *config.today) for size in cells.sizes}
    return [config.bank(size) for size in PUBLISHED_SCALES if size in sizes]
