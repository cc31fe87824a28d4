"""Rows of a text with one delimiter, packed or not. Arrow reads them strictly; what it finds wrong is said by line and column."""

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO, Final

import pyarrow as pa
import pyarrow.csv as pv

from tierwise.core.errors import InputError
from tierwise.core.packed_content import Content
from tierwise.core.progress import Progress
from tierwise.datasets.dataset import Reading

DELIMITERS: Final = "\t,;|"


class _Trimmed(io.RawIOBase):
    """`inner` without the empty lines at its end: the raw census has one. Arrow refuses those that stand before the end."""

    def __init__(self, inner: BinaryIO):
        self._inner, self._held = inner, b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        while chunk := self._inner.read(size):
            text = self._held + chunk
            body = text.rstrip(b"\r\n")
            self._held = text[len(body) :]
            if body:
                return body
        return b""


def fields_of(line: str, delimiter: str) -> list[str]:
    return [field.strip().strip('"').strip() for field in line.split(delimiter)]


def delimiter_of(line: str, most_likely: str = DELIMITERS) -> str:
    return max(most_likely, key=line.count)


def batches(
    data_set: str,
    content: Content,
    reading: Reading,
    names: Sequence[str],
    schema: pa.Schema,
    *,
    delimiter: str,
    needed: Mapping[str, str],
    quoted: bool = True,
    **convert: Any,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of `content`, whose fields are `names`, as the columns of `schema`; `needed`: Arrow's type -> what a value must be."""
    progress = Progress(f"{data_set}: reading", reading.source.stat().st_size, already=content.position)
    try:
        for batch in pv.open_csv(
            pa.PythonFile(_Trimmed(content), mode="r"),
            read_options=pv.ReadOptions(  # with threads it would not know the line of a fault
                column_names=names, skip_rows=reading.skipped_lines or 0, block_size=reading.block_bytes, use_threads=False
            ),
            parse_options=pv.ParseOptions(delimiter=delimiter, quote_char='"' if quoted else False, ignore_empty_lines=False),
            convert_options=pv.ConvertOptions(column_types=schema, include_columns=schema.names, **convert),
        ):
            yield batch
            progress.step(max(0, content.position - progress.done))
    except pa.ArrowInvalid as error:
        if not re.match("Empty CSV file|Could not skip initial", str(error)):
            raise _malformed(reading, names, needed, str(error)) from error


def _malformed(reading: Reading, names: Sequence[str], needed: Mapping[str, str], reason: str) -> InputError:
    where = reading.at(0).rpartition(" ")[0]
    if found := re.match(r"In CSV column #(\d+): Row #(\d+): CSV conversion error to (\w+): (?:invalid value '(.*)')?", reason, re.DOTALL):
        column, line, kind, value = found.groups()
        return InputError(f"{where} {line}", field=names[int(column)], value=value, rule=needed.get(kind, f"not of type {kind}"))
    if found := re.match(r"CSV parse error: Row #(\d+): Expected (\d+) columns, got (\d+)", reason):
        line, fields, got = found.groups()
        return InputError(f"{where} {line}", field="number of fields", value=int(got), rule=f"{fields} fields are needed")
    return InputError(where.removesuffix(" line"), rule=f"not readable as a table: {reason}")
