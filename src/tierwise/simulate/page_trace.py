"""Page traces in the format of the ARC paper: ``start blocks x request`` a line, plain or packed.

Megiddo and Modha, ARC: a self-tuning, low overhead replacement cache, FAST 2003. A line reads `blocks` pages from page `start` on; the
other two numbers are not used. Empty lines are skipped.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypedDict

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tierwise.core.compiled import Ints, compiled
from tierwise.core.errors import InputError, suggesting
from tierwise.core.paths import short
from tierwise.core.units import MIB
from tierwise.simulate.page_cache import POLICIES, replay_stream

_CODECS: Final = {".zst": "zstd", ".gz": "gzip", ".bz2": "bz2"}
_FIELDS: Final = ("start", "blocks", "x", "request")
_MOST_DIGITS: Final = 15
_MOST_BLOCKS: Final = 2**24
_CHUNK_PAGES: Final = 2**22
_REMEDY: Final = "write one request per line, as four numbers: start blocks x request"


class TraceResult(TypedDict):
    requests: int
    misses: int
    hit_ratio: float


def simulate_trace(path: Path, pages: int, policy: str = "lru") -> TraceResult:
    """Replay the trace `path` through a cache of `pages` pages, empty at first; every page of a line is one request.

    The file is read as a stream, twice or three times: memory is taken by pages, not by requests.
    """
    if policy not in POLICIES:
        raise InputError("--policy", value=policy, rule=f"must be one of {', '.join(POLICIES)}", remedy=suggesting(policy, POLICIES))
    if pages < 1:
        raise InputError("--pages", value=pages, rule="must be 1 or more")
    result = replay_stream(lambda: page_chunks(path), pages, policy)
    return {"requests": result.requests, "misses": result.misses, "hit_ratio": result.hit_ratio}


def read_page_trace(path: Path) -> Ints:
    return np.concatenate(list(page_chunks(path)))


def page_chunks(path: Path) -> Iterator[Ints]:
    """Yield the page numbers of `path`, in order: some million at a time."""
    lines = count = 0
    for text in _whole_lines(_unpacked(path)):
        requests = np.empty((np.count_nonzero(text == ord("\n")) + 1, 2), np.int64)
        found, broken = _parse(text, requests)
        if broken >= 0:
            raise _fault(text, broken, short(path), lines)
        lines, count = lines + len(requests) - 1, count + found
        until = np.cumsum(requests[:found, 1])
        begin = 0
        while begin < found:
            end = max(begin + 1, int(np.searchsorted(until, (until[begin - 1] if begin else 0) + _CHUNK_PAGES, side="right")))
            starts, blocks = requests[begin:end].T
            # The pages are counted through, from each request's start on.
            yield np.arange(blocks.sum()) + np.repeat(starts + blocks - blocks.cumsum(), blocks)
            begin = end
    if not count:
        raise InputError(short(path), rule="holds no request", remedy=_REMEDY)


def _whole_lines(parts: Iterator[bytes]) -> Iterator[NDArray[np.uint8]]:
    rest = b""
    for part in parts:
        *whole, rest = (rest + part).rpartition(b"\n")
        yield np.frombuffer(b"".join(whole), np.uint8)
    yield np.frombuffer(rest, np.uint8)


def _unpacked(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as raw:
            codec = _CODECS.get(path.suffix)
            content = pa.CompressedInputStream(raw, codec) if codec else raw
            while part := content.read(16 * MIB):
                yield part
    except FileNotFoundError:
        raise InputError(short(path), rule="no such file") from None
    except OSError as error:  # pyarrow's own are of this kind
        raise InputError(short(path), rule=f"cannot be read: {error.strerror or error}", remedy="name a file that is complete") from error


@compiled
def _parse(text: NDArray[np.uint8], requests: Ints) -> tuple[int, int]:
    """Fill `requests` with (start, blocks); returns how many, and where the first malformed line begins, or -1."""
    count, at, size = 0, 0, len(text)
    while at < size:
        line, fields, faults = at, 0, 0
        while at < size and text[at] != 10:
            if text[at] == 32 or text[at] == 9 or text[at] == 13:
                at += 1
                continue
            begin, number = at, np.int64(0)
            while at < size and 48 <= text[at] <= 57:
                number = number * 10 + np.int64(text[at] - 48)
                at += 1
            faults += fields > 3 or not 0 < at - begin <= _MOST_DIGITS or (fields == 1 and not 1 <= number <= _MOST_BLOCKS)
            if not faults and fields < 2:
                requests[count, fields] = number
            fields += 1
            if at < size and text[at] != 32 and text[at] != 9 and text[at] != 13 and text[at] != 10:  # the field goes on
                faults += 1
                at += 1
        at += 1
        if fields and (fields != 4 or faults):
            return count, line
        count += fields > 0
    return count, -1


def _fault(text: NDArray[np.uint8], begin: int, where: str, lines: int) -> InputError:
    line = text[begin : begin + 4096].tobytes().split(b"\n")[0].decode("ascii", "replace")
    where = f"{where} line {lines + np.count_nonzero(text[:begin] == 10) + 1}"
    fields = [field for field in re.split("[ \t\r]", line) if field]
    if len(fields) != len(_FIELDS):
        return InputError(where, value=line[:80], rule=f"must have four fields, not {len(fields)}", remedy=_REMEDY)
    for name, field in zip(_FIELDS, fields, strict=True):
        if not (field.isascii() and field.isdigit()) or len(field) > _MOST_DIGITS:
            rule = f"must be a whole number of zero or more, of at most {_MOST_DIGITS} digits"
            return InputError(where, field=name, value=field[:80], rule=rule, remedy=_REMEDY)
    return InputError(where, field="blocks", value=fields[1], rule=f"must be from 1 to {_MOST_BLOCKS}", remedy=_REMEDY)
