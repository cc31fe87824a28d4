"""One window of pgbench: on which tiers its database lies, and the load."""

from dataclasses import dataclass
from typing import Final, Literal

from tierwise.bench.study import Cell as AnyCell
from tierwise.core.vocabulary import IoMode, Layout
from tierwise.postgres import pgbench

Size = Literal["small", "large"]
Script = Literal["tpcb-like", "simple-update", "select-only"]
Tier = Literal["hdd", "ssd"]
MIX: Final = "mix"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell(AnyCell):
    """Tiers of tables and indexes (`hot`: of the first partition), the load, the slowdown of the tiers, and the memory.

    `memory` is a multiple of the source's share of the data. The script `MIX` has `writes`, `skew` and `layout`. None: the accounts are
    in one piece, or a virtual clock assumes the usual processors.
    """

    size: Size
    table: Tier
    index: Tier
    clients: int
    script: str
    writes: float | None = None
    skew: float | None = None
    layout: Layout | None = None
    io_mode: IoMode
    slowdown: float
    memory: float
    processors: int | None = None
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

    @property
    def database(self) -> str:
        parted = [] if self.partitions is None else [f"{self.partitions}-parts"]
        return "-".join([self.size, *(["scattered"] if self.scattered else []), *parted])

    def load(self, seed: int) -> str | pgbench.Mix:
        """Return what the sessions do; `seed` decides which accounts are popular where they are strewn."""
        if self.script != MIX:
            return self.script
        assert self.writes is not None
        assert self.skew is not None
        assert self.layout is not None
        return pgbench.Mix(self.writes, self.skew, self.layout, seed)
