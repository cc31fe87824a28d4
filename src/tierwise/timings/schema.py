"""The raw row: one timed operation, never averaged; `SCHEMA` is the contract between the measuring side and the reading side."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from typing import Any, Final, get_args

import polars as pl

from tierwise.core.vocabulary import Cache, ClockKind, Evidence, IoMode
from tierwise.timings.references import FORMAT_VERSION


@dataclass(frozen=True, slots=True)
class RelationIo:
    """Pages of one relation during one operation, and the time of its requests."""

    relation: str  # name as in pg_class
    relation_class: str  # table, index
    tier: str  # name of the tier in its pair
    hits: int  # pages found in shared_buffers during the operation
    reads: int  # pages requested from the storage during the operation
    io_s: float | None = None  # sum of the times of the requests for its files, all forks; null where not known
    io_basis: str = "nothing recorded it"  # how `io_s` was found, or why it is null


@dataclass(frozen=True, slots=True)
class TierIo:
    """Requests that reached one tier during one operation (null: nothing counted them)."""

    tier: str
    evidence: Evidence
    device: str | None  # device file, or null for a directory
    reads: int | None = None
    read_bytes: int | None = None
    writes: int | None = None
    write_bytes: int | None = None
    intended_s: float | None = None  # sum of the service times of the device model
    actual_s: float | None = None  # sum of the times that the requests really took


@dataclass(frozen=True, slots=True)
class Parts:
    """What the time of a row was made of, a column each; `None`: not known."""

    clock: ClockKind = ClockKind.REAL  # by which `elapsed_s` went: real, virtual-one, virtual-several
    cpu_s: float | None = None  # of `elapsed_s`: the server's processor time
    device_s: float | None = None  # of `elapsed_s`: in virtual time what the clock jumped, in real time what the requests took
    wall_s: float | None = None  # what really passed
    run_delay_s: float | None = None  # of `wall_s`: the session's process could run and was not let
    steal_s: float | None = None  # of `wall_s`: what the host took, summed over the processors
    reference_s: float | None = None  # processor time of a fixed work just before: how quick the processors were


def _columns(record: type[RelationIo | TierIo | Parts]) -> dict[str, Any]:
    kinds = {field.name: get_args(field.type) or (field.type,) for field in fields(record)}
    return {name: pl.Int64 if int in kind else pl.Float64 if float in kind else pl.String for name, kind in kinds.items()}


SCHEMA: Final[dict[str, Any]] = {
    "format_version": pl.Int16,
    "run_id": pl.String,
    "study": pl.String,
    "pair": pl.String,  # name of the file in data/tiers
    "evidence": pl.String,  # measured, emulated, simulated, mixed: of the tiers that this trial touches
    "io_mode": pl.String,  # direct, buffered
    "trial": pl.String,  # canonical key of the cell, unique within study and pair
    "replicate": pl.Int32,  # repetition; ratios pair rows of the same replicate
    "step": pl.Int32,  # order within the trial
    "sequence": pl.Int64,  # order of the trial within the run, as it was executed
    "cell": pl.String,  # JSON object: the grid's coordinates of this row
    "cache": pl.String,  # cold, hot, cross, none
    "operation": pl.String,  # what was timed, as text
    "started_at": pl.Datetime("us", "UTC"),
    "elapsed_s": pl.Float64,
    "result_rows": pl.Int64,  # what the operation returned, so that a wrong answer is seen; null where meaningless
    "relation_io": pl.List(pl.Struct(_columns(RelationIo))),
    "tier_io": pl.List(pl.Struct(_columns(TierIo))),
    "proof": pl.String,  # JSON object: the evidence for `cache`
    "flags": pl.List(pl.String),  # reasons for which this row gives no verdict (overshoot, stalled, cpu, ...); empty: none
    **_columns(Parts),
}


@dataclass(frozen=True, slots=True)
class Timing:
    """One observation as a study yields it; the bench adds run, study, pair, trial, replicate and order."""

    cell: Mapping[str, str | int | float]
    cache: Cache
    operation: str
    started_at: datetime
    elapsed_s: float
    result_rows: int | None = None
    relation_io: tuple[RelationIo, ...] = ()
    tier_io: tuple[TierIo, ...] = ()
    proof: Mapping[str, Any] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    parts: Parts = Parts()


@dataclass(frozen=True, slots=True)
class Origin:
    run_id: str
    study: str
    pair: str
    evidence: Evidence
    io_mode: IoMode
    trial: str
    replicate: int
    sequence: int


def frame(origin: Origin, timings: Sequence[Timing]) -> pl.DataFrame:
    rows = [
        {
            "format_version": FORMAT_VERSION,
            **asdict(origin),
            "step": step,
            **asdict(timing),
            "cell": json.dumps(dict(timing.cell), sort_keys=True),
            "proof": json.dumps(dict(timing.proof), sort_keys=True),
            **asdict(timing.parts),
        }
        for step, timing in enumerate(timings)
    ]
    return pl.DataFrame(rows, schema=SCHEMA)
