"""The census from a file: the raw tab-separated one, or a CSV with a header; plain, .gz, .bz2, or in the archive (.zip) of its publisher.

Arrow reads it strictly and quickly, and gives up at the first thing that is wrong; a plain reader then says what and where.
"""

import bz2
import gzip
import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pv
import pyarrow.parquet as pq

from tierwise.core.errors import InputError
from tierwise.core.paths import short
from tierwise.core.progress import Progress
from tierwise.core.units import MIB
from tierwise.datasets.census.columns import COLUMNS, SCHEMA
from tierwise.datasets.dataset import ColumnType

VERSION: Final = 1
"""The version of the rows, raised whenever the same file gives other ones."""

MEMBER: Final = "USCensus1990raw.data.txt"
"""What is read of an archive."""

_NAMES: Final = [column.name for column in COLUMNS]
_KINDS: Final = {column.name: column.type for column in COLUMNS}
_BLOCK_BYTES: Final = 8 * MIB
"""A batch, and so what has to be read again to explain a fault: some 30,000 rows."""


@dataclass(frozen=True)
class Layout:
    """How the file is written: `names` of its fields in its own order ("" is a row index, which is dropped)."""

    delimiter: str
    header: bool
    names: tuple[str, ...]


def write(source: Path, parquet: Path) -> dict[str, Any]:
    """Write every row of `source` to `parquet`, columns in the source study's order; returns what provenance has to say of it.

    Raises:
        InputError: the first malformed row, with its line; or a header that is not that of the 125 columns.
    """
    try:
        layout = _layout(source)
        _convert(source, layout, parquet)
    except _RefusedError as error:
        _explain(source, layout, error.rows)
        raise InputError(short(source), rule=f"not readable as a table: {error}") from error
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile, NotImplementedError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(short(source), rule=f"cannot be read: {reason}", remedy="name a whole file: CENSUS=file:PATH") from error
    written = "tab-separated" if layout.delimiter == "\t" else "comma-separated"
    return {
        "what": "every row of the file, in its order; a fraction does not apply",
        "format": f"{written}, {'with' if layout.header else 'without'} a header",
        "file_bytes": source.stat().st_size,
    }


class _RefusedError(ValueError):
    """Something is wrong behind the first `rows` rows, which are whole batches without fault."""

    def __init__(self, rows: int, reason: object):
        self.rows = rows
        super().__init__(reason)


class _Trimmed(io.RawIOBase):
    """`inner` without the empty lines at its end: the raw file has one. (Arrow refuses those that stand before the end.)"""

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


@contextmanager
def _open(source: Path) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """The file as it lies on disk, whose position tells the progress, and its content unpacked."""
    with source.open("rb") as raw:
        if source.suffix == ".zip":
            with zipfile.ZipFile(raw) as archive, archive.open(_member(source, archive)) as member:
                yield raw, cast("BinaryIO", member)
            return
        opener: Any = {".bz2": bz2.open, ".gz": gzip.open}.get(source.suffix)
        with opener(raw, "rb") if opener else nullcontext(raw) as content:
            yield raw, content


def _member(source: Path, archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    """The raw file, in whatever folder of the archive it lies."""
    for member in archive.infolist():
        if Path(member.filename).name == MEMBER:
            return member
    raise InputError(short(source), field="members", value=archive.namelist()[:5], rule=f"an archive must hold {MEMBER}")


def _lines(source: Path) -> Iterator[str]:
    with _open(source) as (_, content), io.TextIOWrapper(content, encoding="utf-8", errors="replace", newline="\n") as text:
        yield from text


def _layout(source: Path) -> Layout:
    first = next(_lines(source), "").rstrip("\r\n")
    delimiter = "\t" if "\t" in first else ","
    fields = tuple(first.split(delimiter))
    header = any(field in _KINDS for field in fields)
    layout = Layout(delimiter, header, fields if header else tuple(_NAMES))
    if header:
        _check_header(source, layout.names)
    return layout


def _check_header(source: Path, names: tuple[str, ...]) -> None:
    where = f"{short(source)} line 1"
    columns = names[1:] if names[0] == "" else names
    for name in columns:
        if name not in _KINDS:
            raise InputError(where, field="header", value=name, rule="not one of the 125 columns of the census")
        if columns.count(name) > 1:
            raise InputError(where, field="header", value=name, rule="a column stands there more than once")
    for name in _NAMES:
        if name not in columns:
            raise InputError(where, field="header", value=name, rule="the column is missing")


def _convert(source: Path, layout: Layout, parquet: Path) -> None:
    """The quick way, in batches.

    Arrow refuses a wrong number of fields, an empty value, what is no whole number of 32 bits, what is no 0 or 1.
    """
    rows = 0
    with _open(source) as (raw, content), pq.ParquetWriter(parquet, SCHEMA, compression="zstd") as writer:
        progress = Progress("census: reading", source.stat().st_size, already=raw.tell())  # an archive's member begins anywhere
        try:
            for batch in _batches(_Trimmed(content), layout):
                if any(pc.any(pc.equal(batch[name], "")).as_py() for name, kind in _KINDS.items() if kind == "text"):
                    raise pa.ArrowInvalid("an empty text")
                writer.write_batch(batch.cast(SCHEMA))
                rows += batch.num_rows
                progress.step(raw.tell() - progress.done)
        except pa.ArrowInvalid as error:
            raise _RefusedError(rows, error) from error


def _batches(text: _Trimmed, layout: Layout) -> Iterator[pa.RecordBatch]:
    yield from pv.open_csv(
        pa.PythonFile(text, mode="r"),
        read_options=pv.ReadOptions(column_names=layout.names, skip_rows=int(layout.header), block_size=_BLOCK_BYTES),
        parse_options=pv.ParseOptions(delimiter=layout.delimiter, quote_char=False, ignore_empty_lines=False),
        convert_options=pv.ConvertOptions(
            column_types=SCHEMA, include_columns=_NAMES, null_values=[], true_values=["1"], false_values=["0"]
        ),
    )


def _explain(source: Path, layout: Layout, rows: int) -> None:
    """Raise the `InputError` that names the first malformed row behind the first `rows`, or none at all; return if all is well."""
    found = rows
    for line, fields in islice(_rows(source, layout), rows, None):
        found += 1
        where = f"{short(source)} line {line}"
        if len(fields) != len(layout.names):
            rule = f"{len(layout.names)} fields are needed"
            raise InputError(where, field="number of fields", value=len(fields), rule=rule)
        for name, value in zip(layout.names, fields, strict=True):
            if name and (broken := _broken_rule(_KINDS[name], value)):
                raise InputError(where, field=name, value=value, rule=broken)
    if not found:
        raise InputError(short(source), field="rows", value=0, rule="at least one is needed")


def _rows(source: Path, layout: Layout) -> Iterator[tuple[int, list[str]]]:
    """Lines (counted from 1) and their fields; empty lines at the end of the file are none."""
    empty: list[int] = []
    for line, text in enumerate(_lines(source), start=1):
        row = text.rstrip("\r\n")
        if line == 1 and layout.header:
            continue
        if not row:
            empty.append(line)
            continue
        yield from ((before, []) for before in empty)
        empty.clear()
        yield line, row.split(layout.delimiter)


def _broken_rule(kind: ColumnType, value: str) -> str | None:
    if value == "":
        return "a value is needed"
    if kind == "text":
        return "not UTF-8 text" if "\ufffd" in value else None
    if kind == "boolean":
        return None if value in ("0", "1") else "0 or 1 is needed"
    if not re.fullmatch(r" *-?[0-9]+ *", value):
        return "a whole number is needed"
    return None if -(2**31) <= int(value) < 2**31 else "a whole number of 32 bits is needed (-2147483648 to 2147483647)"
