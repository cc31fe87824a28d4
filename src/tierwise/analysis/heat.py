"""How much is requested of each relation: the views ``<study>_heat``, the requests behind them, and sizes from the manifest."""

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import duckdb
import polars as pl

from tierwise.core import studies
from tierwise.timings.trial_files import END, TrialKey, read_trace

HEAT: Final = "reading/heat.sql"
WAL: Final = "wal"
FORK: Final = re.compile(r"_(fsm|vm|init)$")
PACE: Final = re.compile(r", tiers slowed \S+-fold")
"""How a workload's name says that its tiers were slowed, so that they bind and not the processors."""
_of_json: Final = lru_cache(maxsize=2)(json.loads)  # the manifest of a run is read anew for each record
_SIZE: Final = re.compile(r"(\d+)(kB|MB|GB)")
_UNITS: Final = {"kB": 2**10, "MB": 2**20, "GB": 2**30}


@dataclass(frozen=True)
class Record:
    """What the manifest of a run keeps of one study on one pair, as far as a placement needs it."""

    pair: dict[str, Any]
    facts: dict[str, Any]
    settings: dict[str, str]
    stretch: float  # factor on seek distances that the run's tiers had
    too_small: tuple[str, ...] = ()  # workloads of which the profile has too few data
    memory_fraction: float = 1.0  # the profile's memory over data

    @property
    def memory_bytes(self) -> float:
        """Return the server's memory: as the study says, or by its share of the largest data set."""
        if known := self.facts.get("memory_bytes"):
            return float(known)
        sizes: dict[str, Any] = self.facts.get("size_bytes") or {}
        sets = [sum(part.values()) for part in sizes.values() if isinstance(part, dict)] or [sum(sizes.values())]
        return float(max(sets) * self.facts.get("memory_share", self.memory_fraction))

    def sizes_bytes(self, data_set: str | None) -> dict[str, int]:
        """Return relation -> bytes in one of the study's data sets (`None`: it has one); the log by the space that the server leaves it."""
        known: dict[str, Any] = self.facts.get("size_bytes") or {}
        sizes = dict(known.get(data_set) or {}) if data_set else dict(known)
        wal = _SIZE.fullmatch(self.settings.get("max_wal_size", ""))
        return {**sizes, WAL: int(wal[1]) * _UNITS[wal[2]]} if sizes and wal else sizes


def placeable() -> list[str]:
    return studies.having(HEAT)


def heat_of(connection: duckdb.DuckDBPyConnection, study: str, pair: str) -> pl.DataFrame:
    """Return the rows of ``<study>_heat`` on `pair` in the run of `connection`, unflagged; empty where it measured none."""
    ordered = f"select * from {study}_heat where pair = ? and not flagged order by workload, io_mode, trial, replicate, step, relation"
    return pl.DataFrame(connection.sql(ordered, params=[pair]).to_arrow_table())


def every() -> str:
    """Return the query for the rows of every study's heat that are not flagged: those of `heat_of` with the study's name."""
    union = "\nunion all by name\n".join(f"select '{study}' as study, * from {study}_heat" for study in placeable())
    return f"from (\n{union}\n)\nwhere not flagged\norder by study, pair, workload, io_mode, trial, replicate, step, relation"


def pairs_of(connection: duckdb.DuckDBPyConnection, study: str) -> list[str]:
    return [pair for (pair,) in connection.execute("select distinct pair from timings where study = ? order by pair", [study]).fetchall()]


def record_of(connection: duckdb.DuckDBPyConnection, study: str, pair: str) -> Record | None:
    """Read the record of heat that the manifest of the one run of `connection` keeps; `None` where it has no such study."""
    ((text,),) = connection.execute("select manifest from runs").fetchall()
    manifest = _of_json(text)
    for kept in manifest["studies"]:
        if (kept["name"], kept["pair"]) == (study, pair):
            profile, stretch = manifest["profile"], kept["facts"].get("seek_stretch", 1.0)
            small = tuple((profile.get("studies", {}).get(study) or {}).get("too_small") or ())
            known = manifest["pairs"].get(pair) or {}
            return Record(known, kept["facts"], kept["settings"], stretch, small, profile.get("memory_fraction", 1.0))
    return None


@dataclass(frozen=True)
class Recorded:
    """The requests of one step of a trial, in `trial_files.TRACE`'s columns; after number `tail_after` (none: the beginning) it ends."""

    step: int
    requests: pl.DataFrame
    tail_after: int | None


def recorded(run_folder: Path, study: str, pair: str, trial: str) -> list[Recorded] | None:
    """Return every step of a trial that sent requests, as it was recorded; `None` where nothing of the trial was."""
    trace = read_trace(run_folder, TrialKey(study, pair, trial))
    if trace is None:
        return None
    steps = trace.filter((pl.col("operation") != END).any().over("step")).partition_by("step", maintain_order=True)
    return [Recorded(step["step"][0], step.filter(pl.col("operation") != END), step.filter(operation=END)["after"][0]) for step in steps]


def requests_of(run_folder: Path, study: str, pair: str, trial: str, step: int) -> pl.DataFrame | None:
    """Return a step's recorded requests (`trial_files.TRACE`): `file` is the relation with its fork; `None` where none were recorded."""
    trace = read_trace(run_folder, TrialKey(study, pair, trial))
    if trace is None:
        return None
    named = trace.filter(pl.col("step") == step, pl.col("operation") != END).with_columns(file=pl.col("relation"))
    return named.with_columns(relation=pl.col("file").str.replace(FORK.pattern, ""))
