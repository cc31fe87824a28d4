"""The census from a file: the raw tab-separated one, or a CSV with a header; plain, .gz, .bz2, or in the archive (.zip) of its publisher.

Arrow reads it strictly, and says what is wrong, and where.
"""

import bz2
import gzip
import io
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
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

VERSION: Final = 1
"""The version of the rows, raised whenever the same file gives other ones."""

MEMBER: Final = "USCensus1990raw.data.txt"
"""What is read of an archive."""

_NAMES: Final = [column.name for column in COLUMNS]
_TEXTS: Final = [column.name for column in COLUMNS if column.type == "text"]
_BLOCK_BYTES: Final = 8 * MIB
"""A batch: some 30,000 rows."""
_NEEDED: Final = {"bool": "0 or 1 is needed", "int32": "a whole number of 32 bits is needed", "string": "UTF-8 text is needed"}


@dataclass(frozen=True)
class Layout:
    """How the file is written: `names` of its fields in its own order ("" is a row index, which is dropped)."""

    delimiter: str
    header: bool
    names: tuple[str, ...]


def write(source: Path, parquet: Path) -> dict[str, Any]:
    """Write every row of `source` to `parquet`, columns in the source study's order; returns what provenance has to say of it.

    Raises:
        InputError: a malformed value or row, with its line; or a header that is not that of the 125 columns.
    """
    try:
        layout = _layout(source)
        _convert(source, layout, parquet)
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile, NotImplementedError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(short(source), rule=f"cannot be read: {reason}", remedy="name a whole file: CENSUS=file:PATH") from error
    written = "tab-separated" if layout.delimiter == "\t" else "comma-separated"
    return {
        "what": "every row of the file, in its order; a fraction does not apply",
        "format": f"{written}, {'with' if layout.header else 'without'} a header",
        "file_bytes": source.stat().st_size,
    }


class _Trimmed(io.RawIOBase):
    """`inner` without the empty lines at its end: the raw file has one. Arrow refuses those that stand before the end."""

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
    with source.open("rb") as raw:
        if source.suffix == ".zip":
            with zipfile.ZipFile(raw) as archive, archive.open(_member(source, archive)) as member:
                yield raw, cast("BinaryIO", member)
            return
        opener: Any = {".bz2": bz2.open, ".gz": gzip.open}.get(source.suffix)
        with opener(raw, "rb") if opener else nullcontext(raw) as content:
            yield raw, content


def _member(source: Path, archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    for member in archive.infolist():
        if Path(member.filename).name == MEMBER:
            return member
    raise InputError(short(source), field="members", value=archive.namelist()[:5], rule=f"an archive must hold {MEMBER}")


def _layout(source: Path) -> Layout:
    with _open(source) as (_, content):
        first = content.readline().decode(errors="replace").rstrip("\r\n")
    delimiter = "\t" if "\t" in first else ","
    fields = tuple(first.split(delimiter))
    header = any(field in _NAMES for field in fields)
    layout = Layout(delimiter, header, fields if header else tuple(_NAMES))
    if header:
        _check_header(source, layout.names)
    return layout


def _check_header(source: Path, names: tuple[str, ...]) -> None:
    columns = names[1:] if names[0] == "" else names
    wrong = Counter(columns)
    wrong.subtract(_NAMES)
    for name, more in wrong.items():
        if more:
            rule = "the column is missing" if more < 0 else "not one of the 125 columns, or there more than once"
            raise InputError(f"{short(source)} line 1", field="header", value=name, rule=rule)


def _convert(source: Path, layout: Layout, parquet: Path) -> None:
    rows = 0
    with _open(source) as (raw, content), pq.ParquetWriter(parquet, SCHEMA, compression="zstd") as writer:
        progress = Progress("census: reading", source.stat().st_size, already=raw.tell())  # an archive's member begins anywhere
        try:
            for batch in _batches(_Trimmed(content), layout):
                for name in _TEXTS:
                    if (row := pc.index(batch[name], "").as_py()) >= 0:
                        where = f"{short(source)} line {rows + row + 1 + layout.header}"
                        raise InputError(where, field=name, value="", rule="a value is needed")
                writer.write_batch(batch.cast(SCHEMA))
                rows += batch.num_rows
                progress.step(raw.tell() - progress.done)
        except pa.ArrowInvalid as error:
            if not re.match("Empty CSV file|Could not skip initial", str(error)):
                raise _malformed(source, layout, str(error)) from error
    if not rows:
        raise InputError(short(source), field="rows", value=0, rule="at least one is needed")


def _batches(text: _Trimmed, layout: Layout) -> Iterator[pa.RecordBatch]:
    """Rows that have the right number of fields, no empty numbers, whole numbers of 32 bits, and 0 or 1 where the column is boolean."""
    yield from pv.open_csv(
        pa.PythonFile(text, mode="r"),
        read_options=pv.ReadOptions(  # with threads it would not know the line of a fault
            column_names=layout.names, skip_rows=int(layout.header), block_size=_BLOCK_BYTES, use_threads=False
        ),
        parse_options=pv.ParseOptions(delimiter=layout.delimiter, quote_char=False, ignore_empty_lines=False),
        convert_options=pv.ConvertOptions(
            column_types=SCHEMA, include_columns=_NAMES, null_values=[], true_values=["1"], false_values=["0"]
        ),
    )


def _malformed(source: Path, layout: Layout, reason: str) -> InputError:
    if found := re.match(r"In CSV column #(\d+): Row #(\d+): CSV conversion error to (\w+): (?:invalid value '(.*)')?", reason, re.DOTALL):
        column, line, kind, value = found.groups()
        return InputError(f"{short(source)} line {line}", field=layout.names[int(column)], value=value, rule=_NEEDED[kind])
    if found := re.match(r"CSV parse error: Row #(\d+): Expected (\d+) columns, got (\d+)", reason):
        line, needed, fields = found.groups()
        return InputError(f"{short(source)} line {line}", field="number of fields", value=int(fields), rule=f"{needed} fields are needed")
    return InputError(short(source), rule=f"not readable as a table: {reason}")
