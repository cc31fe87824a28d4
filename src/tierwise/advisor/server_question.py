"""A watched server with its tiers, and what a move of its units does to a transaction's time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from tierwise.advisor.server_tiers import FAST, SLOW, ServerTier
from tierwise.advisor.stations import Load, Part, Predicted, predict
from tierwise.core.activity import Activity, RelationLoad
from tierwise.core.errors import InputError, MissingError
from tierwise.core.units import GIB
from tierwise.costs.book import Book
from tierwise.costs.hardware import share_bill
from tierwise.costs.units import MONTHS_A_YEAR

LOG: Final = "wal"
WRITES: Final = "writes"  # the cause of a watch, which no relation has for itself
TEMPORARY: Final = "temporary"
READ_AHEAD: Final = ("table", "materialized view")  # PostgreSQL 18 reads the pages of an index one by one
MOVABLE: Final = ("table", "materialized view", "index", LOG, TEMPORARY)
LEAST_SHARE: Final = 0.01  # units that wait for less of a transaction's time are not looked at (chosen)
LOG_GIB: Final = 1.0  # the space that a log takes (`max_wal_size` by default)


@dataclass(frozen=True)
class Limits:
    """What the reader accepts: space, dollars a month, and the mean of a transaction; None is no limit."""

    ssd_gib: float | None = None
    budget: float | None = None
    latency_s: float | None = None


@dataclass(frozen=True)
class Unit:
    """What moves as one: a table with its TOAST, an index, the log, or partitions (`members`) of which none is waited for much."""

    name: str
    kind: str
    size_bytes: float | None
    waiting_s: float
    writes_per_s: float
    reads_per_s: float
    members: tuple[str, ...] = ()


def together(units: Sequence[Unit]) -> Unit:
    """Return `units` as one, named after the first."""
    sizes = [unit.size_bytes for unit in units]
    return Unit(
        name=f"{units[0].name} and {len(units) - 1} older partitions",
        kind=units[0].kind,
        size_bytes=None if None in sizes else sum(size or 0.0 for size in sizes),
        waiting_s=sum(unit.waiting_s for unit in units),
        writes_per_s=sum(unit.writes_per_s for unit in units),
        reads_per_s=sum(unit.reads_per_s for unit in units),
        members=tuple(unit.name for unit in units),
    )


@dataclass(frozen=True)
class Question:
    """A watched server with its tiers."""

    activity: Activity
    tiers: Mapping[str, ServerTier]
    limits: Limits
    book: Book
    standbys: tuple[Activity, ...] = ()

    @cached_property
    def units(self) -> list[Unit]:
        """Return what can move and is waited for, the most first. Partitions that are waited for little are one unit for each parent."""
        least = LEAST_SHARE * (self.activity.transaction_s or 0.0)
        each = {unit.name: unit for unit in self.every_unit}
        little: dict[tuple[int, str, str], list[Unit]] = {}
        for load in sorted(self.activity.relations, key=lambda load: -load.relation):
            unit = each.get(unit_name(load))
            if unit and load.parent and 0 < unit.waiting_s <= least:
                little.setdefault((load.parent, unit.kind, self._homes[unit.name]), []).append(unit)
        found = [*self.every_unit, *(together(units) for units in little.values())]
        return sorted((unit for unit in found if unit.waiting_s > least), key=lambda unit: -unit.waiting_s)

    @cached_property
    def every_unit(self) -> list[Unit]:
        toast = {load.owner: load for load in self.activity.relations if load.kind == "toast"}
        within = {load.relation for load in toast.values()}
        indexes = {load.owner: load for load in self.activity.relations if load.kind == "index" and load.owner in within}
        writes_s = sum(cause.time_s for cause in self.activity.causes if cause.cause == WRITES)
        found = []
        for load in self.activity.relations:
            if load.kind in MOVABLE and load.owner not in within and (load.kind != LOG or self.tiers[SLOW].wal):
                values = toast.get(load.relation) if load.kind != "index" else None
                with_it = [load, *(one for one in (values, values and indexes.get(values.relation)) if one)]
                sizes = [self._size_bytes(one) for one in with_it]
                size = None if None in sizes else float(sum(one or 0 for one in sizes))
                written = sum(self._written.get(one.relation, 0.0) for one in with_it)
                waiting_s = sum(self._waiting(one) for one in with_it) + written * writes_s
                writes_per_s = written * (self.activity.page_writes_per_s or 0.0)
                reads_per_s = sum(one.reads_per_s for one in with_it)
                found.append(Unit(unit_name(load), load.kind, size, waiting_s, writes_per_s, reads_per_s))
        return found

    def _size_bytes(self, load: RelationLoad) -> float | None:
        """Return the space of a relation. The watch counts all temporary bytes; no file is assumed to live for more than a window."""
        if load.kind == TEMPORARY and load.size_bytes and self.activity.watched_s > self.activity.window_s:
            return load.size_bytes * self.activity.window_s / self.activity.watched_s
        return LOG_GIB * GIB if load.kind == LOG else load.size_bytes

    @cached_property
    def placement(self) -> dict[str, str]:
        return self._homes | {unit.name: self._homes[unit.members[0]] for unit in self.units if unit.members}

    @cached_property
    def _homes(self) -> dict[str, str]:
        fast, slow = (set(self.tiers[tier].tablespaces) for tier in (FAST, SLOW))
        read = {load.tablespace for load in self.activity.relations if load.waiting_s and load.kind in MOVABLE and load.tablespace}
        if slow and (unnamed := sorted(read - slow - fast)):
            rule, remedy = f"neither tier has the tablespace {unnamed[0]!r}, which was watched", "add it to the tier where it lies"
            raise InputError("--tiers", field="tiers.hdd.tablespaces", value=sorted(slow), rule=rule, remedy=remedy)
        homes = {unit_name(load): FAST if load.tablespace in fast else SLOW for load in self.activity.relations}
        by_kind = {LOG: self.tiers[FAST].wal, TEMPORARY: self.tiers[FAST].temporary}
        return homes | {unit_name(load): FAST if by_kind[load.kind] else SLOW for load in self.activity.relations if load.kind in by_kind}

    def _waiting(self, load: RelationLoad) -> float:
        return (load.waiting_s or 0.0) * (1.0 if load.kind in {LOG, TEMPORARY} else self._factors[self._homes[unit_name(load)]])

    @cached_property
    def _factors(self) -> dict[str, float]:
        """Return by which factor reads of each tier wait longer, where the watch divided their time as if all tablespaces were alike."""
        if "tablespaces" not in self.activity.unknown:
            return dict.fromkeys(self.tiers, 1.0)
        each_s = {name: tier.latency()(1.0) for name, tier in self.tiers.items()}
        reads = [load for load in self.activity.relations if load.waiting_s and load.kind not in {LOG, TEMPORARY}]
        even = sum(load.waiting_s or 0.0 for load in reads)
        uneven = sum((load.waiting_s or 0.0) * each_s[self._homes[unit_name(load)]] for load in reads)
        return {name: time_s * even / uneven if uneven else 1.0 for name, time_s in each_s.items()}

    @cached_property
    def _written(self) -> dict[int, float]:
        """Return each relation's share of the pages written. A page is written at most once for each read of it and each changed row."""
        most = {load.relation: min(load.writes_per_s.high, load.reads_per_s) for load in self.activity.relations if load.writes_per_s}
        every = sum(most.values())
        return {relation: one / every for relation, one in most.items()} if every else {}

    @cached_property
    def load(self) -> Load:
        """The watched load: what waits at no device of the tiers is spent elsewhere."""
        whole = self.activity.transaction_s or 0.0
        rate, workers = self.activity.transactions_per_s.high, self.activity.io_workers
        scanned_s = sum(unit.waiting_s for unit in self.units if unit.kind in READ_AHEAD)
        by_workers = min(1.0, workers.waiting / rate / scanned_s) if workers and rate and scanned_s else 0.0
        parts = tuple(
            Part(unit.name, unit.waiting_s, unit.writes_per_s, unit.kind == LOG, by_workers if unit.kind in READ_AHEAD else 0.0)
            for unit in self.units
        )
        elsewhere_s = max(0.0, whole - sum(part.waiting_s for part in parts))
        return Load(parts, self.placement, elsewhere_s, max(1.0, rate * whole), rate, workers)

    def predicted(self, moved: Sequence[str]) -> tuple[Predicted, Predicted]:
        """Return the time with `moved` on the faster tier, of a closed load and of an open one."""
        placement = {**self.placement, **dict.fromkeys(self.moved_whole(moved), FAST)}
        latency = {name: tier.latency() for name, tier in self.tiers.items()}
        flushes = {name: flush for name, tier in self.tiers.items() if (flush := tier.flush())} or None
        closed, opened = (predict(self.load, placement, latency, flushes, closed=closed) for closed in (True, False))
        return closed, opened

    def moved_whole(self, moved: Sequence[str]) -> set[str]:
        """Return the units of which all has `moved`."""
        return {unit.name for unit in self.units if set(unit.members or (unit.name,)) <= {*moved}} | {*moved}

    def usd_a_month(self, size_bytes: float) -> float | None:
        """Return the price of the space on the faster tier; None where nothing has one."""
        tier = self.tiers[FAST]
        if tier.usd_a_month_per_gib is not None:
            return tier.usd_a_month_per_gib * size_bytes / GIB
        try:
            return share_bill(tier.device, size_bytes, self.book).cost(self.book) / MONTHS_A_YEAR if tier.device else None
        except MissingError:
            return None


def unit_name(load: RelationLoad) -> str:
    return load.name if load.schema_name in {"", "public", "pg_toast"} else f"{load.schema_name}.{load.name}"
