"""The table of the census study as its source declares it, and what is known of the real file, as tables to draw from.

The tables come from ``data/datasets/census1990.json``, with `RESOLUTION` equally likely values each.
"""

from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import Field, PlainValidator

from tierwise.core import paths
from tierwise.core.data_sets import whole_rows
from tierwise.core.text_files import read_json
from tierwise.core.toml import Strict, read_toml, validate
from tierwise.datasets.archive_table import Declared, arrow_type

ROWS: Final = whole_rows("census")  # tuples in the source's table
STATES: Final = {"FL": 12, "PR": 72, "NV": 32}  # the places of birth that the source queries, by their code in POB (the census study)
COUNTS: Final = {"FL": 54_445, "PR": 10_134, "NV": 4_722}  # tuples that each query finds in `ROWS` (the census study)

TYPES: Final = read_toml(Path(__file__).with_name("table.toml"), Declared).types  # SQL type by column, in the source's order
SCHEMA: Final = pa.schema([pa.field(name, arrow_type(kind), nullable=False) for name, kind in TYPES.items()])
"""The Parquet file: the 125 columns; the table's row id is the server's own (``serial``) and not in it."""


def ddl(table: str) -> str:
    """Return the source's CREATE TABLE for `table` (a name, or ``schema.name``), its names unquoted: in the server they are lower-case."""
    columns = ",\n".join(f"    {name} {kind}" for name, kind in TYPES.items())
    return f"CREATE TABLE {table} (\n{columns},\n    id serial PRIMARY KEY\n)"


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
