"""The census from a file: the raw tab-separated one, a table with a header, or Parquet; plain, packed, or in its publisher's archive."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tierwise.core.errors import InputError
from tierwise.core.packed_content import Content, opened
from tierwise.core.paths import short
from tierwise.datasets import delimited_text
from tierwise.datasets.census.facts import SCHEMA, TYPES
from tierwise.datasets.dataset import Reading, readable, write_rows

VERSION: Final = 2
MEMBER: Final = "USCensus1990raw.data.txt"  # what is read of an archive
PREPARED_COLUMNS: Final = 69
_INDEXES: Final = {"", "index", "unnamed0", "rownames", "rowid"}
"""Names, without punctuation, of a leading column that only counts the rows."""
_MANGLED: Final = {"sep80": "SEPT80"}  # what a spreadsheet makes of a column that it takes for a month

_TEXTS: Final = [name for name, kind in TYPES.items() if kind == "text"]
_NEEDED: Final = {"bool": "0 or 1 is needed", "int32": "a whole number of 32 bits is needed", "string": "UTF-8 text is needed"}
_BY_KEY: Final = {name.lower(): name for name in SCHEMA.names} | _MANGLED
_FLAGS: Final[dict[str, Any]] = {
    f"{word}_values": [before + digit + after for digit in digits for before in ("", " ") for after in ("", " ")]
    for word, digits in (("true", ("1",)), ("false", ("0",)))
}


def write(source: Path, parquet: Path) -> dict[str, Any]:
    """Write every row of `source` to `parquet`, columns in the source study's order; returns what provenance has to say of it."""
    reading = read(source)
    write_rows(short(source), reading.tables, SCHEMA, parquet)
    return {
        "what": "every row of the file, in its order; a fraction does not apply",
        "format": reading.format,
        "file_bytes": source.stat().st_size,
    }


def read(source: Path) -> Reading:
    reading = Reading(source)
    reading.tables = _tables(reading)
    return reading


def _tables(reading: Reading) -> Iterator[pa.RecordBatch]:
    rows = 0
    with readable("census", reading.source), opened(reading.source, MEMBER) as content:
        for batch in _parquet(reading, content) if content.head().startswith(b"PAR1") else _text(reading, content):
            columns = {name: pc.utf8_trim_whitespace(batch[name]) if name in _TEXTS else batch[name] for name in SCHEMA.names}
            for name in _TEXTS:
                if (row := pc.index(columns[name], "").as_py()) >= 0:
                    raise InputError(reading.at(rows + row), field=name, value="", rule="a value is needed")
            yield pa.record_batch(list(columns.values()), schema=SCHEMA)
            rows += batch.num_rows


def _text(reading: Reading, content: Content) -> Iterator[pa.RecordBatch]:
    """Rows that have the right number of fields, no empty numbers, whole numbers of 32 bits, and 0 or 1 where the column is boolean."""
    first = content.head().partition(b"\n")[0].decode(errors="replace").rstrip("\r")
    delimiter = delimited_text.delimiter_of(first)
    fields = delimited_text.fields_of(first, delimiter)
    header = any(_our_name(field) for field in fields)
    _refuse_prepared(reading, fields)
    names = _checked_header(reading, fields) if header else list(SCHEMA.names)
    kind = {"\t": "tab-separated", ",": "comma-separated"}.get(delimiter, f"separated by {delimiter}")
    reading.format, reading.skipped_lines = f"{kind}, {'with' if header else 'without'} a header", int(header)
    yield from delimited_text.batches(
        "census", content, reading, names, SCHEMA, delimiter=delimiter, needed=_NEEDED, null_values=[], **_FLAGS
    )


def _key(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


def _our_name(name: str) -> str | None:
    return _BY_KEY.get(_key(name))


def _refuse_prepared(reading: Reading, fields: list[str]) -> None:
    recoded = [field for field in fields if field[:1] in {"d", "i"} and _our_name(field[1:]) and not _our_name(field)]
    numbers = len(fields) == PREPARED_COLUMNS and all(field.lstrip("-").isdigit() for field in fields)
    if len(recoded) > len(fields) / 2 or numbers:
        rule = f"this is the prepared file of {PREPARED_COLUMNS} columns (USCensus1990.data.txt), whose values are classes"
        remedy = f"name the raw file, {MEMBER}, or CENSUS=download"
        raise InputError(f"{short(reading.source)} line 1", field="header", value=fields[:4], rule=rule, remedy=remedy)


def _checked_header(reading: Reading, fields: list[str]) -> list[str]:
    """Return our names of the fields, all of the 125 once each; a leading index keeps its own."""
    index = _key(fields[0]) in _INDEXES
    names = [_our_name(field) or field for field in fields]
    wrong = Counter(names[int(index) :])
    wrong.subtract(SCHEMA.names)
    for name, more in wrong.items():
        if more:
            rule = "the column is missing" if more < 0 else "not one of the 125 columns, or there more than once"
            raise InputError(f"{short(reading.source)} line 1", field="header", value=name, rule=rule)
    reading.columns = {name: field for name, field in zip(names, fields, strict=True) if name in SCHEMA.names}
    return names


def _parquet(reading: Reading, content: Content) -> Iterator[pa.RecordBatch]:
    rows, reading.format = 0, "Parquet"
    with content.seekable_file() as whole:
        file = pq.ParquetFile(whole)
        fields = file.schema_arrow.names
        _refuse_prepared(reading, fields)
        names = _checked_header(reading, fields)
        for batch in file.iter_batches(1 << 15):
            named = batch.rename_columns(names).select(SCHEMA.names)
            yield pa.record_batch([_typed(reading, named[field.name], field, rows) for field in SCHEMA], schema=SCHEMA)
            rows += batch.num_rows


def _typed(reading: Reading, column: pa.Array, field: pa.Field, before: int) -> pa.Array:
    if column.null_count:
        row = before + pc.index(pc.is_null(column), True).as_py()
        raise InputError(reading.at(row), field=field.name, rule="a value is needed")
    try:
        if pa.types.is_boolean(field.type) and not pa.types.is_boolean(column.type):
            column = column.cast(pa.int64())
            if (wrong := pc.is_in(column, pa.array([0, 1])).index(False).as_py()) >= 0:
                raise InputError(reading.at(before + wrong), field=field.name, value=column[wrong].as_py(), rule=_NEEDED["bool"])
        return column.cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InputError(reading.at(before), field=field.name, rule=_NEEDED[str(field.type)]) from error
