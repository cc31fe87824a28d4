"""The model interval: the replicate interval, widened by what the values that nobody states of a device can do to a ratio.

``data/reference/sensitivity.parquet`` has how far each value moves, on the log scale, with one parameter at either end of its band. The
interval is widened by the root sum of squares over the parameters, upward and downward apart.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

import polars as pl

from tierwise.core import paths
from tierwise.timings.parquet import read_whole

FILE: Final = "sensitivity.parquet"
MOVED: Final = ("study", "pair", "kind", "name", "case", "variant", "io_mode", "parameter", "end", "own", "value")
SCHEMA: Final = pl.Schema(
    {
        **dict.fromkeys(MOVED, pl.String),
        "log_shift": pl.Float64,
        "replicates": pl.Int64,
        **dict.fromkeys(("method", "profile"), pl.String),
        "fraction": pl.Float64,
        "seed": pl.Int64,
        **dict.fromkeys(("run_id", "code_version", "cpu"), pl.String),
        "cores": pl.Int64,
        "measured_on": pl.String,
    }
)
"""Columns: what moved, with which parameter from `own` to `value`, how far, the run that it was computed from, and the code that did it."""
CLAIM: Final = "claim"


class Key(NamedTuple):
    """Which value: of a claim's case, or of a headline."""

    pair: str
    kind: str
    name: str
    case: str
    variant: str = ""
    io_mode: str = ""


@dataclass(frozen=True, slots=True)
class Shifts:
    """How far a value moves up and down on the log scale, all parameters together; the one that moves it most, and how far that does."""

    up: float
    down: float
    largest: str
    largest_shift: float
    parameters: int
    by_end: Mapping[tuple[str, str], float] = field(default_factory=dict)  # parameter, end of its band -> log shift by it alone

    def widened(self, low: float, high: float) -> tuple[float, float]:
        """Return the model interval of a value with the replicate interval from `low` to `high`."""
        return low * math.exp(-self.down), high * math.exp(self.up)


def shifts_of(key: Key) -> Shifts | None:
    """Return the shifts of the value `key`; `None` where they were not computed, or not for every parameter."""
    path = paths.reference() / FILE
    return _known(path, path.stat().st_mtime_ns).get(key) if path.exists() else None


@lru_cache(maxsize=2)
def _known(path: Path, written_ns: int) -> Mapping[Key, Shifts]:  # noqa: ARG001  a file that was written again is another
    return combined(read_whole(path, FILE))


def combined(rows: pl.DataFrame) -> dict[Key, Shifts]:
    """Return the shifts of every value in `rows`, each end by the largest size that has it; only of values that each end has moved."""
    found, rows = {}, rows.with_columns(ends=pl.struct("parameter", "end").n_unique().over("study", "pair"))
    for key, every in rows.group_by(list(Key._fields), maintain_order=True):
        by_size = every.drop_nulls("log_shift").sort("fraction", descending=True)
        known = by_size.unique(["parameter", "end"], keep="first", maintain_order=True)
        if len(known) < every["ends"][0]:
            continue
        ends = known.group_by("parameter", maintain_order=True).agg(
            up=pl.max_horizontal(pl.col("log_shift").max(), 0.0), down=pl.max_horizontal(-pl.col("log_shift").min(), 0.0)
        )
        largest, up, down = max(ends.rows(), key=lambda one: max(one[1:]))
        found[Key(*map(str, key))] = Shifts(
            up=math.hypot(*ends["up"]),
            down=math.hypot(*ends["down"]),
            largest=str(largest),
            largest_shift=up if up >= down else -down,
            parameters=len(ends),
            by_end={(str(name), str(end)): shift for name, end, shift in known.select("parameter", "end", "log_shift").rows()},
        )
    return found
