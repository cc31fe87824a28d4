"""What a watched PostgreSQL waits for: the answer of `tierwise watch`, which `tierwise advise` reads."""

from enum import StrEnum

from tierwise.core.toml import Strict


class Band(Strict):
    """A number that is known within bounds; equal bounds are an exact one."""

    low: float
    high: float

    @property
    def middle(self) -> float:
        return (self.low + self.high) / 2

    @property
    def exact(self) -> bool:
        return self.high - self.low <= 0.02 * abs(self.high)


class Steadiness(StrEnum):
    STEADY = "steady"
    IDLE = "idle"
    SHORT = "too short"
    DRIFTING = "drifting"
    LONG_STATEMENTS = "long statements"
    FEW_CHECKPOINTS = "few checkpoints"


class Cause(Strict):
    """What a transaction spends time on; `measured`: by the server's clock, else its share of the samples."""

    cause: str
    time_s: float
    measured: bool


class RelationLoad(Strict):
    """One relation, the log or temporary files. `waiting_s`, `low_s`, `high_s`: of a transaction. None is unknown."""

    database: int
    relation: int
    schema_name: str
    name: str
    kind: str
    owner: int
    parent: int
    tablespace: str
    location: str
    size_bytes: int | None
    reads_per_s: float
    client_reads_per_s: Band
    device_reads_per_s: Band | None
    read_s: float | None
    waiting_s: float | None
    low_s: float | None
    high_s: float | None
    share: float | None
    writes_per_s: Band | None
    scans: int
    scan_share: float
    droppable: bool


class Window(Strict):
    """One window of the watch: transactions, the time of one, and the pages that the relations read, in their order."""

    seconds: float
    transactions: float
    transaction_s: float | None


class Activity(Strict):
    """The answer of a watch; times of a transaction in seconds."""

    server: str
    version: int
    database: str
    standby: bool
    began: str
    watched_s: float
    gaps_s: float
    gaps: int
    resets: int
    window_s: float
    windows: tuple[Window, ...]
    transactions_per_s: Band
    transaction_s: float | None
    steadiness: Steadiness
    spread: float | None
    drift: float | None
    checkpoints: int | None
    sessions: float
    samples: int
    timed: bool
    causes: tuple[Cause, ...]
    relations: tuple[RelationLoad, ...]
    reads_per_s: float
    depth: float
    wal_bytes_per_s: float
    background_transactions_per_s: float
    background_reads_per_s: float
    autovacuum_reads_per_s: float | None
    replay_share: float | None
    statements: tuple[tuple[str, float], ...] | None
    placements_changed: int
    replicas: int
    unknown: tuple[str, ...]
