"""The forms in which others keep traces, and how a file is known for one of them: by its content, never by its name."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from tierwise.core.compiled import Floats, Ints
from tierwise.core.toml import Strict, read_table, validate
from tierwise.core.units import GIB
from tierwise.simulate.trace_fields import Fields, Flags

READ, WRITE, NO_DATA, OTHER_EVENT, SUMMARY, COMMENT, OTHER_DEVICE, WRITES, MALFORMED = range(9)
"""What a row is: a request, or why it is left out."""
LEFT_OUT: Final = {
    NO_DATA: "no_data",
    OTHER_EVENT: "other_event",
    SUMMARY: "summary",
    COMMENT: "comment",
    OTHER_DEVICE: "other_device",
    WRITES: "write",
}
DEFAULT_EVENT: Final = "Q"
_SAMPLE_LINES: Final = 200

DeviceNumber = Callable[[str], int]
Reader = Callable[[Fields, DeviceNumber, str], "Columns"]


class Columns(NamedTuple):
    """What the lines of a text say: kind of row, place and size in the format's units, device; `bad` marks what is no value, by field."""

    kind: Ints
    start: Ints
    size: Ints
    device: Ints
    good: dict[int, Flags]
    time: Floats | None = None
    ring: Flags | None = None


class TextFormat(Strict):
    """A text with a request a line, an entry of ``trace_formats.toml``, which describes the fields."""

    title: str
    line: str = ""
    names: tuple[str, ...]
    units: tuple[int, int] | None = None
    commas: bool = False
    least: int = 0
    most: int = 0
    time: int | None = None

    def known(self, line: str) -> bool:
        return re.fullmatch(self.line, line, re.IGNORECASE) is not None


def _kinds(fields: Fields, column: int, reads: str, writes: str, without: str = "") -> Ints:
    words = dict.fromkeys(reads.split(), READ) | dict.fromkeys(writes.split(), WRITE) | dict.fromkeys(without.split(), NO_DATA)
    return fields.meanings(column, lambda word: words.get(word.lower(), MALFORMED))


def _constant(fields: Fields, value: int = 0) -> Ints:
    return np.full(len(fields), value, np.int64)


def _arc(fields: Fields, _: DeviceNumber, __: str) -> Columns:
    (start, good), (size, fine) = fields.whole(0), fields.whole(1)
    others = {column: fields.whole(column)[1] for column in (2, 3)}
    return Columns(_constant(fields, READ), start, size, _constant(fields), {0: good, 1: fine & (size > 0)} | others)


def _placed(start: int, kind: tuple[int, str, str, str], *, device: int = 0, until: int | None = None) -> Reader:
    """Return the reader of a format with a request's place in field `start` and its size in the next; `kind` is of `_kinds`."""

    def read(fields: Fields, number: DeviceNumber, _: str) -> Columns:
        (place, good), (size, fine) = fields.whole(start), fields.whole(start + 1)
        of_host = (lambda word: number(word.replace(",", "."))) if until else number  # hosts number their disks alike
        return Columns(_kinds(fields, *kind), place, size, fields.meanings(device, of_host, until=until), {start: good, start + 1: fine})

    return read


def _blkparse(fields: Fields, device: DeviceNumber, event: str) -> Columns:
    number = re.compile(r"\d+,\d+")
    devices = fields.meanings(0, lambda word: device(word) if number.fullmatch(word) else -1)
    events = fields.meanings(5, lambda word: word == event)
    data = fields.meanings(8, lambda word: word == "+")
    (start, good), (size, fine) = fields.whole(7), fields.whole(9)
    kind = np.where(data == 1, fields.meanings(6, _operation), NO_DATA)
    kind = np.where(devices < 0, SUMMARY, np.where(events == 1, kind, OTHER_EVENT))
    return Columns(kind, start, size, np.maximum(devices, 0), {7: good, 9: fine})


def _operation(flags: str) -> int:
    """Return what blkparse's letters mean: a discard has D, a flush before the data F."""
    letters = flags.removeprefix("F")
    return NO_DATA if letters.startswith("D") else READ if "R" in letters else WRITE if "W" in letters else NO_DATA


def _twitter(fields: Fields, _: DeviceNumber, __: str) -> Columns:
    kind = _kinds(fields, 5, "get gets", "set add replace cas append prepend delete incr decr")
    return Columns(kind, fields.hashes(1), _constant(fields, 1), _constant(fields), {0: fields.whole(0)[1], 3: fields.whole(3)[1]})


def _lrb(fields: Fields, _: DeviceNumber, __: str) -> Columns:
    good = {column: fields.whole(column)[1] for column in (0, 2)}
    return Columns(_constant(fields, READ), fields.hashes(1), _constant(fields, 1), _constant(fields), good)


_FIO: Final = ("read", "write", "add open close wait sync datasync trim")
READERS: Final[dict[str, Reader]] = {
    "arc": _arc,
    "fio2": _placed(2, (1, *_FIO)),
    "fio3": _placed(3, (2, *_FIO), device=1),
    "msr": _placed(4, (3, "read", "write", ""), device=1, until=2),
    "alibaba": _placed(2, (1, "r", "w", "")),
    "spc": _placed(1, (3, "r", "w", "")),
    "blkparse": _blkparse,
    "twitter": _twitter,
    "lrb": _lrb,
}
_FILE: Final = Path(__file__).with_suffix(".toml")
TEXTS: Final = validate(read_table(_FILE), dict[str, TextFormat], where=_FILE.name)
PARQUET, ORACLE, FIO = "parquet", "oracle", "fio"
NAMES: Final = (*dict.fromkeys(name.rstrip("23") for name in TEXTS), ORACLE, PARQUET)  # what ``--input-format`` takes
ORACLE_RECORD: Final = np.dtype([("time", "<u4"), ("id", "<i8"), ("size", "<u4"), ("next", "<i8")])
"""A record of libCacheSim's oracleGeneral: the last is when the object is requested next, counted in requests."""
_NEVER: Final = (-2, -1, 2**63 - 1)
_FARTHEST: Final = 2**40


def recognised(head: bytes, *, whole: bool) -> str | None:
    """Return the name of the format that a file begins in, all of it where `head` is the `whole`; None: of none."""
    if head.startswith(b"PAR1"):
        return PARQUET
    if is_oracle(head, whole=whole):
        return ORACLE
    if b"\0" in head:
        return None
    if version := re.match(rb"\s*fio version (\d+) iolog", head):
        name = f"fio{version[1].decode()}"
        return name if name in TEXTS else None
    sample = lines_of(head, whole=whole)
    matches = {name: sum(map(known.known, sample)) for name, known in TEXTS.items() if known.line}
    best = max(matches, key=lambda name: matches[name])
    if 2 * matches[best] < max(1, len(sample)) or (best == "arc" and not _is_arc(sample)):
        return None
    return best


def lines_of(head: bytes, *, whole: bool) -> list[str]:
    lines = head.decode("utf-8", "replace").split("\n")
    sample = [line.strip() for line in (lines if whole else lines[:-1])]
    return [line for line in sample if line and not line.startswith("#")][:_SAMPLE_LINES]


def _is_arc(sample: list[str]) -> bool:
    """Whether four numbers a line are ARC's: the third is 0 or 1, the request's number never falls."""
    rows = [line.split() for line in sample if TEXTS["arc"].known(line)]
    numbers = [int(row[3]) for row in rows]
    return all(row[2] in {"0", "1"} for row in rows) and numbers == sorted(numbers)


def is_oracle(head: bytes, *, whole: bool) -> bool:
    """Whether records of 24 bytes fit: times never fall, and each next request is later than the record's own, or never."""
    size = ORACLE_RECORD.itemsize
    if len(head) < size or (whole and len(head) % size):
        return False
    records = np.frombuffer(head[: len(head) // size * size], ORACLE_RECORD)
    own, after = np.arange(len(records)), records["next"]
    later = np.isin(after, _NEVER) | ((after > own) & (after < _FARTHEST))
    return bool(np.all(later) and np.all(np.diff(records["time"].astype(np.int64)) >= 0))


PAGE_BITS: Final = 40  # a page number has these bits; above them stands the number of its device
MOST_REQUEST_BYTES: Final = GIB
_CHUNK_PAGES: Final = 2**22


class Requests(NamedTuple):
    """Requests of single pages; the device's number stands above `PAGE_BITS` of a page's. Objects have 64 bits of their own."""

    pages: Ints
    writes: Flags
    times: Floats | None = None  # of the trace's own unit, where they are wanted
    rings: Flags | None = None  # read by one of PostgreSQL's buffer rings, where the trace says so


def pages_of(start: Ints, size: Ints, units: tuple[int, int], page_bytes: int) -> tuple[Ints, Ints, Flags]:
    """Return the first page of each request, how many it has, and which requests lie beyond the limits."""
    start_bytes, size_bytes = units
    if not start_bytes:  # blocks are pages
        first, blocks, bytes_each = start, size, page_bytes
        far = start > (1 << PAGE_BITS) - size
    else:
        bytes_each = size_bytes
        far = (start > (1 << PAGE_BITS) * page_bytes // start_bytes) | (start < 0) | (size < 0)
        begin = np.where(far, 0, start) * start_bytes
        first = begin // page_bytes
        blocks = (begin + np.clip(size, 1, MOST_REQUEST_BYTES) * size_bytes - 1) // page_bytes - first + 1
        far |= first + blocks > 1 << PAGE_BITS
    return first, blocks, far | (size > MOST_REQUEST_BYTES // bytes_each)


def single_pages(requests: Requests, blocks: Ints) -> Iterator[Requests]:
    first, writes, times, rings = requests
    until, begin = np.cumsum(blocks), 0
    while begin < len(first):
        end = max(begin + 1, int(np.searchsorted(until, (until[begin - 1] if begin else 0) + _CHUNK_PAGES, side="right")))
        starts, counts = first[begin:end], blocks[begin:end]
        # The pages are counted through, from each request's start on.
        pages = np.arange(counts.sum()) + np.repeat(starts + counts - counts.cumsum(), counts)
        yield Requests(
            pages,
            np.repeat(writes[begin:end], counts),
            None if times is None else np.repeat(times[begin:end], counts),
            None if rings is None else np.repeat(rings[begin:end], counts),
        )
        begin = end
