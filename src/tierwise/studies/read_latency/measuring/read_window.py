"""A window in which every read of the server is recorded, one by one, while others load it."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import polars as pl

from tierwise.bench.recording import FORKS, SEGMENT_PAGES, tier_io
from tierwise.bench.stopwatch import OVERSHOOT_BOUND, Stopwatch, processor_shares
from tierwise.bench.testbed import Testbed
from tierwise.bench.window import bound_flags, processor_share, record_sessions, shares, spent_between
from tierwise.core.errors import EvidenceError
from tierwise.core.units import PAGE_BYTES
from tierwise.core.vocabulary import Cache, ClockKind
from tierwise.postgres.cluster_files import WAL
from tierwise.postgres.page_counts import PageCount, PageCounter
from tierwise.postgres.processes import server_processes
from tierwise.postgres.relations import SQL
from tierwise.postgres.residency import evict, residency
from tierwise.postgres.settings import Connection
from tierwise.recorders.reads import find_server
from tierwise.recorders.selection import RECORDERS
from tierwise.tiers.emulated import Emulated
from tierwise.timings.reads import READS, buckets
from tierwise.timings.schema import RelationIo, Timing

Obstacles = dict[str, str | None]
EMULATOR: Final = "emulator"
CONSERVED: Final = 0.01  # share of the server's reads by which the trace may differ before the row gives no verdict
SPARE_S: Final = 60.0  # how much longer than the window a recorder may run, for a busy machine; it is ended with it
PATH: Final = rf"^(?:(?<space>[a-z]\w*)/)?PG_[^/]+/(?<database>\d+)/(?<node>\d+)(?<fork>_(?:{FORKS}))?(?:\.(?<segment>\d+))?$"
"""The path of a relation's file below its mount, with its tablespace first where the mount has several."""


def empty_caches(testbed: Testbed) -> None:
    testbed.down()
    for tier in testbed.tiers.values():
        files = [path for path in tier.directory.rglob("*") if path.is_file() and WAL not in path.parts]
        evict(files)
        if kept := residency(files):
            raise EvidenceError(f"tier {tier.name}: {kept} pages were still in the page cache")


def choose_recorder(testbed: Testbed, wanted: Sequence[str], obstacles: Obstacles) -> str:
    """Return the first of `wanted` that can record here; else, and by a virtual clock, the emulator's log of device requests."""
    if testbed.clock(alone=False) is not ClockKind.REAL:
        return EMULATOR
    for name in wanted:
        if name not in obstacles:
            obstacles[name] = RECORDERS[name].obstacle()
        if obstacles[name] is None:
            return name
    return EMULATOR


@dataclass
class ReadWindow:
    testbed: Testbed
    connection: Connection
    relations: Sequence[str]
    tablespaces: Mapping[str, str]
    seconds: float
    recorder: str
    slowdown: float = 1.0  # of all tiers; recorded times are divided by it
    reads: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=READS))
    logs: dict[str, pl.DataFrame] = field(default_factory=dict)
    """Each tier's device requests (`Mount.requests`), where the emulator records."""

    @contextmanager
    def open(self) -> Iterator[None]:
        """Open the window that the load runs in; its sessions must have flushed their counts when it closes."""
        self._server()  # reads the catalogues that this needs
        watch = Stopwatch(self.testbed.daemon, lambda: [process.pid for process in server_processes(self.testbed.cluster.data)])
        with self._recording(), PageCounter(self.connection, self.relations) as counter:
            self.testbed.go_by(self.testbed.clock(alone=False))
            self.testbed.delays(True, slowdown=self.slowdown)
            for tier in self.testbed.tiers.values():
                tier.reset_io()
            unrecorded = record_sessions(self.testbed, self.connection)
            before = self._server()
            self._started_at, begun = datetime.now(UTC), watch.read()
            yield
            after, ended = self._server(), watch.read()
            self._elapsed_s = ended.clock.now_s - begun.clock.now_s
            self._parts = watch.parts(begun, ended, devices_s=None, reference_s=None)
            self._spent = spent_between(begun.clock, ended.clock, unrecorded)
            self._processor = processor_shares(begun, ended, self.testbed.charge)
            self._files = {name: tier.io() for name, tier in self.testbed.tiers.items()}
            if self.recorder == EMULATOR:
                at_own_pace = ((pl.col("time_s") - begun.clock.now_s) / self.slowdown, pl.col("actual_s") / self.slowdown)
                mounts = {name: tier for name, tier in self.testbed.tiers.items() if isinstance(tier, Emulated)}
                self.logs = {name: mount.requests().with_columns(*at_own_pace) for name, mount in mounts.items()}
                logged = (_logged(name, log, self._started_at.timestamp()) for name, log in self.logs.items())
                self.reads = pl.concat([self.reads, *logged])
        self._counted = {"reads": after[0] - before[0], "latency_sum_s": (after[1] - before[1]) / self.slowdown}
        self._pages: Mapping[str, PageCount] = counter.pages
        begun_s = self._started_at.timestamp()
        self.reads = self._named(self.reads.filter(pl.col("time_s").is_between(begun_s, begun_s + self._elapsed_s / self.slowdown)))

    def timing(self, operation: str, cell: Mapping[str, str | int | float]) -> Timing:
        """Return the window as a raw row: `result_rows` counts the recorded reads of relations, `proof` has them by tablespace and bucket.

        Flags: `overshoot` as of any emulated tier, over the requests' own time; `conservation` where recorder and server disagree;
        `unseen` where reads that the kernel's page cache serves were not recorded; and those of `bound_flags`.
        """
        requests = tuple(tier_io(tier, self._files[name]) for name, tier in self.testbed.tiers.items())
        overshoot_s = math.fsum((io.actual_s or 0.0) - (io.intended_s or 0.0) for io in requests)
        intended_s = math.fsum(io.intended_s or 0.0 for io in requests)
        found = shares([self._spent])
        ours = self.reads.filter(pl.col("tablespace").is_in(list(self.tablespaces)))
        recorded = self.reads.filter(~pl.col("tablespace").str.starts_with("pg_")).height
        differs = abs(recorded - self._counted["reads"]) > CONSERVED * max(1, self._counted["reads"])
        flags = [
            *bound_flags(processor_share(self._parts, self._elapsed_s), found),
            *(["overshoot"] if overshoot_s > OVERSHOOT_BOUND * intended_s else []),
            *(["unseen"] if self.recorder == EMULATOR else ["conservation"] if differs else []),
        ]
        return Timing(
            cell=cell,
            cache=Cache.NONE,
            operation=operation,
            started_at=self._started_at,
            elapsed_s=self._elapsed_s,
            result_rows=recorded,
            relation_io=tuple(self._relation_io(count) for count in self._pages.values()),
            tier_io=requests,
            proof={
                "recorder": self.recorder,
                "recorded": recorded,
                "slowdown": self.slowdown,
                "server": self._counted,
                "tablespaces": histograms(ours),
                "window_shares": found,
                **self._spent.as_proof(),
                "processor": self._processor,
            },
            flags=tuple(flags),
            parts=self._parts,
        )

    def _relation_io(self, count: PageCount) -> RelationIo:
        latency_sum_s = math.fsum(self.reads.filter(relation=count.relation)["latency_s"])
        basis = f"{self.recorder}: every read of this window"
        place = (count.relation, str(count.relation_class), self.tablespaces[count.tier])
        return RelationIo(*place, count.hits, count.reads, latency_sum_s, basis)

    @contextmanager
    def _recording(self) -> Iterator[None]:
        if self.recorder == EMULATOR:
            yield
            return
        server = find_server(cluster=self.testbed.cluster.data)
        with RECORDERS[self.recorder].recorded(server, seconds=self.seconds + SPARE_S) as recording:
            yield
        self.reads = recording.reads

    def _server(self) -> tuple[int, float]:
        self.connection.execute("SELECT pg_stat_force_next_flush()")
        known = self.testbed.cluster.binaries.version >= (16, 0)
        row = self.connection.execute(SQL["reads" if known else "reads_of_pages"]).fetchone()
        assert row is not None
        return int(row[0]), float(row[1])

    def _named(self, reads: pl.DataFrame) -> pl.DataFrame:
        spaces = {str(oid): name for oid, name in self.connection.execute("SELECT oid, spcname FROM pg_tablespace")}
        database, nodes = self._nodes()
        node = pl.col("relation").str.strip_prefix(f"{database}/")
        return reads.with_columns(tablespace=pl.col("tablespace").replace(spaces), relation=node.replace(nodes))

    def _nodes(self) -> tuple[int, dict[str, str]]:
        rows = self.connection.execute(SQL["file_nodes"]).fetchall()
        return rows[0][0], {node: name for _, node, name in rows}


def histograms(reads: pl.DataFrame) -> dict[str, Any]:
    counted = reads.group_by("tablespace", bucket=buckets(pl.col("latency_s"))).agg(n=pl.len(), s=pl.col("latency_s").sum())
    found = {}
    for (tablespace,), part in counted.sort("tablespace", "bucket").group_by(["tablespace"], maintain_order=True):
        held = {str(bucket): n for bucket, n in part.select("bucket", "n").iter_rows()}
        found[str(tablespace)] = {"reads": int(part["n"].sum()), "latency_sum_s": float(part["s"].sum()), "buckets": held}
    return found


def _logged(name: str, log: pl.DataFrame, epoch_s: float) -> pl.DataFrame:
    reads = log.filter(operation="read").with_columns(pl.col("file").str.extract_groups(PATH)).unnest("file").drop_nulls("node")
    return reads.select(
        time_s=pl.col("time_s") + pl.col("actual_s") + epoch_s,
        pid=pl.lit(None),
        tablespace=pl.col("space").fill_null(name),
        relation=pl.format("{}/{}{}", "database", "node", pl.col("fork").fill_null("")),
        page=pl.col("segment").cast(pl.Int64).fill_null(0) * SEGMENT_PAGES + pl.col("offset_bytes") // PAGE_BYTES,
        size_bytes="size_bytes",
        latency_s="actual_s",
        recorder=pl.lit(EMULATOR),
    ).cast(pl.Schema(READS))
