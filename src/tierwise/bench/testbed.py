"""The testbed: tiers mounted, a server that can be made cold, and a stopwatch that counts pages. A study sees nothing else."""

import math
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from psycopg import sql

from tierwise.bench.recording import Recorder, Span, outstanding, relation_io, tier_io
from tierwise.bench.stopwatch import Stopwatch, disturbed, measured_charge, reference_s, wait_asleep
from tierwise.core.data_sets import SYNTHETIC
from tierwise.core.errors import EvidenceError
from tierwise.core.pairs import Pair
from tierwise.core.profiles import Profile
from tierwise.core.session_group import SessionGroup
from tierwise.core.vocabulary import Cache, ClockKind, IoMode
from tierwise.postgres import cold_proof, residency
from tierwise.postgres.cluster import Cluster, Mode, memory_limited
from tierwise.postgres.cluster_files import copy_fresh_cluster
from tierwise.postgres.cold_proof import warm_heap
from tierwise.postgres.loading import loading
from tierwise.postgres.page_counts import PageCounter, log_position
from tierwise.postgres.settings import Connection, measuring_settings
from tierwise.tiers import sleeps
from tierwise.tiers.clock import AS_USED, Charge
from tierwise.tiers.daemon import Daemon
from tierwise.tiers.tier import Tier
from tierwise.timings.schema import Timing

PROCESSORS = 2  # how many a virtual clock assumes of a group of processes (assumed: what the machines have that this is tried on)

VIRTUAL_CLOCK = "tierwise.clock"  # a setting of servers in virtual time, which `tierwise watch` refuses: their waiting takes no real time


class DatasetLike(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def rows(self) -> int: ...
    @property
    def sha256(self) -> str | None: ...
    @property
    def provenance(self) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class ColdQuery:
    """A query as a cold server executes it, its relations in `files` on any tier.

    `setup` is run in the session first (search path, planner switches). `expected`: the pages of each relation that it must miss; `nodes`:
    those of its plan.
    """

    relations: Sequence[str]
    files: Sequence[Path]
    statement: str
    setup: Sequence[str]
    shared_buffers_bytes: int
    expected: Mapping[str, int] = field(default_factory=dict)
    nodes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Session:
    """A connection to a server that was started cold; then the heaps of `cached` were read, and no other page."""

    connection: Connection
    relations: Sequence[str]
    main_files: Mapping[str, Path]
    evidence: cold_proof.ColdEvidence  # that the server was down, seen after the caches were emptied; what was read is not known yet
    stopwatch: Stopwatch
    reference_s: float  # processor time of a fixed work
    recorder: Recorder  # watches every timed query


@dataclass
class Testbed:
    profile: Profile
    pair: Pair
    seed: int
    work: Path
    cluster: Cluster
    stretch: float = 1.0  # of seek distances, for the size of the data
    sources: Mapping[str, str] = field(default_factory=dict)  # data set -> where it comes from, if it is not synthetic
    tiers: dict[str, Tier] = field(default_factory=dict)
    datasets: dict[str, DatasetLike] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    daemon: Daemon | None = None  # of tiers that are all emulated: their time can be counted
    group: SessionGroup | None = None  # where several sessions can be counted
    waiting: bool = False  # the trial that is measured now goes by real time
    origin_s: float = 0.0  # of a virtual clock in this trial: where platters stand when it begins
    processors: int = PROCESSORS
    charge: Charge = AS_USED  # of the clock that the tiers go by
    _past_the_cache: dict[str, bool] = field(default_factory=dict)  # by tier: direct I/O leaves nothing in the page cache

    def clock(self, *, alone: bool) -> ClockKind:
        """Return the clock that what comes next can go by; `alone`: it is one session that has one request at a time."""
        if self.daemon is None or self.waiting:
            return ClockKind.REAL
        if alone:
            return ClockKind.VIRTUAL_ONE
        return ClockKind.VIRTUAL_SEVERAL if self.group else ClockKind.REAL

    def started_by(self, clock: ClockKind) -> AbstractContextManager[None]:
        """Return a context: what is started in it is in the group that `clock` counts, if it counts one."""
        return self.group.entered() if self.group and clock is ClockKind.VIRTUAL_SEVERAL else nullcontext()

    def go_by(self, clock: ClockKind, *, session: int = 0) -> None:
        """Have the tiers go by `clock` from now on, as devices that are new; `session`: the process of a single query.

        Of a load, a clock of several sessions charges the processor time without the mount's part, at the pace of the reference processor.
        That of a query is charged as it was used, and normalised by whoever reads its row (timings.sql).
        """
        self.charge = AS_USED
        if self.daemon is None:
            return
        if clock is ClockKind.VIRTUAL_ONE:
            self.daemon.count_one(session, origin_s=self.origin_s)
        elif clock is ClockKind.VIRTUAL_SEVERAL and self.group:
            if not session:
                self.charge = self._measured_charge(self.group)
            self._count_several(self.group)
        else:
            self.daemon.wait_in_real_time()

    def _measured_charge(self, group: SessionGroup) -> Charge:
        self._count_several(group)
        self.delays(True)
        try:
            with group.entered():
                return measured_charge(next(iter(self.tiers.values())).directory, self.cluster)
        finally:
            self.delays(False)

    def _count_several(self, group: SessionGroup) -> None:
        assert self.daemon is not None
        self.daemon.count_several(group.folders, processors=self.processors, origin_s=self.origin_s, charge=self.charge)

    def sleep(self, seconds: float, *, hold: bool = False) -> None:
        """Sleep by the clock of the tiers; with `hold` a virtual clock then stands until `hold(False)` or the next sleep."""
        if self.daemon and self.daemon.clock is ClockKind.VIRTUAL_SEVERAL:
            self.daemon.sleep(seconds, hold=hold)
        else:
            time.sleep(seconds)

    def hold(self, held: bool) -> None:
        """Have a virtual clock stand, while figures are read that belong to one moment, or go on."""
        if self.daemon and self.daemon.clock is ClockKind.VIRTUAL_SEVERAL:
            self.daemon.hold(held)

    def empty_caches(self, *, cached: bool) -> None:
        for tier in self.tiers.values():
            tier.empty_cache(cached=cached)

    def delays(self, on: bool, *, slowdown: float = 1.0) -> None:
        for tier in self.tiers.values():
            tier.delays(on, slowdown=slowdown)

    def source_of(self, data_set: str) -> str:
        return self.sources.get(data_set, SYNTHETIC)

    def note_dataset(self, dataset: DatasetLike) -> None:
        self.datasets[dataset.name] = dataset

    def down(self, mode: Mode = "fast") -> None:
        """Have the server down and the tiers in real time without delays: what loading, and a server that is measured, begin with."""
        self.cluster.stop(mode)
        self.go_by(ClockKind.REAL)
        self.delays(False)

    def make_cluster(self, cluster: Cluster) -> None:
        """Copy to `cluster` the one that all testbeds of a study on a pair share, as initdb left it."""
        copy_fresh_cluster(cluster, Cluster(self.work.parent / "first", cluster.binaries, cluster.account))

    @contextmanager
    def loading(self, others: Mapping[str, Path] | None = None) -> Iterator[Connection]:
        """Start a server set for loading, delays off, with a tablespace on every tier and `others` (name -> directory)."""
        self.down()
        with loading(self.cluster, {name: tier.directory for name, tier in self.tiers.items()} | {**(others or {})}) as connection:
            yield connection

    @contextmanager
    def serving(
        self, settings: Mapping[str, str], clock: ClockKind, *, stop: Mode = "fast", memory_bytes: int | None = None
    ) -> Iterator[Connection]:
        """Start the measured server with `settings`, where `clock` can count its processes; stop it at the end (`stop`). The caller has
        emptied the caches. `memory_bytes` limits all that it has, its page cache included; `commit_delay` goes by the clock of the tiers.
        """
        self.settings = dict(settings)
        if clock is not ClockKind.REAL:
            settings = {**settings, VIRTUAL_CLOCK: str(clock)}
        with self.started_by(clock):
            if self.daemon is not None and clock is not ClockKind.VIRTUAL_ONE and int(settings.get("commit_delay", "0")):
                sleeps.reporting_sleeps(lambda: self.cluster.start(settings), self.daemon.serve_sleeps)
            else:
                self.cluster.start(settings)
        try:
            with (
                nullcontext() if memory_bytes is None else memory_limited(self.cluster, memory_bytes),
                self.cluster.connect() as connection,
            ):
                yield connection
        finally:
            self.delays(False)
            self.go_by(ClockKind.REAL)
            self.cluster.stop(stop)

    @contextmanager
    def cold(self, query: ColdQuery, *, io_mode: IoMode, recorder: Recorder, cached: Sequence[str] = ()) -> Iterator[Session]:
        """Start a server that holds nothing of the relations of `query` but the heaps of `cached`.

        After the setup, the heaps of the tables `cached` are read without delay, and the catalogues that the statement wants are warmed.
        With direct I/O, a session asks for one thing at a time and is counted alone.
        """
        self.down()  # what is read before the timed query takes no time, and leaves nothing in a device's own buffer
        clock = self.clock(alone=io_mode is IoMode.DIRECT)
        residency.evict(query.files)
        self.empty_caches(cached=io_mode.cached)
        resident_pages = {
            name: residency.residency([path for path in query.files if path.is_relative_to(tier.directory.resolve())])
            for name, tier in self.tiers.items()
        }
        if not self.cluster.down:
            raise EvidenceError(f"not cold: a server still runs in {self.cluster.data}, or its pid file is there")
        direct_io = all(self._writes_past_the_cache(tier) for tier in self.tiers.values()) if not io_mode.cached else None
        settings = measuring_settings(self.cluster.binaries, io_mode=io_mode, shared_buffers_bytes=query.shared_buffers_bytes)
        with self.serving(settings, clock) as connection:
            for command in query.setup:
                connection.execute(sql.SQL(command))
            main_files = cold_proof.main_files(connection, query.relations)
            warm = {table: warm_heap(connection, table) for table in cached}
            cold_proof.warm_catalogues(connection, query.statement)
            reference = reference_s(connection)
            pid = connection.info.backend_pid
            self.go_by(clock, session=pid)
            self.delays(True)
            watch = Stopwatch(self.daemon, lambda: (pid,))
            evidence = cold_proof.ColdEvidence(server_was_down=True, resident_pages=resident_pages, direct_io=direct_io, cached=warm)
            yield Session(connection, query.relations, main_files, evidence, watch, reference, recorder)

    def timed(
        self,
        session: Session,
        statement: str,
        *,
        cache: Cache,
        cell: Mapping[str, str | int | float],
        expected: Mapping[str, int] | None = None,
        listing: bool = False,
        again: int = 0,
    ) -> Timing:
        """Run `statement` once, timed at the client, with the pages of every relation and the requests of every tier.

        The answer that is kept is the first row's first column or, of a statement that is `listing` rows, their number. Of a short query
        that reads nothing from any tier, the processor time is that of `again` more executions, each beside the reference work.
        A cold run names the pages that it must miss (`expected`). `EvidenceError` where it was not cold, or a cached heap was read.
        """
        for tier in self.tiers.values():
            tier.reset_io()
        started_at = datetime.now(UTC)
        with session.recorder.watching(session.connection.info.backend_pid), PageCounter(session.connection, session.relations) as counter:
            logged = log_position(session.connection)
            begun = session.stopwatch.read()
            cursor = session.connection.execute(sql.SQL(statement))
            row = cursor.fetchone() if cursor.description else None
            ended = session.stopwatch.read()
        elapsed_s = ended.clock.now_s - begun.clock.now_s
        session.recorder.note(Span(cache, begun.clock.now_s, ended.clock.now_s, counter.storage_s), session.main_files)
        files = {name: tier.io() for name, tier in self.tiers.items()}
        requests = tuple(tier_io(tier, files[name]) for name, tier in self.tiers.items())
        model_s, taken_s = (math.fsum(getattr(io, name) or 0.0 for io in requests) for name in ("intended_s", "actual_s"))
        parts = session.stopwatch.parts(begun, ended, devices_s=taken_s, reference_s=session.reference_s)
        flags: tuple[str, ...] = ("strangers",) if ended.clock.strangers > begun.clock.strangers else ()
        proof: dict[str, Any] = {"outstanding": outstanding(self.tiers, requests)}
        cached = session.evidence.cached
        proof |= {"cached": cached} if cached else {}
        if again and parts.clock is not ClockKind.REAL and not parts.device_s:
            proof["reference_s"], proof["cpu_s"] = zip(*(self._computed_s(session, statement) for _ in range(again)), strict=True)
            paces = (cpu_s / work_s for work_s, cpu_s in zip(proof["reference_s"], proof["cpu_s"], strict=True))
            elapsed_s = statistics.median(paces) * session.reference_s
            parts = replace(parts, cpu_s=elapsed_s)
        if parts.clock is ClockKind.REAL:
            known = all(io.intended_s is not None for io in requests)
            flags = disturbed(elapsed_s, model_s=model_s, taken_s=taken_s, computed_s=parts.cpu_s if known else None)
        for table in cached:
            if counter.pages[table].reads:
                raise EvidenceError(f"{table} was not cached any more: {counter.pages[table].reads} pages were read")
        written_bytes = log_position(session.connection) - logged
        if expected is not None:
            misses = {name: count.reads for name, count in counter.pages.items()}
            evidence = session.evidence.model_copy(update={"misses": misses, "expected": dict(expected)})
            evidence.require()
            proof |= evidence.model_dump(mode="json")
        if written_bytes:
            proof = {**proof, "wal_bytes": written_bytes}  # onto no tier: recorded, not counted
        return Timing(
            cell=cell,
            cache=cache,
            operation=statement,
            started_at=started_at,
            elapsed_s=elapsed_s,
            result_rows=cursor.rowcount if listing else row[0] if row else None,
            relation_io=relation_io(counter.pages.values(), self.tiers, files, session.main_files),
            tier_io=requests,
            proof=proof,
            flags=flags,
            parts=parts,
        )

    def _computed_s(self, session: Session, statement: str) -> tuple[float, float]:
        work_s = reference_s(session.connection, 1)
        begun = session.stopwatch.read()
        session.connection.execute(sql.SQL(statement)).fetchall()
        wait_asleep(session.connection.info.backend_pid)
        return work_s, session.stopwatch.read().clock.computed_s - begun.clock.computed_s

    def _writes_past_the_cache(self, tier: Tier) -> bool:
        if tier.name not in self._past_the_cache:
            self._past_the_cache[tier.name] = residency.direct_io_probe(tier.directory)
        return self._past_the_cache[tier.name]
