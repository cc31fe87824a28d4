"""A window of time over a running load: its transactions, what server and storage did, and when it says more of something else."""

import json
import math
import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
import polars as pl
import psutil

from tierwise.bench.recording import FileIos, MainFiles, file_names, outstanding, relation_file, relation_io, tier_io
from tierwise.bench.stopwatch import OVERSHOOT_BOUND, Reading, Stopwatch, processor_shares
from tierwise.bench.testbed import Testbed
from tierwise.core.errors import EvidenceError, TierwiseError
from tierwise.core.vocabulary import Cache, ClockKind
from tierwise.postgres import wait_events
from tierwise.postgres.cold_proof import main_files
from tierwise.postgres.page_counts import PageCounter, activity_between, read_activity
from tierwise.postgres.processes import server_processes
from tierwise.postgres.settings import Connection
from tierwise.postgres.wait_events import KERNEL_LOCKS, PROCESSOR, ROW_LOCKS, SESSIONS, WAL
from tierwise.tiers.daemon import ClockParts, Daemon
from tierwise.tiers.emulated import Emulated
from tierwise.timings.schema import Parts, Timing

CPU_BOUND: Final = 0.25  # share of a window that is processor time above which it gives no verdict
LOCK_BOUND: Final = 0.10  # share of the sessions' time in row locks, or in locks of the kernel, above which a window gives no verdict
WAL_BOUND: Final = 0.10  # share of the sessions' time in the log above which a verdict needs the same one with ``synchronous_commit=off``


@dataclass(frozen=True)
class Spent:
    """Seconds of all `sessions` together by what they were spent on, in `elapsed_s` of a virtual clock; `why_not`: nothing recorded them.

    `utilisation`: by tier, the share of the time in which its drives had something to do, the mean of the drives.
    """

    elapsed_s: float
    sessions: int = 0
    seconds: Mapping[str, float] | None = None
    utilisation: Mapping[str, float] | None = None
    why_not: str | None = None

    def as_proof(self) -> dict[str, Any]:
        recorded = {"sessions": self.sessions, "spent_s": self.seconds} if self.seconds is not None else {"unrecorded": self.why_not}
        return {**recorded, "utilisation": self.utilisation}


def record_sessions(testbed: Testbed, connection: Connection) -> str | None:
    """Have a virtual clock of several record where the sessions' time goes, but for `connection`'s; return why it cannot."""
    if testbed.daemon is None or testbed.daemon.clock is not ClockKind.VIRTUAL_SEVERAL:
        return "nothing records it in real time"
    try:
        found = wait_events.find_wait_events(connection, testbed.cluster.data)
        testbed.daemon.record(found.memory, found.places)
    except (TierwiseError, OSError) as error:
        return str(error)
    return None


def spent_between(begun: ClockParts, ended: ClockParts, why_not: str | None) -> Spent:
    """Return where the time of the sessions went between two readings of a clock; `why_not`: why nothing recorded it."""
    elapsed_s = ended.now_s - begun.now_s
    busy = {tier: (busy_s - begun.busy_s[tier]) / elapsed_s for tier, busy_s in ended.busy_s.items() if tier in begun.busy_s}
    if why_not is not None:
        return Spent(elapsed_s, utilisation=busy or None, why_not=why_not)
    seconds: dict[str, float] = defaultdict(float, {PROCESSOR: ended.processor_s - begun.processor_s})
    for sign, parts in ((-1, begun), (1, ended)):
        for event, tier, function, blocked_s in parts.blocked_s:
            seconds[wait_events.resource(event, tier, function)] += sign * blocked_s
    return Spent(elapsed_s, ended.sessions, {name: spent_s for name, spent_s in seconds.items() if spent_s > 0}, busy)


def shares(phases: Sequence[Spent]) -> dict[str, float]:
    """Return the shares of the sessions' time in all `phases` together; empty where one was not recorded."""
    if not phases or any(phase.seconds is None for phase in phases):
        return {}
    total_s = math.fsum(phase.sessions * phase.elapsed_s for phase in phases)
    spent_s: Counter[str] = Counter()
    for phase in phases:
        spent_s.update(phase.seconds)
    return {name: seconds / total_s for name, seconds in spent_s.items()}


def processor_share(parts: Parts, elapsed_s: float) -> float:
    """Return the share of a window that is processor time; in real time, the share of the machine's that the server used."""
    processors = 1 if parts.clock is not ClockKind.REAL else os.cpu_count() or 1
    return (parts.cpu_s or 0.0) / (processors * elapsed_s)


def bound_flags(processor_share: float, found: Mapping[str, float]) -> list[str]:
    """Return why a window gives no verdict, by its processor time and the `shares` of its sessions' time."""
    locked = {"row-locks": found.get(ROW_LOCKS, 0.0), "kernel-locks": found.get(KERNEL_LOCKS, 0.0)}
    return [*(["cpu"] if processor_share > CPU_BOUND else []), *(flag for flag, share in locked.items() if share > LOCK_BOUND)]


def hangs_on_the_log(found: Mapping[str, float]) -> bool:
    return found.get(WAL, 0.0) > WAL_BOUND


class Window:
    """Watches the load that others run on `testbed`'s server, with ``with``; between the phases a virtual clock stands.

    It may gain ten seconds in a real one, so that what is done between two phases would be a long stretch of the load. `tiers` maps
    tablespaces to tiers, `relations` are those whose pages are counted. `phases` has a row for each, without the load's transactions; its
    times go by the clock of the tiers, from the real time at which the window began.
    """

    def __init__(self, testbed: Testbed, connection: Connection, relations: Sequence[str], tiers: Mapping[str, str]):
        self._testbed, self._connection, self._tiers = testbed, connection, tiers
        self._main_files: MainFiles = main_files(connection, relations)
        self._counter = PageCounter(connection, relations)
        read_activity(connection)  # what these need from the catalogues is read now: under the load it would wait for a device
        connection.execute(SESSIONS)
        self._stopwatch = Stopwatch(testbed.daemon, lambda: [process.pid for process in server_processes(testbed.cluster.data)])
        self._opened: tuple[datetime, Reading] | None = None  # when the first phase began, really and by the clock
        self._unrecorded: str | None = None  # why nothing records where the sessions' time goes
        self._spent: list[Spent] = []
        self.phases: list[Timing] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._testbed.hold(False)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Time the next stretch of the window, while open. Busy sessions report their counts once a second, so these may be that late."""
        self._testbed.hold(True)
        if self._opened is None:
            self._unrecorded = record_sessions(self._testbed, self._connection)
        before = read_activity(self._connection)
        with self._counter as counter:
            for tier in self._testbed.tiers.values():
                tier.reset_io()
            begun, cpu = self._stopwatch.read(), psutil.cpu_times()
            self._opened = self._opened or (datetime.now(UTC), begun)
            self._testbed.hold(False)
            yield
            self._testbed.hold(True)
            ended, share = self._stopwatch.read(), _busy(cpu, psutil.cpu_times())
            files = {tier_name: tier.io() for tier_name, tier in self._testbed.tiers.items()}
            requests = tuple(tier_io(tier, files[tier_name]) for tier_name, tier in self._testbed.tiers.items())
            together = outstanding(self._testbed.tiers, requests)
            logs = {tier_name: tier.requests() for tier_name, tier in self._testbed.tiers.items() if isinstance(tier, Emulated)}
        server = activity_between(before, read_activity(self._connection))
        elapsed_s = ended.clock.now_s - begun.clock.now_s
        if self._stopwatch.kind is not ClockKind.REAL:  # then of the processors that are assumed
            share = (ended.clock.charged_s - begun.clock.charged_s) / (self._testbed.processors * elapsed_s)
        spent = spent_between(begun.clock, ended.clock, self._unrecorded)
        self._spent.append(spent)
        pages = [replace(count, tier=self._tiers[count.tier]) for count in counter.pages.values()]
        self.phases.append(
            Timing(
                cell={"phase": name},
                cache=Cache.NONE,
                operation="",
                started_at=self._opened[0] + timedelta(seconds=begun.clock.now_s - self._opened[1].clock.now_s),
                elapsed_s=elapsed_s,
                relation_io=relation_io(pages, self._testbed.tiers, files, self._main_files),
                tier_io=requests,
                proof={
                    "cpu_share": share,
                    "processor": processor_shares(begun, ended, self._testbed.charge),
                    "outstanding": together,
                    "files": self._files(files, logs),
                    "server": server,
                    **spent.as_proof(),
                },
                parts=self._stopwatch.parts(begun, ended, devices_s=None, reference_s=None),
            )
        )

    def by_clock(self, load: pl.DataFrame) -> pl.DataFrame:
        """Return the transactions of `load`, which pgbench logged in real time, by the clock of the tiers, as the phases are."""
        if self._stopwatch.kind is ClockKind.REAL or self._opened is None or self._testbed.daemon is None:
            return load
        opened_at, opened = self._opened
        return by_clock(load, self._testbed.daemon).with_columns(ended_s=pl.col("ended_s") + opened_at.timestamp() - opened.clock.now_s)

    def timings(self, load: pl.DataFrame, *, script: str, clients: int, cell: Mapping[str, str | int | float]) -> Iterator[Timing]:
        """Yield one row a phase, with its transactions (`result_rows`). A flag speaks of the whole window: those of `bound_flags`, and in
        real time `overshoot` and `stalled`, beyond `OVERSHOOT_BOUND` of the clients' time.
        """
        elapsed_s = math.fsum(phase.elapsed_s for phase in self.phases)
        cpu_share = math.fsum(processor_share(phase.parts, elapsed_s) for phase in self.phases)
        spent = shares(self._spent)
        window = {"window_cpu_share": cpu_share, "window_shares": spent, "hangs_on_the_log": hangs_on_the_log(spent)}
        overshoot_s = math.fsum((io.actual_s or 0.0) - (io.intended_s or 0.0) for phase in self.phases for io in phase.tier_io)
        late_s = OVERSHOOT_BOUND * elapsed_s * clients
        stalled_s = math.fsum(phase.parts.run_delay_s or 0.0 for phase in self.phases)
        real_time = self._stopwatch.kind is ClockKind.REAL
        flags = [
            *bound_flags(cpu_share, spent),
            *(["overshoot"] if real_time and overshoot_s > late_s else []),
            *(["stalled"] if real_time and stalled_s > late_s else []),
        ]
        for phase in self.phases:
            started_s = phase.started_at.timestamp()
            ended_in_it = pl.col("ended_s").is_between(started_s, started_s + phase.elapsed_s, closed="left")
            yield replace(
                phase,
                cell={**cell, **phase.cell},
                operation=script,
                result_rows=load.filter(ended_in_it).height,
                proof={**window, **phase.proof},
                flags=tuple(flags),
            )

    def _files(self, counted: Mapping[str, FileIos], logs: Mapping[str, pl.DataFrame]) -> dict[str, dict[str, Any]]:
        names = file_names(self._main_files)
        sequential, flushed = ({name: of(log) for name, log in logs.items()} for of in (sequential_reads, flushes))
        found: dict[str, dict[str, Any]] = {}
        for tier_name, files in counted.items():
            folder = self._testbed.tiers[tier_name].directory.resolve()
            for path, io in (files or {}).items():
                total = found.setdefault(_owner(folder / path, names), {"tier": tier_name})
                for field in ("reads", "read_bytes", "writes", "write_bytes", "intended_s", "actual_s"):
                    total[field] = total.get(field, 0) + getattr(io, field)
                for field, numbers in (("sequential_reads", sequential), ("flushes", flushed)):
                    total[field] = total.get(field, 0) + numbers[tier_name].get(path, 0)
        return found


def by_clock(load: pl.DataFrame, daemon: Daemon) -> pl.DataFrame:
    """Return the transactions of `load`, which pgbench logged in real time, in seconds of the virtual clock of `daemon`."""
    real_s, virtual_s = daemon.history().T
    ended_s = load["ended_s"].to_numpy() - (time.time() - time.monotonic())
    ended, begun = (np.interp(when_s, real_s, virtual_s) for when_s in (ended_s, ended_s - load["latency_s"].to_numpy()))
    return load.with_columns(ended_s=pl.Series(ended), latency_s=pl.Series(ended - begun))


def io_by_relation(rows: pl.DataFrame) -> dict[str, Any]:
    """Return sums over raw `rows` of windows: the server's hits and reads of pages, requests to emulated tiers, those in sequence."""
    files = [json.loads(proof)["files"] for proof in rows["proof"]]
    pages = rows.explode("relation_io").unnest("relation_io").group_by("relation").agg(pl.col("hits", "reads").sum())
    return {
        "transactions": rows["result_rows"].sum(),
        "elapsed_s": rows["elapsed_s"].sum(),
        "relations": {
            relation: {
                "hits": hits,
                "reads": reads,
                **{
                    f"requests_{name}": sum(one.get(relation, {}).get(name, 0) for one in files)
                    for name in ("reads", "sequential_reads", "writes", "intended_s")
                },
            }
            for relation, hits, reads in sorted(pages.rows())
        },
    }


def need_transactions(rows: pl.DataFrame) -> None:
    for keys, window in rows.group_by("pair", "trial", "replicate"):
        if window["result_rows"].sum() == 0:
            raise EvidenceError(f"{keys}: no transaction ended in the window")


def sequential_reads(requests: pl.DataFrame) -> dict[str, int]:
    reads = requests.filter(operation="read").sort("time_s")
    ended = (pl.col("offset_bytes") + pl.col("size_bytes")).shift(1).over("file")
    return dict(reads.filter(pl.col("offset_bytes") == ended).group_by("file").len().rows())


def flushes(requests: pl.DataFrame) -> dict[str, int]:
    return dict(requests.filter(operation="flush").group_by("file").len().rows())


def _owner(path: Path, names: Mapping[tuple[Path, str], str]) -> str:
    if "pg_wal" in path.parts:
        return "wal"
    relation = relation_file(path, names).relation
    return relation if relation in names.values() else "other"


def _busy(before: Any, after: Any) -> float:
    spent = {name: getattr(after, name) - getattr(before, name) for name in before._fields if name not in {"guest", "guest_nice"}}
    total_s = sum(spent.values())
    return 1.0 - (spent["idle"] + spent.get("iowait", 0.0)) / total_s if total_s else 0.0
