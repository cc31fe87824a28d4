"""Page requests of a trace, in order, of any format of `trace_formats`: a stream, which takes memory by pages and not by requests."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final, TypedDict

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tierwise.core.compiled import Ints
from tierwise.core.errors import InputError, suggesting
from tierwise.core.packed_content import HEAD_BYTES, WHOLE, Content, opened
from tierwise.core.paths import short
from tierwise.core.text_template import render
from tierwise.core.units import GIB, MIB, PAGE_BYTES, SECTOR_BYTES
from tierwise.simulate import trace_formats as formats
from tierwise.simulate.page_cache import POLICIES, replay_stream
from tierwise.simulate.trace_fields import Bytes, Fields
from tierwise.simulate.trace_formats import MOST_REQUEST_BYTES, ORACLE, PAGE_BITS, PARQUET, TEXTS, Requests, pages_of, single_pages

_READ_BYTES: Final = 16 * MIB
_COLUMNS: Final = ("relation", "page", "size_bytes")  # columns of our Parquet files, beside ``operation`` where writes are recorded too
_REQUESTS: Final = (b"tierwise.records", b"page requests")  # metadata of a Parquet file whose recorder had no cache above it
_EVENTS: Final = ("Q", "D", "C")


@dataclass(frozen=True)
class TraceOptions:
    """How a trace is read: `input_format` overrides what its content says; None: the page size or event by default."""

    input_format: str = ""
    reads_only: bool = False
    device: str = ""
    page_bytes: int | None = None
    event: str | None = None
    timed: bool = False

    def __post_init__(self) -> None:
        if self.input_format and self.input_format not in formats.NAMES:
            rule, remedy = f"must be one of {', '.join(formats.NAMES)}", suggesting(self.input_format, formats.NAMES)
            raise InputError("--input-format", value=self.input_format, rule=rule, remedy=remedy)
        if self.page_bytes is not None and not SECTOR_BYTES <= self.page_bytes <= GIB:
            raise InputError("--page-bytes", value=self.page_bytes, rule=f"must be from {SECTOR_BYTES} to {GIB}")
        if self.event is not None and self.event not in _EVENTS:
            raise InputError("--event", value=self.event, rule=f"must be one of {', '.join(_EVENTS)}")


class TraceResult(TypedDict):
    format: str
    rows: int
    left_out: dict[str, int]
    requests: int
    writes: int
    misses: int
    hit_ratio: float


@dataclass
class TraceReader:
    """A trace; after `chunks` have ended, `title`, `rows`, `writes` (of pages), `left_out` and `devices` say what was read."""

    path: Path
    options: TraceOptions = field(default_factory=TraceOptions)
    title: str = ""
    rows: int = 0
    writes: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    devices: dict[str, int] = field(default_factory=dict)
    objects: bool = False
    format: str = ""
    behind_a_cache: bool = False

    def chunks(self) -> Iterator[Requests]:
        """Yield the requests in order, some million at a time."""
        self.rows, self.writes, self.left_out = 0, 0, {}
        try:
            with opened(self.path) as content:
                yield from self._chunks(content)
        except FileNotFoundError:
            raise InputError(short(self.path), rule="no such file") from None
        except (OSError, pa.ArrowException) as error:
            rule = f"cannot be read: {getattr(error, 'strerror', None) or error}"
            raise InputError(short(self.path), rule=rule, remedy=WHOLE) from error
        if not self.rows:
            if self.left_out.keys() & {"other_device"}:
                rule = f"the trace has {', '.join(list(self.devices)[:20]) or 'no devices'}"
                raise InputError("--device", value=self.options.device, rule=rule, remedy=suggesting(self.options.device, self.devices))
            raise self.fault("holds no request" if not self.left_out else f"no request is left: {_counts(self.left_out)} left out")

    def fault(self, rule: str, **at: Any) -> InputError:
        remedy = f"name a whole file in one of the formats {', '.join(formats.NAMES)} (--input-format overrides what the content says)"
        line = at.pop("line", None)
        return InputError(short(self.path) + (f" line {line}" if line else ""), rule=rule, remedy=remedy, **at)

    def _chunks(self, content: Content) -> Iterator[Requests]:
        name = self.format = self._format(content.head())
        if name in {PARQUET, ORACLE}:
            self.title = {PARQUET: "tierwise Parquet", ORACLE: "libCacheSim oracleGeneral"}[name]
            self._check_units(objects=name == ORACLE, blocks=False)
            yield from self._parquet(content) if name == PARQUET else self._oracle(content)
            return
        known = TEXTS[name]
        self.title = known.title
        self._check_units(objects=known.units is None, blocks=name == "blkparse")
        before = 0
        for part in self._whole_lines(content):
            text = part if before else self._without_header(part, known)
            fields = Fields(text, commas=known.commas, most=len(known.names))
            columns = formats.READERS[name](fields, self._device, self.options.event or formats.DEFAULT_EVENT)
            self._settle(known, fields, columns, before)
            if self.options.timed:
                columns = columns._replace(time=fields.decimals(self._clock(known)))
            yield from self._requests(columns, known.units, before)
            before += len(fields) - 1

    def _format(self, head: bytes) -> str:
        whole = len(head) < HEAD_BYTES
        found, wanted = formats.recognised(head, whole=whole), self.options.input_format
        if wanted == formats.FIO:
            wanted = "fio2" if found != "fio3" else found
        if wanted or found:
            return wanted or str(found)
        lines = formats.lines_of(head, whole=whole)
        if not lines:
            raise self.fault("holds no request")
        printable = lines[0][:80].isprintable() and "\ufffd" not in lines[0]
        shown = {"field": "first line", "value": lines[0][:80]} if printable else {}
        raise self.fault("is no trace of a known format", **shown)

    def _check_units(self, *, objects: bool, blocks: bool) -> None:
        self.objects = objects
        if objects and self.options.page_bytes is not None:
            raise InputError("--page-bytes", value=self.options.page_bytes, rule=f"{self.title}: an object is one page, whatever its size")
        if self.options.event is not None and not blocks:
            raise InputError("--event", value=self.options.event, rule=f"{self.title} has no events; they are blkparse's")

    def _clock(self, known: formats.TextFormat) -> int:
        if known.time is None:
            raise InputError(short(self.path), field="times", value=known.title, rule="this format has none", remedy="leave out --by-time")
        return known.time

    def _device(self, name: str) -> int:
        return self.devices.setdefault(name, len(self.devices)) if name else 0

    def _whole_lines(self, content: BinaryIO) -> Iterator[Bytes]:
        rest = b""
        while part := content.read(_READ_BYTES):
            *whole, rest = (rest + part).rpartition(b"\n")
            if len(rest) > _READ_BYTES:
                raise self.fault(f"a line is longer than {_READ_BYTES} bytes")
            if text := b"".join(whole):
                yield np.frombuffer(text, np.uint8)
        if rest:
            yield np.frombuffer(rest, np.uint8)

    def _without_header(self, text: Bytes, known: formats.TextFormat) -> Bytes:
        """Return `text`, blank where its first line names the fields or the format, which is counted as left out."""
        found = re.match(rb"(?:[ \t\r]*\n|#[^\n]*\n)*([^\n]*)", text.tobytes()[:HEAD_BYTES])
        line = found[1] if found else b""
        names = known.commas and line.count(b",") + 1 >= known.least and not re.search(rb"(?:^|,)\s*\d", line)
        if not found or not (names or line.lstrip().startswith(b"fio version")):
            return text
        blank = text.copy()
        blank[slice(*found.span(1))] = ord(" ")
        self.left_out["header"] = 1
        return blank

    def _settle(self, known: formats.TextFormat, fields: Fields, columns: formats.Columns, before: int) -> None:
        kind, counts = columns.kind, fields.counts
        filled = counts > 0
        comment = filled & (fields.text[np.minimum(fields.first[0], len(fields.text) - 1)] == ord("#"))
        kind[comment] = formats.COMMENT
        wanted = filled & ((kind <= formats.WRITE) | (kind == formats.MALFORMED))
        bad = wanted & ((kind == formats.MALFORMED) | (counts < known.least) | ((counts > known.most) if known.most else False))
        for good in columns.good.values():
            bad |= wanted & ~good
        if bad.any():
            raise self._malformed(known, fields, columns, int(np.argmax(bad)), before)
        kind[~filled] = formats.MALFORMED
        self._count_left_out(kind)

    def _count_left_out(self, kind: Ints) -> None:
        for code, count in enumerate(np.bincount(kind)):
            if count and code in formats.LEFT_OUT:
                self.left_out[formats.LEFT_OUT[code]] = self.left_out.get(formats.LEFT_OUT[code], 0) + int(count)

    def _malformed(self, known: formats.TextFormat, fields: Fields, columns: formats.Columns, row: int, before: int) -> InputError:
        line, count = before + row + 1, int(fields.counts[row])
        if count < known.least or (known.most and count > known.most):
            text = fields.line(row).decode("utf-8", "replace").strip()[:80]
            return self.fault(f"{known.title} has {known.least} fields, not {count}: {' '.join(known.names)}", line=line, value=text)
        for column, good in columns.good.items():
            if not good[row]:
                rule = f"{known.title} needs a whole number here" + (" of 1 or more" if known.names[column] == "blocks" else "")
                return self.fault(rule, line=line, field=known.names[column], value=fields.word(column, row)[:80])
        text = fields.line(row).decode("utf-8", "replace").strip()[:80]
        return self.fault(f"{known.title} has no such operation", line=line, value=text)

    def _requests(self, columns: formats.Columns, units: tuple[int, int] | None, before: int = 0) -> Iterator[Requests]:
        kind = self._selected(columns)
        rows = np.flatnonzero((kind == formats.READ) | (kind == formats.WRITE))
        start, size, device = columns.start[rows], columns.size[rows], columns.device[rows]
        writes = kind[rows] == formats.WRITE
        self.rows += len(rows)
        times = None if columns.time is None else columns.time[rows]
        rings = None if columns.ring is None else columns.ring[rows]
        if units is None:
            self.writes += int(writes.sum())
            yield Requests(start, writes, times, rings)
            return
        page_bytes = self.options.page_bytes or PAGE_BYTES
        first, blocks, beyond = pages_of(start, size, units, page_bytes)
        if beyond.any():
            at = int(np.argmax(beyond))
            rule = f"a request has at most {MOST_REQUEST_BYTES} bytes, and ends before page 2^{PAGE_BITS}"
            raise self.fault(rule, line=before + int(rows[at]) + 1, field="start and size", value=(int(start[at]), int(size[at])))
        self.writes += int(blocks[writes].sum())
        yield from single_pages(Requests(first + (device << PAGE_BITS), writes, times, rings), blocks)

    def _selected(self, columns: formats.Columns) -> Ints:
        before = columns.kind
        kind, request = before.copy(), before <= formats.WRITE
        kind[request & (columns.size == 0)] = formats.NO_DATA
        if wanted := self.options.device:
            numbers = [number for name, number in self.devices.items() if wanted in {name, name.rpartition(".")[2]}]
            kind[request & ~np.isin(columns.device, numbers)] = formats.OTHER_DEVICE
        if self.options.reads_only:
            kind[kind == formats.WRITE] = formats.WRITES
        self._count_left_out(kind[kind != before])
        return kind

    def _oracle(self, content: Content) -> Iterator[Requests]:
        size = formats.ORACLE_RECORD.itemsize
        while part := content.read(_READ_BYTES // size * size):
            if len(part) % size:
                raise self.fault(f"records have {size} bytes, the last one has {len(part) % size}")
            records = np.frombuffer(part, formats.ORACLE_RECORD)
            none = np.zeros(len(records), np.int64)
            columns = formats.Columns(none, records["id"].copy(), none + 1, none, {}, records["time"].astype(np.float64))
            yield from self._requests(columns, None)

    def _parquet(self, content: Content) -> Iterator[Requests]:
        with content.seekable_file() as whole:
            file = pq.ParquetFile(whole)
            for name in _COLUMNS:
                if name not in file.schema_arrow.names:
                    raise self.fault(f"the column {name} is missing", field="columns", value=file.schema_arrow.names[:8])
            self.behind_a_cache = (file.metadata.metadata or {}).get(_REQUESTS[0]) != _REQUESTS[1]
            others = [name for name in ("operation", "time_s", "ring") if name in file.schema_arrow.names]
            if self.options.timed and "time_s" not in others:
                raise InputError(short(self.path), field="time_s", rule="the column is missing", remedy="leave out --by-time")
            for batch in file.iter_batches(columns=[*_COLUMNS, *others]):
                yield from self._requests(self._columns(batch), (PAGE_BYTES, 1))

    def _columns(self, batch: pa.RecordBatch) -> formats.Columns:
        page, size = (pc.fill_null(batch[name].cast(pa.int64()), 0).to_numpy() for name in ("page", "size_bytes"))
        relation = pc.fill_null(batch["relation"].cast(pa.string()), "unknown").dictionary_encode()
        numbers = np.array([self._device(name) for name in relation.dictionary.to_pylist()], np.int64)
        kind = np.zeros(len(page), np.int64)
        if "operation" in batch.schema.names:
            operation = pc.fill_null(batch["operation"].cast(pa.string()), "")
            for code, name in enumerate(("read", "write")):
                kind[pc.equal(operation, name).to_numpy(zero_copy_only=False)] = code
            kind[~pc.is_in(operation, pa.array(["read", "write"])).to_numpy(zero_copy_only=False)] = formats.NO_DATA
        kind[batch["page"].is_null().to_numpy(zero_copy_only=False)] = formats.NO_DATA
        self._count_left_out(kind)
        times = batch["time_s"].cast(pa.float64()).to_numpy(zero_copy_only=False) if self.options.timed else None
        ring = batch["ring"].to_numpy(zero_copy_only=False) if "ring" in batch.schema.names else None
        return formats.Columns(kind, page, size, numbers[relation.indices.to_numpy()], {}, times, ring)


def simulate_trace(path: Path, pages: int, policy: str = "lru", options: TraceOptions | None = None) -> TraceResult:
    """Replay the trace `path` through an empty cache of `pages` pages, as a stream that is read twice or three times."""
    if policy not in POLICIES:
        raise InputError("--policy", value=policy, rule=f"must be one of {', '.join(POLICIES)}", remedy=suggesting(policy, POLICIES))
    if pages < 1:
        raise InputError("--pages", value=pages, rule="must be 1 or more")
    reader = TraceReader(path, options or TraceOptions())
    result = replay_stream(lambda: (chunk.pages for chunk in reader.chunks()), pages, policy)
    return {
        "format": reader.title,
        "rows": reader.rows,
        "left_out": reader.left_out,
        "requests": result.requests,
        "writes": reader.writes,
        "misses": result.misses,
        "hit_ratio": result.hit_ratio,
    }


def as_text(found: TraceResult) -> str:
    return render("simulate/text/trace.txt", found=found, reasons=_counts(found["left_out"]))


def _counts(left_out: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {reason.replace('_', ' ')}" for reason, count in left_out.items())
