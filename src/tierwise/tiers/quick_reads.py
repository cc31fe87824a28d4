"""Reads that wait for no device and no disk, answered by compiled code; whatever is not such a read is left to Python, which can do it all.

It takes half a second to import, and on a new machine a second more to compile, so a mount does that after many slow reads.
"""

import os
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numba import types
from numpy.typing import NDArray

from tierwise.core.compiled import Ints, compiled
from tierwise.devices.protocol import Operation
from tierwise.tiers import fuse_abi as abi
from tierwise.tiers.fuse_abi import Opcode
from tierwise.tiers.meter import COLUMNS, LOG_REQUESTS, RECORD, Counters, RequestLog
from tierwise.tiers.nodes import EXTENT_BYTES, Nodes

_AT_ONCE: Final = 16  # reads answered before the loop looks for anything else: they take as long as six in Python

_EXTENTS: Final = 1 << 12  # extents that are known at a time: of 64 GiB

_KNOWN: Final = np.dtype(
    [("node", "i8"), ("number", "i8"), ("start_bytes", "i8"), ("reads", "i8"), ("read_bytes", "i8"), ("actual_s", "f8")]
)
"""An extent of a file: the node's id, the extent's number in the file, its place on the device, and reads since they were handed in."""

_LOGGED: Final = np.dtype(
    {"names": list(COLUMNS)[:-1], "formats": list(COLUMNS.values())[:-1], "itemsize": RECORD.size}  # numba knows no padding
)

_HEADER_WORDS: Final = abi.IN_HEADER.size // 8
_OUT_BYTES: Final = abi.OUT_HEADER.size
_READ, _READING = int(Opcode.READ), int(Operation.READ)
_CACHED_ONLY: Final = os.RWF_NOWAIT
_MONOTONIC: Final = 1

# Of the C library, by their names in this process; an address is a number.
_read: Callable[..., int] = types.ExternalFunction("read", types.intp(types.intc, types.intp, types.intp))
_write: Callable[..., int] = types.ExternalFunction("write", types.intp(types.intc, types.intp, types.intp))
_preadv2: Callable[..., int] = types.ExternalFunction("preadv2", types.intp(types.intc, types.intp, types.intc, types.int64, types.intc))
_clock_gettime: Callable[..., int] = types.ExternalFunction("clock_gettime", types.intc(types.intc, types.intp))


class QuickReads:
    """The quick reads of one mount: `message` takes what the kernel asks at `fuse`, `page` what is read, behind space for a header."""

    def __init__(self, fuse: int, message: memoryview, page: memoryview, log: RequestLog, nodes: Nodes):
        self._nodes = nodes
        self._known = np.zeros(_EXTENTS, _KNOWN)
        self._message = np.frombuffer(message, np.int64)
        self._answer = np.frombuffer(page, np.int64)
        self._vector, self._spent = np.zeros(2, np.int64), np.zeros(2, np.int64)
        ring, logged = np.frombuffer(log.ring, _LOGGED), np.frombuffer(log.logged, np.int64)
        self._tables = self._message, self._answer, self._vector, self._spent, self._known, ring, logged
        places = [table.ctypes.data for table in self._tables[:4]]
        self._places = np.array([fuse, len(message), *places], np.int64)
        nodes.hand_in = self._hand_in
        before = os.umask(0o022)  # machine code that is kept now is run by whoever finds it, and a daemon has no umask
        try:
            answered(self._places[:0], *self._tables, 0.0, 0.0)
        finally:
            os.umask(before)

    def take(self, path_s: float, way_s: float) -> int:
        """Answer quick reads; return the length of a message that is none and is left in the buffer, 0: no message, -1: maybe more."""
        return answered(self._places, *self._tables, path_s, way_s)

    def learn(self, node: int, offset_bytes: int, address_bytes: int) -> None:
        """Remember where the extent of `offset_bytes` lies, for good: no extent moves, and no node's number is used again."""
        number, rest = divmod(offset_bytes, EXTENT_BYTES)
        at = _place(node, number)
        if self._known[at]["reads"]:
            self._hand_in()
        self._known[at] = (node, number, address_bytes - rest, 0, 0, 0.0)

    def _hand_in(self) -> None:
        for at in np.flatnonzero(self._known["reads"]):
            row, counted = self._known[at], Counters()
            counted.used = counted.reads = int(row["reads"])
            counted.read_bytes, counted.actual_s = int(row["read_bytes"]), float(row["actual_s"])
            self._nodes.by_id[int(row["node"])].io.add(counted)
            self._known[at] = (*row.tolist()[:3], 0, 0, 0.0)


@compiled
def _place(node: int, number: int) -> int:
    return (node * 2654435761 + number) & (_EXTENTS - 1)


@compiled
def _now_s(spent: Ints, spent_at: int) -> float:
    _clock_gettime(_MONOTONIC, spent_at)
    return float(spent[0] + spent[1] * 1e-9)


@compiled
def answered(  # noqa: PLR0917  numba knows no objects
    places: Ints,
    message: Ints,
    answer: Ints,
    vector: Ints,
    spent: Ints,
    known: NDArray[Any],
    ring: NDArray[Any],
    logged: Ints,
    path_s: float,
    way_s: float,
) -> int:
    """Do what `QuickReads.take` says. `places`: the descriptor, a message's most bytes, the addresses of four tables; empty: do nothing."""
    if not len(places):
        return 0
    fuse, most_bytes, message_at, answer_at, vector_at, spent_at = places
    for _ in range(_AT_ONCE):
        length = max(0, _read(fuse, message_at, most_bytes))
        if length == 0 or message[0] >> 32 != _READ:
            return length
        read_s = _now_s(spent, spent_at)
        node, handle, offset, size = message[2], message[_HEADER_WORDS], message[_HEADER_WORDS + 1], message[_HEADER_WORDS + 2] & 0xFFFFFFFF
        number, rest = offset // EXTENT_BYTES, offset % EXTENT_BYTES
        extent = known[_place(node, number)]
        vector[0], vector[1] = answer_at + _OUT_BYTES, size
        unknown = extent.node != node or extent.number != number or size == 0
        if unknown or _preadv2(handle, vector_at, 1, offset, _CACHED_ONLY) != size:
            return length
        now_s = _now_s(spent, spent_at)
        answer[0], answer[1] = _OUT_BYTES + size, message[1]
        if _write(fuse, answer_at, _OUT_BYTES + size) < 0:
            return length
        actual_s = now_s - read_s + way_s
        extent.reads += 1
        extent.read_bytes += size
        extent.actual_s += actual_s
        record = ring[logged[0] % LOG_REQUESTS]
        record.time_s, record.offset_bytes, record.address_bytes = read_s - path_s, offset, extent.start_bytes + rest
        record.file, record.size_bytes, record.intended_s, record.actual_s, record.operation = node, size, 0.0, actual_s, _READING
        logged[0] += 1
    return -1
