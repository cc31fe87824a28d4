"""A catalog of the reader's in the columns of the release: a column that is missing has no value, and ``pts_key`` counts the rows."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from tierwise.core.errors import InputError
from tierwise.core.paths import short
from tierwise.datasets.dataset import Reading, readable, write_rows
from tierwise.datasets.sky.columns import PSC
from tierwise.datasets.sky.tables import NEEDED, ROWS, Table, named, tables_of

VERSION: Final = 2
_NULLS: Final = pa.array(["", "\\n", "null", "nan", "none", "--", "n/a", "na"])  # words, in lower case, that stand for no value


def write(sources: Sequence[Path], parquet: Path) -> dict[str, Any]:
    """Write every row of `sources`, in their order; returns what provenance has to say of it."""
    readings = [read(source) for source in sources]
    write_rows(short(sources[0]), (table for reading in readings for table in reading.tables), PSC.schema, parquet, ROWS)
    formats = ", ".join(sorted({reading.format for reading in readings}))
    return {"what": "every row of the file, in its order", "format": formats, "absent_columns": absent(readings[0])}


def write_tables(where: str, tables: Iterable[Table], parquet: Path) -> dict[str, Any]:
    """Write what `tables` hold, of whatever columns, as the catalog; returns the columns that they lack."""
    reading = Reading(Path(where))
    write_rows(where, _completed(reading, tables), PSC.schema, parquet, ROWS)
    return {"absent_columns": absent(reading)}


def read(source: Path) -> Reading:
    reading = Reading(source)
    reading.tables = _readable(reading)
    return reading


def absent(reading: Reading) -> list[str]:
    return [name for name in PSC.types if name not in reading.columns]


def _readable(reading: Reading) -> Iterator[pa.Table]:
    with readable("sky", reading.source):
        try:
            yield from _completed(reading, tables_of(reading))
        except pa.ArrowInvalid as error:
            raise OSError(f"not readable as {reading.format}: {error}") from error


def _completed(reading: Reading, tables: Iterable[Table]) -> Iterator[pa.Table]:
    rows = 0
    for table in tables:
        ours = _mapped(reading, table)
        made = []
        for field in PSC.schema:
            if field.name in ours:
                column = _typed(reading, table[ours[field.name]], field, rows)
            elif field.name in PSC.key:
                column = pa.array(range(rows + 1, rows + table.num_rows + 1), field.type)
            else:
                column = pa.nulls(table.num_rows, field.type)
            if not field.nullable and column.null_count:
                row = rows + pc.index(pc.is_null(column), True).as_py()
                raise InputError(reading.at(row), field=field.name, rule="a value is needed")
            made.append(column)
        yield pa.table(made, schema=PSC.schema)
        rows += table.num_rows


def _mapped(reading: Reading, table: Table) -> dict[str, int]:
    theirs: list[str] = table.column_names
    for at, name in sorted(enumerate(theirs), key=lambda one: (one[1].strip().lower() not in PSC.types, one[0])):
        if (our := named(name)) in PSC.types:
            reading.columns.setdefault(our, theirs[at])
    for name in NEEDED:
        if name not in reading.columns:
            raise InputError(short(reading.source), field="columns", value=theirs[:8], rule=f"the column {name} is missing")
    return {our: theirs.index(name) for our, name in reading.columns.items() if name in theirs}


def _typed(reading: Reading, column: pa.Array | pa.ChunkedArray, field: pa.Field, before: int) -> pa.Array | pa.ChunkedArray:
    if pa.types.is_dictionary(column.type) or pa.types.is_large_string(column.type) or pa.types.is_string_view(column.type):
        column = column.cast(pa.string())
    try:
        return _cast(_without_words(column), field)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        row, value = _first_wrong(column, field)
        raise InputError(reading.at(before + row), field=field.name, value=value, rule=f"not of type {field.type}") from error


def _without_words(column: Any) -> Any:
    if pa.types.is_binary(column.type):
        column = column.cast(pa.string())
    if pa.types.is_string(column.type):
        trimmed = pc.utf8_trim_whitespace(column)
        return pc.if_else(pc.is_in(pc.utf8_lower(trimmed), _NULLS), None, trimmed)
    return pc.if_else(pc.is_nan(column), None, column) if pa.types.is_floating(column.type) else column


def _cast(column: Any, field: pa.Field) -> Any:
    if pa.types.is_string(field.type):
        if pa.types.is_floating(column.type):
            column = column.cast(pa.int64())
        words = column.cast(pa.string())
        width = re.search(r"\((\d+)\)", PSC.types[field.name])
        numbers = pa.types.is_integer(column.type)  # flags such as 000 that a program took for numbers
        return pc.utf8_lpad(words, int(width[1]), "0") if width and numbers else words
    if pa.types.is_date(field.type) and not pa.types.is_date(column.type):
        return pc.utf8_slice_codeunits(column.cast(pa.string()), 0, 10).cast(field.type)
    if pa.types.is_string(column.type):
        column = _without_words(column.cast(pa.float64()))
    return column.cast(field.type, safe=not pa.types.is_floating(field.type))


def _first_wrong(column: Any, field: pa.Field) -> tuple[int, object]:
    begin, end = 0, len(column)
    while end - begin > 1:
        middle = (begin + end) // 2
        try:
            _cast(_without_words(column.slice(begin, middle - begin)), field)
            begin = middle
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            end = middle
    return begin, column[begin].as_py() if len(column) else None
