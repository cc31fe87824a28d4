r"""The tables of a catalog's file, in its own columns: the release's text (``|`` between fields, ``\N`` for no value), CSV and its kin,
IPAC tables, VOTable, FITS, Parquet, and whatever else astropy knows. The format is known by the content.
"""

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, BinaryIO, Final, TypeAlias

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tierwise.core.errors import InputError
from tierwise.core.packed_content import Content, opened
from tierwise.core.paths import short
from tierwise.core.units import MIB
from tierwise.datasets import delimited_text
from tierwise.datasets.dataset import Reading
from tierwise.datasets.sky.columns import NAMES, PSC

Table: TypeAlias = pa.Table | pa.RecordBatch
ROWS: Final = 1 << 16
NEEDED: Final = tuple(name for name in PSC.types if name not in PSC.nullable and name not in PSC.key)
"""Columns without which nothing is read."""
_TEXT: Final = {"string": "UTF-8 text is needed"}
_RELEASE: Final = "text of the release"
_CELL: Final = re.compile(rb"<TD(?:\s[^>]*)?(?:/>|>([^<]*)</TD>)")
_ENTITIES: Final = ((b"&lt;", b"<"), (b"&gt;", b">"), (b"&amp;", b"&"))


def named(name: str) -> str:
    return NAMES.get(name.strip().lower(), name.strip().lower())


def tables_of(reading: Reading) -> Iterator[Table]:
    """Yield the tables of the file, or of the folder of Parquet files; `reading` learns the format."""
    if reading.source.is_dir():
        yield from _folder(reading)
        return
    with opened(reading.source) as content:
        head = content.head()
        begins = head.lstrip()[:2000]
        if head.startswith(b"PAR1"):
            with content.seekable_file() as whole:
                yield from _parquet(reading, whole)
        elif head.startswith(b"SIMPLE  ="):
            with content.seekable_file() as whole:
                yield from _fits(reading, whole)
        elif begins.startswith(b"<") and b"VOTABLE" in begins:
            yield from _votable(reading, content.read() if reading.most_rows is None else _beginning(content, reading.most_rows))
        elif re.match(rb"(\\[^\n]*\n|\s*\n)*\|[^\n]*\|\s*\n", head):
            yield from _ipac(reading, content)
        elif _is_text(head):
            yield from _text(reading, content, head)
        else:
            yield from _by_astropy(reading, content.read())


def _folder(reading: Reading) -> Iterator[Table]:
    files = sorted(reading.source.rglob("*.parquet"))
    if not files:
        raise InputError(short(reading.source), field="Parquet files", value=0, rule="a folder must hold one")
    for file in files:
        with file.open("rb") as whole:
            yield from _parquet(reading, whole)


def _parquet(reading: Reading, whole: BinaryIO) -> Iterator[Table]:
    reading.format = "Parquet"
    yield from pq.ParquetFile(whole).iter_batches(ROWS)


def _is_text(head: bytes) -> bool:
    return b"\0" not in head and not head.lstrip().startswith(b"# %ECSV")


def _text(reading: Reading, content: Content, head: bytes) -> Iterator[Table]:
    lines = head[:MIB].decode("utf-8", "replace").splitlines()
    first = next((at for at, line in enumerate(lines) if line.strip() and not line.startswith("#")), 0)
    line = lines[first] if lines else ""
    delimiter = delimited_text.delimiter_of(line)
    names = [field.strip() for field in delimited_text.fields_of(line, delimiter)]
    if sum(name.lower() in NAMES for name in names) < min(2, len(names)):
        if delimiter != "|":
            yield from _by_astropy(reading, content.read())
            return
        reading.format, names, first = _RELEASE, PSC.columns, first - 1
    else:
        kinds = {",": "CSV", "\t": "TSV"}
        reading.format = kinds.get(delimiter, f"text separated by {delimiter}")
        while first + 2 < len(lines) and not re.search(r"\d", lines[first + 1]) and re.match(r"[-\s|;,]+$", lines[first + 2]):
            first += 2  # units and dashes
    reading.skipped_lines = first + 1
    unique = [name if name not in names[:at] else f"{name} ({at})" for at, name in enumerate(names)]
    schema = pa.schema([(name, pa.string()) for name in unique if reading.format == _RELEASE or named(name) in PSC.types])
    yield from delimited_text.batches(
        "sky", content, reading, unique, schema, delimiter=delimiter, needed=_TEXT, quoted=reading.format != _RELEASE
    )


def _ipac(reading: Reading, content: Content) -> Iterator[Table]:
    """Columns end where the bars of the header stand."""
    reading.format, header, skipped = "IPAC table", list[str](), 0
    while content.peek(1)[:1] in {b"\\", b"|", b"\n", b"\r"}:
        line, skipped = content.readline().decode("ascii", "replace").rstrip("\r\n"), skipped + 1
        header += [line] if line.startswith("|") else []
    reading.skipped_lines = skipped
    bars = [at for at, letter in enumerate(header[0]) if letter == "|"]
    spans = list(pairwise(bars))
    names = [header[0][begin + 1 : end].strip() for begin, end in spans]
    nulls = [(header[3][begin + 1 : end].strip() if len(header) > 3 else "") for begin, end in spans]
    rows = 0
    while lines := content.readlines(reading.block_bytes):
        text = pl.Series([line.decode("utf-8", "replace").rstrip("\r\n") for line in lines], dtype=pl.String)
        text = text.filter(text.str.strip_chars() != "")
        if (short_line := text.str.len_chars() <= bars[-2]).any():
            raise InputError(reading.at(rows + int(short_line.arg_max() or 0)), rule=f"the line ends before the column {names[-1]}")
        cells = [text.str.slice(begin, end - begin).str.strip_chars() for begin, end in spans]
        pairs = zip(names, cells, nulls, strict=True)
        yield pa.table({name: (cell.replace({null: None}) if null else cell).to_arrow() for name, cell, null in pairs})
        rows += len(text)


def _beginning(content: Content, rows: int) -> bytes:
    """Return a VOTable that ends after some `rows` rows, of text that may go on."""
    text = b""
    while text.count(b"</TR>") < rows and (part := content.read(MIB)):
        text += part
        if b"<STREAM" in part:
            break
    if not content.peek(1):
        return text
    text = text[: text.rfind(b"</TR>") + 5] or text[: text.find(b"<STREAM")]
    for name in (b"TABLEDATA", b"DATA", b"TABLE", b"RESOURCE", b"VOTABLE"):
        open_tags = len(re.findall(rb"<%b[\s>]" % name, text)) - text.count(b"</%b>" % name)
        text += b"</%b>" % name * open_tags
    return text


def _votable(reading: Reading, text: bytes) -> Iterator[Table]:
    """Rows as text, where they are; astropy reads the fields, and all of other serialisations."""
    reading.format = "VOTable"
    from astropy.io.votable import parse  # noqa: PLC0415  takes a second, and few need it

    if not re.search(rb"</(\w+:)?VOTABLE>\s*$", text):
        raise InputError(short(reading.source), rule="the VOTable does not end: the file is cut short", remedy="name a whole file")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what an archive's VOTable does not quite conform in
        first, *parts = text.split(b"<TABLEDATA>")
        bodies = [part.partition(b"</TABLEDATA>")[0] for part in parts]
        if not bodies or b"<![CDATA[" in text or text.count(b"</TABLE>") != len(bodies):
            tables = list(parse(io.BytesIO(text), verify="ignore").iter_tables())
            whole = [(table.array.dtype.names or (), lambda table=table: iter([columns_of(table)])) for table in tables]
            yield from _matching(reading, whole)
            return
        emptied = first + b"".join(b"<TABLEDATA>" + part[len(body) :] for part, body in zip(parts, bodies, strict=True))
        fields = [table.fields for table in parse(io.BytesIO(emptied), verify="ignore").iter_tables()]
    pairs = zip(fields, bodies, strict=True)
    yield from _matching(reading, [([field.name for field in each], lambda e=each, b=body: _cells(reading, e, b)) for each, body in pairs])


def _matching(reading: Reading, tables: Sequence[tuple[Sequence[str], Any]]) -> Iterator[Table]:
    if not tables:
        raise InputError(short(reading.source), field="tables", value=0, rule=f"a {reading.format} file must hold one")
    found = [table for names, table in tables if set(NEEDED) <= set(map(named, names))]
    for table in found or [tables[0][1]]:
        yield from table()


def _cells(reading: Reading, fields: Sequence[Any], body: bytes) -> Iterator[Table]:
    names, begin = [field.name for field in fields], 0
    nulls = {field.name: str(field.values.null) for field in fields if field.values.null is not None}
    while begin < len(body):
        end = body.find(b"</TR>", begin + 8 * MIB)
        part, begin = (body[begin:], len(body)) if end < 0 else (body[begin : end + 5], end + 5)
        cells, count = _CELL.findall(part), part.count(b"</TR>")
        if len(cells) != count * len(names):
            raise InputError(short(reading.source), field="cells", value=len(cells), rule=f"{count} rows of {len(names)} are needed")
        if b"&" in part:
            for entity, letter in _ENTITIES:
                cells = [cell.replace(entity, letter) for cell in cells]
        columns = {name: pa.array(cells[at :: len(names)], pa.binary()).cast(pa.string()) for at, name in enumerate(names)}
        for name, null in nulls.items():
            columns[name] = pc.if_else(pc.equal(pc.utf8_trim_whitespace(columns[name]), null), None, columns[name])
        if count:
            yield pa.table(columns)


def columns_of(votable: Any) -> pa.Table:
    return pa.table({field.name: array_of(votable.array[field.name]) for field in votable.fields})


def _fits(reading: Reading, whole: BinaryIO) -> Iterator[Table]:
    from astropy.io import fits  # noqa: PLC0415  as above

    reading.format = "FITS"
    try:
        with fits.open(whole, memmap=isinstance(whole, io.BufferedReader)) as units:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # such as that of a file that was cut off
                found = [unit for unit in units if isinstance(unit, fits.BinTableHDU | fits.TableHDU)]
            yield from _matching(reading, [(unit.columns.names, lambda unit=unit: _unit(unit)) for unit in found])
    except (Warning, fits.VerifyError, KeyError, AttributeError, TypeError, IndexError) as error:  # of a header that contradicts itself
        raise OSError(f"its header is no table's: {error!r}") from error


def _unit(found: Any) -> Iterator[Table]:
    none = {column.name: column.null for column in found.columns}
    for begin in range(0, found.header["NAXIS2"], ROWS):
        part = found.data[begin : begin + ROWS]
        yield pa.table({name: array_of(part[name], none[name]) for name in none})


def _by_astropy(reading: Reading, text: bytes) -> Iterator[Table]:
    from astropy.io import ascii  # noqa: A004, PLC0415  as above

    known = ", ".join((_RELEASE, "CSV", "IPAC table", "VOTable", "FITS", "Parquet, or another table that astropy reads"))
    try:
        if b"\0" in text:
            raise ValueError("binary")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = ascii.read(text.decode())
    except Exception as error:  # whatever its readers raise
        raise InputError(short(reading.source), rule="is no catalog of a known format", remedy=f"name a whole file: {known}") from error
    reading.format = "text that astropy reads"
    yield pa.table({name: array_of(found[name]) for name in found.colnames})


def array_of(values: Any, none: object = None) -> pa.Array:
    """`values` in the machine's byte order; no value where they are masked, or `none`."""
    data, mask = np.ma.getdata(values), np.ma.getmaskarray(values)
    if data.dtype.kind in "OSU":
        texts = [text.decode() if isinstance(text, bytes) else str(text) for text in data.tolist()]
        return pa.array(texts, pa.string(), mask=np.broadcast_to(mask, data.shape))
    mask |= data == none if none is not None and data.dtype.kind != "f" else False
    return pa.array(data.astype(data.dtype.newbyteorder("=")), mask=np.broadcast_to(mask, data.shape))
