"""A window of time over a running load: its transactions, and what server and storage did meanwhile, phase by phase."""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import polars as pl
import psutil

from tierwise.bench.accounting import relation_io, tier_io
from tierwise.bench.lab import OVERSHOOT_BOUND, Lab
from tierwise.bench.recording import MainFiles, file_names, relation_file
from tierwise.core.words import CacheState, IoArm
from tierwise.postgres.activity import activity_between, read_activity
from tierwise.postgres.cold import main_files
from tierwise.postgres.memory_limit import memory_limited
from tierwise.postgres.settings import Connection
from tierwise.postgres.statistics import BlockCount, BlockCounter
from tierwise.tiers.emulated import Emulated
from tierwise.tiers.tier import FileIo
from tierwise.timings.schema import Timing

CPU_BOUND: Final = 0.85
"""Share of the machine's processors above which a window says more of them than of the storage, and so gives no verdict."""

FileIos = Mapping[str, Mapping[str, FileIo] | None]
"""Tier -> file -> requests; None where nothing counts them."""


@dataclass(frozen=True, slots=True)
class Phase:
    """One stretch of a window."""

    name: str
    started_at: datetime
    elapsed_s: float
    blocks: Mapping[str, BlockCount]
    files: FileIos
    sequential: Mapping[str, Mapping[str, int]]  # tier -> file -> reads that begin where the one before them, of that file, ended
    server: Mapping[str, Mapping[str, float]]
    cpu_share: float

    def transactions(self, load: pl.DataFrame) -> int:
        """How many of `load` ended in it."""
        started_s = self.started_at.timestamp()
        return load.filter(pl.col("ended_s").is_between(started_s, started_s + self.elapsed_s, closed="left")).height


@contextmanager
def serving(lab: Lab, settings: Mapping[str, str], *, arm: IoArm, memory_bytes: int | None = None) -> Iterator[Connection]:
    """A server with empty caches, delays off; at the end it is stopped at once, and what it holds is not written down.

    `memory_bytes` limits all that it has, the page cache of its files included.
    """
    lab.cluster.stop("immediate")
    for tier in lab.tiers.values():
        tier.delays(False)
        tier.empty_cache(cached=arm is IoArm.BUFFERED)
    lab.settings = dict(settings)
    lab.cluster.start(settings)
    try:
        with nullcontext() if memory_bytes is None else memory_limited(lab.cluster, memory_bytes), lab.cluster.connect() as connection:
            yield connection
    finally:
        for tier in lab.tiers.values():
            tier.delays(False)
        lab.cluster.stop("immediate")


class Window:
    """Watches the load that others run on `lab`'s server.

    Args:
        relations: whose blocks are counted.
        tiers: tablespace -> tier.
    """

    def __init__(self, lab: Lab, connection: Connection, relations: Sequence[str], tiers: Mapping[str, str]):
        self._lab, self._connection, self._relations, self._tiers = lab, connection, relations, tiers
        self._main_files: MainFiles = main_files(connection, relations)
        self.phases: list[Phase] = []

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """The next stretch. The server's counts are up to a second late, since busy sessions report theirs once a second."""
        before = read_activity(self._connection)
        with BlockCounter(self._connection, self._relations) as counter:
            for tier in self._lab.tiers.values():
                tier.reset_io()
            cpu, started_at, started_s = psutil.cpu_times(), datetime.now(UTC), time.monotonic()
            yield
            elapsed_s, cpu_share = time.monotonic() - started_s, _busy(cpu, psutil.cpu_times())
            files = {tier_name: tier.io() for tier_name, tier in self._lab.tiers.items()}
            emulated = {tier_name: tier for tier_name, tier in self._lab.tiers.items() if isinstance(tier, Emulated)}
            sequential = {tier_name: sequential_reads(tier.requests()) for tier_name, tier in emulated.items()}
        server = activity_between(before, read_activity(self._connection))
        self.phases.append(Phase(name, started_at, elapsed_s, counter.blocks, files, sequential, server, cpu_share))

    def timings(self, load: pl.DataFrame, *, script: str, clients: int, cell: Mapping[str, str | int | float]) -> Iterator[Timing]:
        """One row a phase: its transactions (`result_rows`) in its time, with the blocks, requests and server's counts in it.

        A flag speaks of the whole window: `cpu` where the processors were busier than `CPU_BOUND`, `overshoot` where the
        emulator added more than `OVERSHOOT_BOUND` of the clients' time.
        """
        elapsed_s = math.fsum(phase.elapsed_s for phase in self.phases)
        cpu_share = math.fsum(phase.cpu_share * phase.elapsed_s for phase in self.phases) / elapsed_s
        requests = [tuple(tier_io(tier, phase.files[name]) for name, tier in self._lab.tiers.items()) for phase in self.phases]
        overshoot_s = math.fsum((io.actual_s or 0.0) - (io.intended_s or 0.0) for every in requests for io in every)
        flags = [
            *(["cpu"] if cpu_share > CPU_BOUND else []),
            *(["overshoot"] if overshoot_s > OVERSHOOT_BOUND * elapsed_s * clients else []),
        ]
        for phase, every in zip(self.phases, requests, strict=True):
            blocks = [replace(count, tier=self._tiers[count.tier]) for count in phase.blocks.values()]
            yield Timing(
                cell={**cell, "phase": phase.name},
                cache=CacheState.NONE,
                operation=script,
                started_at=phase.started_at,
                elapsed_s=phase.elapsed_s,
                result_rows=phase.transactions(load),
                relation_io=relation_io(blocks, self._lab.tiers, phase.files, self._main_files),
                tier_io=every,
                proof={"cpu_share": phase.cpu_share, "window_cpu_share": cpu_share, "files": self._files(phase), "server": phase.server},
                flags=tuple(flags),
            )

    def _files(self, phase: Phase) -> dict[str, dict[str, Any]]:
        """Requests that reached the emulated tiers by relation (all forks), by ``wal``, and by ``other`` for any other file."""
        names = file_names(self._main_files)
        found: dict[str, dict[str, Any]] = {}
        for tier_name, files in phase.files.items():
            folder = self._lab.tiers[tier_name].directory.resolve()
            for path, io in (files or {}).items():
                total = found.setdefault(_owner(folder / path, names), {"tier": tier_name})
                for field in ("reads", "read_bytes", "writes", "write_bytes", "intended_s", "actual_s"):
                    total[field] = total.get(field, 0) + getattr(io, field)
                total["sequential_reads"] = total.get("sequential_reads", 0) + phase.sequential[tier_name].get(path, 0)
        return found


def sequential_reads(requests: pl.DataFrame) -> dict[str, int]:
    """By file: reads of a tier's log that begin where the latest read of the same file ended."""
    reads = requests.filter(operation="read").sort("time_s")
    ended = (pl.col("offset_bytes") + pl.col("size_bytes")).shift(1).over("file")
    return dict(reads.filter(pl.col("offset_bytes") == ended).group_by("file").len().rows())


def _owner(path: Path, names: Mapping[tuple[Path, str], str]) -> str:
    if "pg_wal" in path.parts:
        return "wal"
    relation = relation_file(path, names).relation
    return relation if relation in names.values() else "other"


def _busy(before: Any, after: Any) -> float:
    """Share of all processors' time that was neither idle nor waiting for I/O."""
    spent = {name: getattr(after, name) - getattr(before, name) for name in before._fields if name not in {"guest", "guest_nice"}}
    total_s = sum(spent.values())
    return 1.0 - (spent["idle"] + spent.get("iowait", 0.0)) / total_s if total_s else 0.0
