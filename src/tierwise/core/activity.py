"""What a watched PostgreSQL waits for: the answer of `tierwise watch`, which `tierwise advise` reads."""

import json
from enum import StrEnum
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from tierwise.core.errors import InputError
from tierwise.core.text_template import render
from tierwise.core.toml import Strict

ANSWER = b"tierwise.answer"  # where an activity file has its answer, in the metadata of the Parquet file


class Band(Strict):
    """A number that is known within bounds; equal bounds are an exact one."""

    low: float
    high: float

    @property
    def middle(self) -> float:
        return (self.low + self.high) / 2


class Steadiness(StrEnum):
    STEADY = "steady"
    IDLE = "idle"
    SHORT = "too short"
    DRIFTING = "drifting"
    LONG_STATEMENTS = "long statements"
    FEW_CHECKPOINTS = "few checkpoints"


MOST_DRIFT: Final = 0.25
"""How much the second half may differ from the first, and each window from the median, in the time of a transaction (chosen)."""
MOST_SPREAD: Final = 0.5


class Cause(Strict):
    """What a transaction spends time on; `measured`: by the server's clock, else its share of the samples."""

    cause: str
    time_s: float
    measured: bool


class RelationLoad(Strict):
    """One relation, the log or temporary files. `waiting_s`, `low_s`, `high_s`: of a transaction. None is unknown."""

    database: int = 0
    relation: int = 0
    schema_name: str = ""
    name: str
    kind: str
    owner: int = 0
    parent: int = 0
    tablespace: str = ""
    location: str = ""
    size_bytes: int | None = None
    reads_per_s: float = 0.0
    client_reads_per_s: Band = Band(low=0.0, high=0.0)
    device_reads_per_s: Band | None = None
    read_s: float | None = None
    waiting_s: float | None
    low_s: float | None
    high_s: float | None
    share: float | None
    writes_per_s: Band | None
    scans: int = 0
    scan_share: float = 0.0
    droppable: bool = False
    all_scans: int | None = None  # since the last reset of the server's statistics; `scans`: in the watch


class IoWorkers(Strict):
    """PostgreSQL's I/O workers (from 18): how many there are, and the means of how many were busy and how many sessions waited for them."""

    count: int
    busy: float
    waiting: float


class Window(Strict):
    """One window of the watch: transactions, the time of one, and the pages that the relations read, in their order."""

    seconds: float
    transactions: float
    transaction_s: float | None


class Activity(Strict):
    server: str
    version: int
    database: str
    standby: bool
    began: str
    watched_s: float
    gaps_s: float
    gaps: int
    clock_back_s: float = 0.0
    promoted: bool = False
    resets: int
    window_s: float
    windows: tuple[Window, ...]
    transactions_per_s: Band
    transaction_s: float | None
    percentile_99_s: Band | None = None  # of a transaction's time; None: its samples have no ages
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
    page_writes_per_s: float | None
    wal_bytes_per_s: float
    background_transactions_per_s: float
    background_reads_per_s: float
    autovacuum_reads_per_s: float | None
    replay_share: float | None
    statements: tuple[tuple[str, float], ...] | None
    placements_changed: int
    replicas: int
    unknown: tuple[str, ...]
    service: str = ""  # the managed service that runs the server
    superuser: bool = False  # whether a superuser watched
    system: str = ""  # the server's system identifier
    buffer_bytes: float = 0.0  # shared_buffers
    host: str = ""  # mark of the machine that watched and ran the server; empty if these were two
    io_workers: IoWorkers | None = None  # None: no session waited for one
    counted_days: float | None = None  # since the last reset of the server's statistics


def unsteady(found: Activity) -> dict[str, str]:
    """Return `why` nothing can be predicted from a watch, and the `remedy`; empty for a steady load."""
    if found.steadiness is Steadiness.STEADY:
        return {"why": "", "remedy": ""}
    most = {"spread": MOST_SPREAD, "drift": MOST_DRIFT}
    return {part: render(f"core/unsteady.toml:{part}.{found.steadiness}", a=found, **most) for part in ("why", "remedy")}


def read_answer(path: Path, key: Path | None = None) -> Activity:
    """Return the answer in a complete activity file of this version, with the names that the file `key` of a mask restores."""
    found = _answer(path)
    if key is None:
        return found
    try:
        names = dict(json.loads(key.read_text(encoding="utf-8"))["names"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError("--key", value=str(key), rule="must be the key file of tierwise watch --mask") from error
    fields = ("name", "schema_name", "tablespace", "location")
    relations = tuple(
        load.model_copy(update={field: names.get(getattr(load, field), getattr(load, field)) for field in fields})
        for load in found.relations
    )
    return found.model_copy(update={"database": names.get(found.database, found.database), "relations": relations})


def _answer(path: Path) -> Activity:
    remedy = "name a file that tierwise watch has finished"
    if not path.is_file():
        raise InputError("--activity", value=str(path), rule="no such file", remedy=remedy)
    try:
        metadata = pq.read_schema(path).metadata or {}
        return Activity.model_validate_json(metadata.get(ANSWER, b""))
    except (OSError, ValueError, pa.ArrowException) as error:
        raise InputError("--activity", value=str(path), rule="must be a whole activity file of this version", remedy=remedy) from error
