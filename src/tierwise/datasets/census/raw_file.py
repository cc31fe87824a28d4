"""The census from a file: the raw tab-separated one, or a CSV with a header; plain, packed, or in the archive of its publisher."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tierwise.core.errors import InputError
from tierwise.core.paths import short
from tierwise.datasets import delimited_text
from tierwise.datasets.census.columns import COLUMNS, SCHEMA
from tierwise.datasets.dataset import readable

VERSION: Final = 1
MEMBER: Final = "USCensus1990raw.data.txt"
"""What is read of an archive."""

_TEXTS: Final = [column.name for column in COLUMNS if column.type == "text"]
_NEEDED: Final = {"bool": "0 or 1 is needed", "int32": "a whole number of 32 bits is needed", "string": "UTF-8 text is needed"}


@dataclass(frozen=True)
class Layout:
    """How the file is written: `names` of its fields in its own order ("" is a row index, which is dropped)."""

    delimiter: str
    header: bool
    names: tuple[str, ...]


def write(source: Path, parquet: Path) -> dict[str, Any]:
    """Write every row of `source` to `parquet`, columns in the source study's order; returns what provenance has to say of it."""
    rows = 0
    with readable("census", source):
        layout = _layout(source)
        with pq.ParquetWriter(parquet, SCHEMA, compression="zstd") as writer:
            for batch in _batches(source, layout):
                for name in _TEXTS:
                    if (row := pc.index(batch[name], "").as_py()) >= 0:
                        where = f"{short(source)} line {rows + row + 1 + layout.header}"
                        raise InputError(where, field=name, value="", rule="a value is needed")
                writer.write_batch(batch.cast(SCHEMA))
                rows += batch.num_rows
    if not rows:
        raise InputError(short(source), field="rows", value=0, rule="at least one is needed")
    written = "tab-separated" if layout.delimiter == "\t" else "comma-separated"
    return {
        "what": "every row of the file, in its order; a fraction does not apply",
        "format": f"{written}, {'with' if layout.header else 'without'} a header",
        "file_bytes": source.stat().st_size,
    }


def _layout(source: Path) -> Layout:
    with delimited_text.unpacked(source, MEMBER) as (_, content):
        first = content.readline().decode(errors="replace").rstrip("\r\n")
    delimiter = "\t" if "\t" in first else ","
    fields = tuple(first.split(delimiter))
    header = any(field in SCHEMA.names for field in fields)
    if header:
        _check_header(source, fields)
    return Layout(delimiter, header, fields if header else tuple(SCHEMA.names))


def _check_header(source: Path, names: tuple[str, ...]) -> None:
    wrong = Counter(names[1:] if names[0] == "" else names)
    wrong.subtract(SCHEMA.names)
    for name, more in wrong.items():
        if more:
            rule = "the column is missing" if more < 0 else "not one of the 125 columns, or there more than once"
            raise InputError(f"{short(source)} line 1", field="header", value=name, rule=rule)


def _batches(source: Path, layout: Layout) -> Iterator[pa.RecordBatch]:
    """Rows that have the right number of fields, no empty numbers, whole numbers of 32 bits, and 0 or 1 where the column is boolean."""
    words: dict[str, Any] = {"null_values": [], "true_values": ["1"], "false_values": ["0"]}
    try:
        yield from delimited_text.batches(
            "census", source, layout.names, SCHEMA, delimiter=layout.delimiter, header=layout.header, member=MEMBER, **words
        )
    except pa.ArrowInvalid as error:
        if not re.match("Empty CSV file|Could not skip initial", str(error)):
            raise _malformed(source, layout, str(error)) from error


def _malformed(source: Path, layout: Layout, reason: str) -> InputError:
    if found := re.match(r"In CSV column #(\d+): Row #(\d+): CSV conversion error to (\w+): (?:invalid value '(.*)')?", reason, re.DOTALL):
        column, line, kind, value = found.groups()
        return InputError(f"{short(source)} line {line}", field=layout.names[int(column)], value=value, rule=_NEEDED[kind])
    if found := re.match(r"CSV parse error: Row #(\d+): Expected (\d+) columns, got (\d+)", reason):
        line, needed, fields = found.groups()
        return InputError(f"{short(source)} line {line}", field="number of fields", value=int(fields), rule=f"{needed} fields are needed")
    return InputError(short(source), rule=f"not readable as a table: {reason}")
