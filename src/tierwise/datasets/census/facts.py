"""What is known of the real file (``data/datasets/census1990.json``), as tables: `RESOLUTION` equally likely values each."""

from functools import cache
from typing import Annotated, Any, Final

import numpy as np
import numpy.typing as npt
from pydantic import Field, PlainValidator

from tierwise.core import paths
from tierwise.core.text_files import read_json
from tierwise.core.toml import Strict, validate

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
    return Table(np.array(entry.get("values", [0, 1]), dtype=np.int32), entry["counts"])


Drawn = Annotated[Table, PlainValidator(_table)]
"""A distribution as the file has it: ``values`` (of yes and no none) with their ``counts``, or such a row for each key."""


class State(Strict):
    """A block of the file: the rows of one state of residence, as the sample of `Facts.sample_rows` has them."""

    fips: int
    rows: int
    last_serial: int
    pob: dict[int, int]


class Chosen(Strict):
    """The persons to whom a question applies: those with one of `values` in `column`."""

    column: str
    values: tuple[int, ...]


class Birth(Strict):
    abroad: Drawn
    recode: dict[int, int]


class Facts(Strict):
    source: str
    made_by: str
    assumed: tuple[str, ...]
    sample_rows: int
    states: tuple[State, ...]
    places: dict[str, float]
    households: dict[str, float]
    relations: Drawn
    group_quarters: Drawn
    shared: dict[str, float]
    own_state: dict[str, float]
    person: dict[str, Drawn]
    by_stage: dict[str, Drawn]
    birth: Birth
    universes: dict[str, Annotated[Chosen | Drawn, Field(union_mode="left_to_right")]]
    applying: dict[str, Annotated[tuple[str, Table], PlainValidator(lambda entry: (entry["universe"], _table(entry)))]]


@cache
def load_facts() -> Facts:
    path = paths.data() / "datasets" / "census1990.json"
    return validate(read_json(path), Facts, where=paths.short(path))
