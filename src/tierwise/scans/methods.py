"""The three scans as processes that read, and as processor time where everything is in shared buffers."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from tierwise.core.units import MIB, PAGE_BYTES
from tierwise.devices.protocol import DeviceModel
from tierwise.scans.kernel import CachedFile, Clock, Event, KernelCosts, OpenFile, Process, Relation, Run
from tierwise.scans.processor import IoMethod, Processor, ScanMethod
from tierwise.scans.rows import Floats, Ints, Table, touched_pages
from tierwise.scans.stream import Reads, Stream

LEAF_ROWS: Final = 367  # rows that a page of a new B-tree points to: 20 bytes each for a key of at most 8, in 90 % of 8,152 bytes
INNER_ROWS: Final = 300  # pages that one above them points to
EXTENT_BYTES: Final = 16 * MIB  # a file begins at a multiple of this


@dataclass(frozen=True, slots=True)
class Server:
    io_method: IoMethod
    io_workers: int
    effective_io_concurrency: int
    processor: Processor
    lossy: float = 0.0  # share of a bitmap's pages of which it no longer knows the rows (`lossy_share`)
    processors: float = math.inf

    def reads(self) -> Reads:
        """Return how the server reads, and what asking for a read, handing it on and waking up cost the processor, in seconds."""
        reading, speed = self.processor.reading, self.processor.speed.value
        costs_s = (cost.base / speed for cost in (reading.ask, reading.hand, reading.wake))
        return Reads(self.io_method, self.io_workers, self.effective_io_concurrency, *costs_s)

    def kernel(self, *, fresh: bool) -> KernelCosts:
        """Return what the kernel's part of reading a file costs, in seconds; only a large sequential scan reuses buffers (not `fresh`)."""
        reading, speed = self.processor.reading, self.processor.speed.value
        copy_s = reading.copying.base + (reading.fresh.base if fresh else 0.0)
        costs_s = (reading.call.base, copy_s, reading.check.base, reading.request.base, reading.fill.base)
        return KernelCosts(*(cost_s / speed for cost_s in costs_s))


def index_row_costs(pages: Ints, processor: Processor) -> Floats:
    """Return seconds of the processor for each row of an index scan that finds its rows on `pages`, one after the other."""
    costs, speed = processor.index, processor.speed.value
    step = np.diff(pages, prepend=-2)
    return np.asarray(costs.row.base + np.select([step == 0, step == 1], [0.0, costs.page.base], costs.jump.base)) / speed


def page_s(table: Table, method: ScanMethod, server: Server) -> float:
    speed, rows = server.processor.speed.value, table.rows / table.pages
    if method is ScanMethod.SEQUENTIAL:
        costs = server.processor.sequential
        return (costs.page.base + rows * (costs.row.base + table.selectivity * costs.match.base)) / speed
    bitmap, matched = server.processor.bitmap, table.matched / max(1.0, touched_pages(table))
    return (bitmap.page.base + matched * bitmap.row.base + server.lossy * max(0.0, rows - matched) * bitmap.outside.base) / speed


def warm_s(table: Table, method: ScanMethod, server: Server, pages: Ints) -> float:
    """Return the seconds of the scan where everything is in shared buffers; `pages`: those of the range's rows, in the column's order."""
    if method is ScanMethod.INDEX:
        return float(index_row_costs(pages, server.processor).sum())
    read = table.pages if method is ScanMethod.SEQUENTIAL else touched_pages(table)
    return read * page_s(table, method, server)


class ColdScan:
    """One scan with nothing in memory, of a table at the beginning of `device` and its index behind it."""

    def __init__(self, table: Table, device: DeviceModel, server: Server):
        self._table, self._server = table, server
        self._clock = Clock(device, server.processors)
        leaves = math.ceil(table.rows / LEAF_ROWS)
        index_at = math.ceil((table.pages + 1) * PAGE_BYTES / EXTENT_BYTES) * EXTENT_BYTES
        self._leaves = self._relation(leaves + 1, index_at)
        self._index = OpenFile(self._leaves.file)
        self._ask_s = server.reads().ask_s

    def run_s(self, method: ScanMethod, pages: Ints) -> float:
        done = Event()

        def to_the_end() -> Process:
            yield from self._scan(method, pages)
            self._clock.happen(done)

        self._clock.start(to_the_end())
        return self._clock.run(done)

    @property
    def device_wait_s(self) -> float:
        """Return the seconds of the scan in which nobody computes, because everybody waits for the device."""
        return self._clock.device_wait_s

    def _relation(self, pages: int, address_bytes: int, *, fresh: bool = True) -> Relation:
        return Relation(self._clock, self._server.kernel(fresh=fresh), CachedFile(pages), address_bytes)

    def _scan(self, method: ScanMethod, pages: Ints) -> Process:
        table = self._table
        if method is ScanMethod.INDEX:
            return self._by_index(pages)
        sequential = method is ScanMethod.SEQUENTIAL
        relation = self._relation(table.pages, 0, fresh=not sequential)
        stream = Stream(self._clock, relation, self._server.reads(), sequential=sequential)
        if sequential:
            return stream.scan(iter(range(table.pages)), page_s(table, method, self._server))
        return self._by_bitmap(stream, iter(np.unique(pages).tolist()))

    def _by_bitmap(self, stream: Stream, pages: Iterator[int]) -> Process:
        yield from self._descend()
        for leaf in self._leaves_wanted():
            yield self._ask_s
            yield from self._leaves.read(self._index, Run(leaf, 1))
        yield from stream.scan(pages, page_s(self._table, ScanMethod.BITMAP, self._server))

    def _by_index(self, pages: Ints) -> Process:
        table = self._relation(self._table.pages, 0)
        opened = OpenFile(table.file)
        passed_s = np.concatenate([[0.0], index_row_costs(pages, self._server.processor).cumsum()])
        first_rows = np.sort(np.unique(pages, return_index=True)[1])
        leaves = self._leaves_wanted()
        turns = np.arange(len(leaves)) * LEAF_ROWS
        yield from self._descend()
        at = 0
        rows = [(row, 0, leaf) for row, leaf in zip(turns.tolist(), leaves, strict=True) if row < max(1, len(pages))]
        rows += [(row, 1, page) for row, page in zip(first_rows.tolist(), pages[first_rows].tolist(), strict=True)]
        for row, kind, page in sorted(rows):
            yield float(passed_s[row] - passed_s[at]) + self._ask_s
            at = row
            relation, by = (table, opened) if kind else (self._leaves, self._index)
            yield from relation.read(by, Run(page, 1))
        yield float(passed_s[-1] - passed_s[at])

    def _descend(self) -> Process:
        """Read from the root to above the leaves: pages anywhere, each known by the one before, the lowest alone in the index's file."""
        above = math.ceil(self._table.rows / LEAF_ROWS)
        while above > 1:
            above = math.ceil(above / INNER_ROWS)
            inner = self._relation(above + 1, self._leaves.address_bytes + self._leaves.file.pages * PAGE_BYTES)
            yield from inner.read(OpenFile(inner.file), Run(above // 2 + 1 if above > 1 else 1, 1))

    def _leaves_wanted(self) -> range:
        first = 1 + self._table.first // LEAF_ROWS
        return range(first, max(first, math.ceil((self._table.first + self._table.matched) / LEAF_ROWS)) + 1)
