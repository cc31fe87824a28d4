"""The latency study: how long does a read of 8 KiB take, by tablespace, while a mixed load runs?

Sessions read, and some change, single rows by key on a table on each tier, and on a small one that the kernel's page cache holds; the
log lies on the SSD, as in the source. Every read is recorded with its tablespace and relation. A trial is one such window; the page cache
holds only the small table and the indexes before it, and has no limit of its own.
"""

from dataclasses import dataclass, field, replace
from string import ascii_lowercase
from typing import Any, Final

import polars as pl
from psycopg import sql
from pydantic import Field

from tierwise.bench.recording import Observed, Recorder
from tierwise.bench.study import Cell as AnyCell
from tierwise.bench.study import Study, Trial
from tierwise.bench.testbed import Testbed
from tierwise.core.errors import EvidenceError
from tierwise.core.pairs import Pair
from tierwise.core.profiles import Profile
from tierwise.core.toml import Strict
from tierwise.core.units import GIB, KIB, MIB, PAGE_BYTES
from tierwise.core.vocabulary import ClockKind, Evidence, IoMode
from tierwise.postgres.cluster_files import place_wal
from tierwise.postgres.settings import Connection, measuring_settings
from tierwise.studies.read_latency.measuring.clients import Client, connected
from tierwise.studies.read_latency.measuring.read_window import Obstacles, ReadWindow, choose_recorder, empty_caches
from tierwise.studies.read_latency.measuring.replay_variants import RECORD_BYTES, RECORD_READ, lone_reads, on_other_tiers, replay_variants

NAME: Final = "read_latency"
TIERS: Final = ("hdd", "ssd")
CACHED: Final = "cached"
"""The tablespace that the page cache holds; like the source's pg_clog it lies with the operating system, if the pair has such a tier."""
AUX: Final = "aux"
LOG_ON: Final = "ssd"
OPERATION: Final = "mixed load: rows read and changed by key"
SPAN_BYTES: Final = 100 * GIB
"""Span of the data on the published disks: not stated, assumed. Seeks are stretched so that the table on hdd spans as much."""
SHARED_BUFFERS_BYTES: Final = 8 * MIB
CACHED_MIB: Final = 24
ROWS_A_PAGE: Final = 3
NOTES: Final = [1920 * letter for letter in ascii_lowercase]  # rows of about 1,950 bytes: three, and space for a changed one, share a page
LONE_SIZES: Final = tuple(size * KIB for size in (8, 16, 32, 64, 128))
"""Reads that a file system may make of one of 8 KiB: ZFS reads whole records, by default of 128 KiB; the source names none."""
SINGLE_PAGES: Final = {"io_combine_limit": "1"}  # PostgreSQL 8.3 read one page a call, as every version before 17


SESSIONS: Final = {"hdd": (4, 0.0, 0.05), AUX: (1, 0.0, 0.0), "ssd": (2, 0.004, 0.1), CACHED: (1, 0.01, 0.0)}
"""(sessions, pause in s, share of statements that update) by tablespace, in about the proportions of the published reads (60, 9, 27 and
4 %); the source states no load."""


class Grid(Strict):
    window_s: float = Field(default=4.0, gt=0, description="how long each window is recorded")
    table_mib: int = Field(default=256, ge=32, description="of the table on hdd; a quarter of it on each other tier")
    slowdown: float = Field(default=8.0, gt=0, description="factor on the times of tiers and on pauses in virtual time")
    recorders: tuple[str, ...] = Field(
        default=("bpftrace", "strace"), description="in order of preference; one that may not record is left out"
    )


@dataclass(frozen=True, slots=True)
class Cell(AnyCell):
    io_mode: IoMode
    load: str
    window_s: float
    table_mib: int


@dataclass
class StudyState:
    """Why recorders cannot record here, and the last reads with known sessions."""

    obstacles: Obstacles = field(default_factory=dict)
    reads: pl.DataFrame | None = None


def trials(profile: Profile, pair: Pair) -> tuple[Trial[Cell], ...]:
    """Return the published load in virtual time (sees device reads) and in real time (sees every read)."""
    pair.require(TIERS, NAME)
    grid = profile.study(NAME, Grid)
    if any(tier.evidence is Evidence.SIMULATED for tier in pair.tiers.values()):
        return ()  # no model has the kernel's page cache
    cell = Cell(IoMode.BUFFERED, "mixed", grid.window_s, grid.table_mib)
    trial = Trial(cell=cell, io_mode=IoMode.BUFFERED, tiers=frozenset(pair.tiers), preparation="loaded")
    return (trial, trial.in_real_time())


def tablespaces(testbed: Testbed) -> dict[str, str]:
    return {**{name: name for name in testbed.tiers}, CACHED: AUX if AUX in testbed.tiers else "hdd"}


def pages_of(testbed: Testbed, tablespace: str) -> int:
    table_mib = testbed.profile.study(NAME, Grid).table_mib
    return {CACHED: CACHED_MIB, "hdd": table_mib}.get(tablespace, table_mib // 4) * MIB // PAGE_BYTES


def published_share(testbed: Testbed, study_state: StudyState) -> float:  # noqa: ARG001 - the grid says it
    return pages_of(testbed, "hdd") * PAGE_BYTES / SPAN_BYTES


def prepare(trial: Trial[Cell], testbed: Testbed, study_state: StudyState) -> None:  # noqa: ARG001 - nothing of it is needed later
    testbed.cluster.stop()
    testbed.empty_caches(cached=trial.io_mode.cached)
    place_wal(testbed.cluster, testbed.tiers[LOG_ON].directory)
    with testbed.loading({CACHED: testbed.tiers[tablespaces(testbed)[CACHED]].directory / CACHED}) as connection:
        for tablespace in tablespaces(testbed):
            if connection.execute("SELECT to_regclass(%s)", [index_of(tablespace)]).fetchone() == (None,):
                _load(connection, tablespace, pages_of(testbed, tablespace))


def table_of(tablespace: str) -> str:
    return f"rows_{tablespace}"


def index_of(tablespace: str) -> str:
    return f"{table_of(tablespace)}_id"


def _load(connection: Connection, tablespace: str, pages: int) -> None:
    table, index, space = map(sql.Identifier, (table_of(tablespace), index_of(tablespace), tablespace))
    columns = sql.SQL("id integer NOT NULL, note text NOT NULL")
    with connection.transaction(), connection.cursor() as cursor:
        cursor.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(table))  # of a run that was killed
        cursor.execute(sql.SQL("CREATE TABLE {} ({}) WITH (fillfactor = 80) TABLESPACE {}").format(table, columns, space))
        cursor.execute(sql.SQL("ALTER TABLE {} ALTER COLUMN note SET STORAGE PLAIN").format(table))
        with cursor.copy(sql.SQL("COPY {} FROM STDIN (FREEZE)").format(table)) as copy:  # which adds many pages at once, and logs none
            for number in range(1, pages * ROWS_A_PAGE + 1):
                copy.write(f"{number}\t{NOTES[number % len(NOTES)]}\n")
    connection.execute(sql.SQL("VACUUM (FREEZE, ANALYZE) {}").format(table))
    connection.execute(sql.SQL("CREATE UNIQUE INDEX {} ON {} (id) TABLESPACE {}").format(index, table, space))


def measure(trial: Trial[Cell], testbed: Testbed, study_state: StudyState, recorder: Recorder) -> Observed:  # noqa: ARG001 - no query
    grid, spaces = testbed.profile.study(NAME, Grid), tablespaces(testbed)
    # in real time nothing is slowed, since reads that memory serves cannot be
    slowdown = 1.0 if testbed.clock(alone=False) is ClockKind.REAL else grid.slowdown
    window_s = slowdown * trial.cell.window_s
    relations = [name for space in spaces for name in (table_of(space), index_of(space))]
    settings = measuring_settings(testbed.cluster.binaries, io_mode=trial.io_mode, shared_buffers_bytes=SHARED_BUFFERS_BYTES)
    settings |= SINGLE_PAGES if testbed.cluster.binaries.version >= (17, 0) else {}
    empty_caches(testbed)
    with testbed.serving(settings, testbed.clock(alone=False)) as connection:
        connection.execute(sql.SQL("SELECT sum(length(note)) FROM {}").format(sql.Identifier(table_of(CACHED))))
        load = []
        for space in spaces:
            sessions, pause_s, changing = SESSIONS.get(space, SESSIONS[AUX])
            rows = pages_of(testbed, space) * ROWS_A_PAGE
            seeds = (f"{space}/{testbed.seed}/{number}" for number in range(sessions))
            load += [Client(table_of(space), rows, slowdown * pause_s, changing, seed) for seed in seeds]
        chosen = choose_recorder(testbed, grid.recorders, study_state.obstacles)
        with connected(testbed, load) as clients:
            for space in spaces:
                count = sql.SQL("SELECT count(id) FROM {} WHERE id > 0").format(sql.Identifier(table_of(space)))
                connection.execute("SET enable_seqscan = off")
                connection.execute(count)  # by the index alone, which is then in memory
            window = ReadWindow(testbed, connection, relations, spaces, window_s, chosen, slowdown)
            with window.open():
                clients.run(testbed, window_s)
        if not window.reads["pid"].is_null().all():  # by session, so that each one's reads can be replayed
            study_state.reads = window.reads
        timing = window.timing(OPERATION, trial.coordinates)
        if window.logs:
            timing = replace(timing, proof={**timing.proof, "variants": replay_variants(testbed, window.logs)})
        return Observed((timing,), reads=window.reads)


def describe(testbed: Testbed, study_state: StudyState) -> dict[str, Any]:
    return {
        "assumed": {
            "span_gib": SPAN_BYTES / GIB,
            "shared_buffers_mib": SHARED_BUFFERS_BYTES / MIB,
            "table_mib": {space: pages_of(testbed, space) * PAGE_BYTES / MIB for space in tablespaces(testbed)},
            "sessions": {space: sessions for space, (sessions, _, _) in SESSIONS.items()},
            "changing": {space: changing for space, (_, _, changing) in SESSIONS.items()},
        },
        "log_on": LOG_ON,
        "record": {"kib": RECORD_BYTES / KIB, **RECORD_READ},
        "lone_reads": lone_reads(testbed, "ssd", LONE_SIZES),
        "elsewhere": []
        if study_state.reads is None
        else on_other_tiers(testbed, study_state.reads, {name: pages_of(testbed, name) for name in testbed.tiers}),
        "recorders": study_state.obstacles,
    }


def check(rows: pl.DataFrame) -> None:
    if not rows.filter(pl.col("result_rows") == 0, ~pl.col("flags").list.contains("unseen")).is_empty():
        raise EvidenceError(f"{NAME}: a window without a read")


STUDY: Final = Study(
    name=NAME,
    source="L",
    question="How long does a read of 8 KiB take, by tablespace, while a mixed load runs?",
    begin=lambda testbed: StudyState(),  # noqa: ARG005 - nothing is recorded yet
    published_share=published_share,
    trials=trials,
    prepare=prepare,
    measure=measure,
    describe=describe,
    check=check,
    keeps="reads",
)
