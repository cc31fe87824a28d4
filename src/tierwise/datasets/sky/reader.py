r"""A catalog of the reader's as Parquet: the release's text (``|`` between fields, ``\N`` for no value), VOTable, FITS or Parquet.

The text has all sixty columns, without a header. Of the others, a column that is missing has no value, and ``pts_key`` counts the rows.
"""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tierwise.core.errors import InputError
from tierwise.core.paths import short
from tierwise.datasets import delimited_text
from tierwise.datasets.dataset import readable
from tierwise.datasets.sky.columns import PSC

VERSION: Final = 1
_KINDS: Final = {".xml": "VOTable", ".vot": "VOTable", ".votable": "VOTable", ".fits": "FITS", ".fit": "FITS", ".parquet": "Parquet"}
"""The kind of a file by its suffix; any other is taken for the release's text."""
_ALIASES: Final = {"decl": "dec", "xdate": "date", "cntr": "pts_key"}
"""What the release's schema, and the archive's two services, call these columns."""
_NEEDED: Final = tuple(name for name in PSC.types if name not in PSC.nullable and name not in PSC.key)
_ROWS: Final = 1 << 16


def write(sources: Sequence[Path], parquet: Path) -> dict[str, Any]:
    """Write every row of `sources`, in their order; returns what provenance has to say of it."""
    written = write_tables(short(sources[0]), (table for source in sources for table in _tables(source)), parquet)
    return {"what": "every row of the file, in its order", "format": ", ".join(sorted(set(map(_kind, sources)))), **written}


def write_tables(where: str, tables: Iterable[pa.Table | pa.RecordBatch], parquet: Path) -> dict[str, Any]:
    """Write what `tables` hold, of whatever columns, as the catalog; returns the columns that they lack."""
    rows, absent = 0, list[str]()
    with pq.ParquetWriter(parquet, PSC.schema, compression="zstd") as writer:
        for table in tables:
            named = table.rename_columns([_ALIASES.get(name.lower(), name.lower()) for name in table.column_names])
            absent = [name for name in PSC.types if name not in named.column_names]
            writer.write_table(_completed(where, named, rows), row_group_size=_ROWS)
            rows += named.num_rows
    if not rows:
        raise InputError(where, field="rows", value=0, rule="at least one is needed")
    return {"absent_columns": absent}


def _kind(source: Path) -> str:
    suffix = next((suffix for suffix in reversed(source.suffixes) if suffix != ".gz"), "")
    return _KINDS.get(suffix, "text of the release")


def _tables(source: Path) -> Iterator[pa.Table | pa.RecordBatch]:
    kind = _kind(source)
    with readable("sky", source):
        try:
            if kind == "Parquet":
                yield from pq.ParquetFile(source).iter_batches(_ROWS)
            else:
                yield from {"VOTable": _votable, "FITS": _fits}.get(kind, _text)(source)
        except pa.ArrowInvalid as error:
            raise InputError(short(source), rule=f"not readable as {kind}: {error}", remedy="name a whole file: SKY=file:PATH") from error


def _text(source: Path) -> Iterator[pa.RecordBatch]:
    words: dict[str, Any] = {"null_values": ["\\N"], "strings_can_be_null": True}
    return delimited_text.batches("sky", source, PSC.columns, PSC.schema, delimiter="|", header=False, **words)


def columns_of(votable: Any) -> pa.Table:
    return pa.table({field.name: _array(votable.array[field.name]) for field in votable.fields})


def _votable(source: Path) -> Iterator[pa.Table]:
    from astropy.io.votable import parse_single_table  # noqa: PLC0415  takes a second, and few need it

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what an archive's VOTable does not quite conform in
        yield columns_of(parse_single_table(source, verify="ignore"))


def _fits(source: Path) -> Iterator[pa.Table]:
    from astropy.io import fits  # noqa: PLC0415  as above

    try:
        with fits.open(source, memmap=True) as units:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # such as that of a file that was cut off
                found = next((unit for unit in units if isinstance(unit, fits.BinTableHDU | fits.TableHDU)), None)
            if found is None:
                raise InputError(short(source), field="tables", value=0, rule="a FITS file must hold one")
            none = {column.name: column.null for column in found.columns}
            for begin in range(0, found.header["NAXIS2"], _ROWS):
                part = found.data[begin : begin + _ROWS]
                yield pa.table({name: _array(part[name], none[name]) for name in none})
    except (Warning, fits.VerifyError, KeyError, AttributeError, TypeError, IndexError) as error:  # of a header that contradicts itself
        raise OSError(f"its header is no table's: {error!r}") from error


def _array(values: Any, none: object = None) -> pa.Array:
    """`values` in the machine's byte order; no value where they are masked, `none`, not a number, or an empty text."""
    data = np.ma.getdata(values)
    if data.dtype.kind in "OSU":
        texts = pa.array([text.decode() if isinstance(text, bytes) else str(text) for text in data.tolist()], pa.string())
        return pc.if_else(pc.equal(pc.utf8_trim_whitespace(texts), ""), None, texts)
    mask = np.ma.getmaskarray(values) | (np.isnan(data) if data.dtype.kind == "f" else data == none if none is not None else False)
    return pa.array(data.astype(data.dtype.newbyteorder("=")), mask=np.broadcast_to(mask, data.shape))


def _completed(where: str, table: pa.Table | pa.RecordBatch, before: int) -> pa.Table:
    for name in _NEEDED:
        if name not in table.column_names:
            raise InputError(where, field="columns", value=table.column_names[:8], rule=f"the column {name} is missing")
    made = []
    for field in PSC.schema:
        if field.name in table.column_names:
            column = _cast(where, table[field.name], field)
        elif field.name in PSC.key:
            column = pa.array(range(before + 1, before + table.num_rows + 1), field.type)
        else:
            column = pa.nulls(table.num_rows, field.type)
        if not field.nullable and column.null_count:
            row = before + pc.index(pc.is_null(column), True).as_py() + 1
            raise InputError(f"{where} row {row}", field=field.name, rule="a value is needed")
        made.append(column)
    return pa.table(made, schema=PSC.schema)


def _cast(where: str, column: pa.Array | pa.ChunkedArray, field: pa.Field) -> pa.Array | pa.ChunkedArray:
    try:
        if pa.types.is_string(field.type):
            return pc.utf8_rtrim_whitespace(column.cast(pa.string()))
        if pa.types.is_date(field.type) and not pa.types.is_date(column.type):
            return pc.cast(pc.utf8_slice_codeunits(column.cast(pa.string()), 0, 10), field.type)
        if pa.types.is_integer(field.type) and pa.types.is_string(column.type):
            column = column.cast(pa.int64())
        return column.cast(field.type, safe=not pa.types.is_floating(field.type))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InputError(where, field=field.name, rule=f"not of type {field.type}: {error}") from error
