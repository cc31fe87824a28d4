"""Is it worth putting the WAL on the SSD, by commits a second and clients, with group commit, and beside a battery-backed cache?

No source studied this. A trial is one window over a running pgbench whose every transaction updates one row, adds another, and commits.
Tables and indexes lie in memory, and the log has the images of all their pages already: only commits wait for a device.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, Final, Literal

from pydantic import Field

from tierwise.bench.recording import Observed, Recorder
from tierwise.bench.study import Cell as AnyCell
from tierwise.bench.study import Study, Trial
from tierwise.bench.testbed import Testbed
from tierwise.bench.window import CPU_BOUND, Window, need_transactions
from tierwise.core.pairs import Pair
from tierwise.core.profiles import Profile
from tierwise.core.progress import say
from tierwise.core.toml import Strict
from tierwise.core.units import MIB
from tierwise.core.vocabulary import Evidence, IoMode
from tierwise.postgres import pgbench
from tierwise.postgres.cluster_files import place_wal
from tierwise.postgres.settings import measuring_settings
from tierwise.tiers import sleeps
from tierwise.tiers.open import is_flash, keeps_writes

NAME: Final = "wal_placement"
Place = Literal["hdd", "cached", "ssd"]  # tiers for the log: disks, the same disks behind a battery-backed cache, flash
NEEDED: Final[tuple[Place, ...]] = ("hdd", "ssd")
DATA_ON: Final[Place] = "ssd"
COMMIT_DELAYS_US: Final[dict[Place, int]] = {"hdd": 4000, "cached": 50, "ssd": 30}
"""Delay with group commit, by place of the log: half of a write of 8 KiB and a flush there (PostgreSQL's manual, 30.5)."""
SIBLINGS: Final = 5  # other transactions that must be open for a commit to be delayed: PostgreSQL's default
LOAD: Final = pgbench.Mix(writes=1.0, skew=0.0)  # each transaction updates one account and adds a row to the history
OPERATION: Final = "update"
SCALE: Final = 1
ACCOUNTS: Final = 10_000  # few enough that a server soon changes all their pages, and enough that clients seldom want the same one
PROCESSORS: Final = 8  # processors that a virtual clock assumes: with fewer, flash would show how fast they are (assumed)
SHARED_BUFFERS_BYTES: Final = 256 * MIB
PHASE: Final = "commits"
TOUCH: Final = f"UPDATE pgbench_accounts SET abalance = abalance WHERE aid % {pgbench.ROWS_PER_PAGE} = 0"
"""Changes every page of the accounts, of which the log then has the image."""


class Cells(Strict):
    wals: tuple[Place, ...] = ("hdd", "cached", "ssd")
    clients: tuple[int, ...] = (8,)
    group_commit: tuple[bool, ...] = Field(default=(False,), description="whether the server waits for other commits (commit_delay)")


class Grid(Strict):
    replicates: int = Field(default=5, ge=1)
    window_s: dict[Place, float] = Field(description="by where the log lies")
    warm_s: float = Field(gt=0, description="of writing with the delays off, before")
    settle_s: float = Field(gt=0, description="of running with the delays on, before")
    slowdown: float = Field(gt=0, description="factor on the times of every tier and on sleeps before commits; a real disk is not slowed")
    cells: tuple[Cells, ...]
    today: tuple[Cells, ...] = Field(default=(), description="of a pair of today")

    def waits_on(self, cell: "Cell", pair: Pair) -> Place:
        """Return the place by which the length of a window goes: that of the log, but for disks that commit as quickly as another."""
        tier = pair.tiers[cell.wal]
        if is_flash(tier):
            return "ssd"
        return "cached" if keeps_writes(tier) else cell.wal


@dataclass(frozen=True, slots=True)
class Cell(AnyCell):
    wal: Place
    clients: int
    commit_delay_us: int
    slowdown: float
    io_mode: IoMode


@dataclass
class StudyState:
    loaded: bool = False


def grid(profile: Profile) -> Grid:
    return profile.study(NAME, Grid)


def trials(profile: Profile, pair: Pair) -> tuple[Trial[Cell], ...]:
    """Return every cell of the grid that the pair's tiers allow; a pair without a tier ``cached`` has none of its cells."""
    pair.require(NEEDED, NAME)
    if any(tier.evidence is Evidence.SIMULATED for tier in pair.tiers.values()):
        say(f"{NAME}: a load of many sessions cannot be replayed from one recording, so nothing is measured without FUSE")
        return ()
    unheard = sleeps.obstacle() if pair.evidence is Evidence.EMULATED else None
    config, slowdown = grid(profile), grid(profile).slowdown if pair.evidence is Evidence.EMULATED else 1.0
    every = (
        trial
        for cells in (config.today if pair.name in profile.today else config.cells)
        for trial in _trials(cells, slowdown, profile.io_modes[0])
    )
    found = {trial.key: trial for trial in every if trial.cell.wal in pair.tiers}
    if unheard and any(trial.cell.commit_delay_us for trial in found.values()):
        say(f"{NAME}: group commit by commit_delay is left out, since sleeps cannot be counted here ({unheard})")
    return tuple(trial for trial in found.values() if not (unheard and trial.cell.commit_delay_us))


def _trials(cells: Cells, slowdown: float, io_mode: IoMode) -> Iterator[Trial[Cell]]:
    for wal, clients, grouped in product(cells.wals, cells.clients, cells.group_commit):
        cell = Cell(wal, clients, COMMIT_DELAYS_US[wal] if grouped else 0, slowdown, io_mode)
        yield Trial(cell, io_mode, frozenset({wal, DATA_ON}), preparation=f"wal={wal}", placed=wal)


def prepare(trial: Trial[Cell], testbed: Testbed, study_state: StudyState) -> None:
    if not study_state.loaded:
        with testbed.loading() as connection:
            if connection.execute("SELECT to_regclass(%s)", [pgbench.INDEXES[0]]).fetchone() == (None,):
                pgbench.initialise(testbed.cluster, SCALE, tables=DATA_ON, indexes=DATA_ON)
                pgbench.keep_accounts(connection, ACCOUNTS)
                pgbench.age(connection)
        study_state.loaded = True
    testbed.down()
    place_wal(testbed.cluster, testbed.tiers[trial.cell.wal].directory)


def measure(trial: Trial[Cell], testbed: Testbed, study_state: StudyState, recorder: Recorder) -> Observed:  # noqa: ARG001 - no query
    cell, config = trial.cell, grid(testbed.profile)
    window_s = config.window_s[config.waits_on(cell, testbed.pair)]  # read here: the clock goes while a phase is open
    settings = measuring_settings(testbed.cluster.binaries, io_mode=trial.io_mode, shared_buffers_bytes=SHARED_BUFFERS_BYTES)
    settings |= {"commit_delay": str(cell.commit_delay_us), "commit_siblings": str(SIBLINGS)}  # slowed with the tiers
    settings |= {"min_wal_size": "32MB"}  # the least: the log is moved from tier to tier
    testbed.processors = PROCESSORS
    testbed.down()
    testbed.empty_caches(cached=trial.io_mode.cached)
    clock = testbed.clock(alone=False)
    with testbed.serving(settings, clock) as connection:
        connection.execute(TOUCH)
        connection.execute("SET enable_seqscan = off")
        connection.execute("SELECT count(aid) FROM pgbench_accounts WHERE aid > 0")  # has the index in memory
        connection.execute("SELECT pg_switch_wal()")  # no segment is filled, and so none made, in a window
        loaded = partial(pgbench.Load, testbed.cluster, LOAD, clients=cell.clients, accounts=ACCOUNTS)
        with loaded(seed=testbed.seed, logged=False):
            time.sleep(config.warm_s)
        testbed.go_by(clock)
        testbed.delays(True, slowdown=cell.slowdown)
        window = Window(testbed, connection, pgbench.relations(), {name: name for name in testbed.tiers})
        load = loaded(seed=testbed.seed + 1, within=testbed.started_by(clock))
        with load, window:
            testbed.hold(True)  # not before pgbench is ready: it reads the catalogues first
            testbed.sleep(config.settle_s, hold=True)
            with window.phase(PHASE):
                testbed.sleep(window_s, hold=True)
        transactions = window.by_clock(load.transactions)
        timings = window.timings(transactions, script=OPERATION, clients=cell.clients, cell=trial.coordinates)
        return Observed(tuple(timings), transactions=transactions)


def describe(testbed: Testbed, study_state: StudyState) -> dict[str, Any]:  # noqa: ARG001 - the grid says it
    config = grid(testbed.profile)
    return {
        "accounts": ACCOUNTS,
        "data_on": DATA_ON,
        "processors": PROCESSORS,
        "commit_siblings": SIBLINGS,
        "commit_delays_us": COMMIT_DELAYS_US,
        "window_s": config.window_s,
        "cpu_bound": CPU_BOUND,
    }


STUDY: Final = Study(
    name=NAME,
    source=NAME,
    question="Does it pay to put the WAL on the SSD, by clients, with group commit, and beside a cache with a battery?",
    begin=lambda testbed: StudyState(),  # noqa: ARG005 - nothing is known yet
    published_share=lambda testbed, study_state: 1.0,  # noqa: ARG005 - the log is as long as any, so seeks are not stretched
    trials=trials,
    prepare=prepare,
    measure=measure,
    describe=describe,
    check=need_transactions,
    keeps="transactions",
    today=True,
)
