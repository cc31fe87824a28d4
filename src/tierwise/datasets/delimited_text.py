"""Rows of a text file with one delimiter: plain, .gz, .bz2, or in an archive (.zip). Arrow reads them strictly and says what is wrong."""

import bz2
import gzip
import io
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO, Final

import pyarrow as pa
import pyarrow.csv as pv

from tierwise.core.errors import InputError
from tierwise.core.paths import short
from tierwise.core.progress import Progress
from tierwise.core.units import MIB

_BLOCK_BYTES: Final = 8 * MIB
"""A batch: some 30,000 rows of the census."""


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


@contextmanager
def unpacked(source: Path, member: str) -> Iterator[tuple[BinaryIO, Any]]:
    """Open the text of `source`, in an archive that of `member`, by how the file begins; yields the file itself too, for its position."""
    with source.open("rb") as raw:
        begins = raw.read(2)
        raw.seek(0)
        if begins == b"PK" and member:
            with zipfile.ZipFile(raw) as archive, archive.open(_place(archive, source, member)) as content:
                yield raw, content
            return
        opener: Any = {b"\x1f\x8b": gzip.open, b"BZ": bz2.open}.get(begins, nullcontext)
        with opener(raw) as content:
            yield raw, content


def _place(archive: zipfile.ZipFile, source: Path, member: str) -> str:
    names = archive.namelist()
    if found := [name for name in names if Path(name).name == member]:
        return found[0]
    raise InputError(short(source), field="members", value=names[:5], rule=f"an archive must hold {member}")


def batches(
    data_set: str, source: Path, names: Sequence[str], schema: pa.Schema, *, delimiter: str, header: bool, member: str = "", **convert: Any
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of `source`, whose fields are `names` in its order, as the columns of `schema`; `convert`: of `pv.ConvertOptions`."""
    with unpacked(source, member) as (raw, content):
        progress = Progress(f"{data_set}: reading", source.stat().st_size, already=raw.tell())  # an archive's member begins anywhere
        for batch in pv.open_csv(
            pa.PythonFile(_Trimmed(content), mode="r"),
            read_options=pv.ReadOptions(  # with threads it would not know the line of a fault
                column_names=names, skip_rows=int(header), block_size=_BLOCK_BYTES, use_threads=False
            ),
            parse_options=pv.ParseOptions(delimiter=delimiter, quote_char=False, ignore_empty_lines=False),
            convert_options=pv.ConvertOptions(column_types=schema, include_columns=schema.names, **convert),
        ):
            yield batch
            progress.step(raw.tell() - progress.done)
