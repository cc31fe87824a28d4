"""One window of pgbench: on which tiers its database lies, and the load."""

from dataclasses import dataclass
from typing import Final, Literal

from tierwise.bench.study import Cell as AnyCell
from tierwise.core.vocabulary import IoMode, Layout
from tierwise.postgres import pgbench

Size = Literal["small", "large"]
Script = Literal["tpcb-like", "simple-update", "select-only"]
Tier = Literal["hdd", "ssd"]
Commit = Literal["on", "off"]
MIX: Final = "mix"
ACCOUNTS_ALONE: Final = {"simple-update": pgbench.Mix(writes=1.0, skew=0.0), "select-only": pgbench.Mix(writes=0.0, skew=0.0)}
"""pgbench's other scripts, which leave branches and tellers alone: by its own, accounts would be as many as the branches make them."""


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
    protocol: pgbench.Protocol
    synchronous_commit: Commit
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

    def load(self, seed: int, *, branches: int) -> pgbench.TpcB | pgbench.Mix:
        """Return what the sessions do; `seed` decides which accounts are popular where they are strewn."""
        if self.script != MIX:
            return ACCOUNTS_ALONE.get(self.script) or pgbench.TpcB(branches)
        assert self.writes is not None
        assert self.skew is not None
        assert self.layout is not None
        return pgbench.Mix(self.writes, self.skew, self.layout, seed)
