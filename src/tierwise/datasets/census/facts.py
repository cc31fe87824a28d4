"""What is known of the real file, distilled (``data/datasets/census1990.json``), as tables to draw from.

Every distribution becomes a row of `RESOLUTION` equally likely values, so that drawing is one look-up whatever its shape.
"""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tierwise.core import paths

Ints = npt.NDArray[np.integer[Any]]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

RESOLUTION: Final = 1 << 14
STAGES: Final = 40
HEAD, SPOUSE, CHILD, OTHER_RELATIVE, PARTNERED_HEAD = 0, 1, 2, 7, 14
"""Roles in a household: the codes of RELAT1, and one more for a householder whose spouse lives there."""

_BANDS: Final = np.array([3, 5, 15, 16, 25, 45, 65])
_ADULT: Final = 4


def stage(age: Ints, sex: Ints, employed: Ints, partnered: Bools) -> Ints:
    """Return the stage of life that most columns hang on: age band and sex, and from 16 years on employment and partner. In [0, STAGES)."""
    band = np.searchsorted(_BANDS, age, side="right").astype(np.int32)
    child = band * 2 + sex
    adult = 2 * _ADULT + ((band - _ADULT) * 2 + sex) * 4 + employed * 2 + partnered
    return np.where(band < _ADULT, child, adult)


class Table:
    """One distribution for each key; `draw` turns keys and ranks in [0, RESOLUTION) into values."""

    def __init__(self, values: Ints, counts: npt.ArrayLike):
        weights = np.atleast_2d(np.asarray(counts, dtype=np.float64))
        edges = np.rint(weights.cumsum(axis=1) / weights.sum(axis=1, keepdims=True) * RESOLUTION).astype(np.int64)
        repeats = np.diff(edges, axis=1, prepend=0)
        self._flat = np.concatenate([np.repeat(values, row) for row in repeats])

    def draw(self, ranks: Ints, keys: Ints | int = 0) -> Ints:
        return self._flat.take(keys * np.int32(RESOLUTION) + ranks)


def _table(entry: dict[str, Any]) -> Table:
    return Table(np.array(entry["values"], dtype=np.int32), entry["counts"])


@dataclass(frozen=True)
class State:
    """A block of the file: the rows of one state of residence, as the sample of `Facts.sample_rows` has them."""

    fips: int
    rows: int
    last_serial: int
    pob: dict[int, int]


@dataclass(frozen=True)
class Universe:
    """The persons to whom a question applies: those with one of `values` in `column`, or else a share of each stage."""

    column: str | None
    values: tuple[int, ...]
    by_stage: Table | None


@dataclass(frozen=True)
class Facts:
    """The whole of ``census1990.json``; its own text says what each part is and how it was distilled."""

    sample_rows: int
    states: tuple[State, ...]
    places: dict[str, float]
    households: dict[str, float]
    relations: Table
    group_quarters: Table
    shared: dict[str, float]
    person: dict[str, Table]
    by_stage: dict[str, Table]
    universes: dict[str, Universe]
    applying: dict[str, tuple[str, Table]]
    own_state: dict[str, float]
    citizenship: Table
    recode: dict[int, int]
    assumed: tuple[str, ...]


@cache
def load_facts() -> Facts:
    path: Path = paths.data() / "datasets" / "census1990.json"
    read = json.loads(path.read_text(encoding="utf-8"))
    return Facts(
        sample_rows=read["sample_rows"],
        states=tuple(
            State(entry["fips"], entry["rows"], entry["last_serial"], {int(code): n for code, n in entry["pob"].items()})
            for entry in read["states"]
        ),
        places=read["places"],
        households=read["households"],
        relations=_table(read["relations"]),
        group_quarters=_table(read["group_quarters"]),
        shared=read["shared"],
        person={name: _table(entry) for name, entry in read["person"].items()},
        by_stage={name: _table(entry) for name, entry in read["by_stage"].items()},
        universes={name: _universe(entry) for name, entry in read["universes"].items()},
        applying={name: (entry["universe"], _table(entry)) for name, entry in read["applying"].items()},
        own_state=read["own_state"],
        citizenship=_table(read["birth"]["abroad"]),
        recode={int(pob): recode for pob, recode in read["birth"]["recode"].items()},
        assumed=tuple(read["assumed"]),
    )


def _universe(entry: dict[str, Any]) -> Universe:
    if "column" in entry:
        return Universe(entry["column"], tuple(entry["values"]), None)
    return Universe(None, (), _table({"values": [0, 1], "counts": entry["counts"]}))
