"""How the time that transactions wait for reads is divided among relations: by reads times the service time of their place and pattern."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import polars as pl

from tierwise.core.activity import Band
from tierwise.core.units import PAGE_BYTES
from tierwise.postgres.wait_events import READS
from tierwise.watch.causes import Time
from tierwise.watch.sampling import cause
from tierwise.watch.service_times import ANY_DEVICE_S, SCANNED, ServiceTimes
from tierwise.watch.statements import DATABASE, RELATION
from tierwise.watch.totals import Totals

LEAST_PAGES: Final = 100  # reads of each pattern from which the server's own times say how much faster scans are
LEAST_READS: Final = 0.01  # a tablespace with fewer of the reads, such as that of the shared catalogs, is as fast as the others (assumed)
SAME: Final = Band(low=1.0, high=1.0)


@dataclass(frozen=True)
class Part:
    """A relation's weight in the time of reads, what is known of its reads by clients, and how much of it scans fetched."""

    row: dict[str, Any]
    reads: float
    clients: Band
    scanned: float
    weight: Band

    @property
    def middle(self) -> float:
        return math.sqrt(self.weight.low * self.weight.high)

    @property
    def file(self) -> str:
        """The database and file node, as a trace names a file."""
        return "/".join(self.row["path"].split("/")[-2:])


@dataclass(frozen=True)
class Division:
    """What is divided: the seconds of a transaction that wait for reads (None: unknown), by relation."""

    totals: Totals
    time: Time
    read_s: float | None
    service: ServiceTimes

    @cached_property
    def seconds(self) -> float:
        return self.totals.seconds(RELATION)

    @cached_property
    def transactions_per_s(self) -> float:
        return self.time.transactions.high / seconds if (seconds := self.totals.seconds(DATABASE)) else 0.0

    @cached_property
    def depth(self) -> float:
        """How many reads are under way at a time, at least one, by the samples of clients and autovacuum."""
        waits = [self.totals.waits(group) for group in ("clients", "other databases", "autovacuum worker")]
        waiting = sum(weight for one in waits for event, weight in one.items() if cause(event) == READS)
        taken = self.totals.own("taken")
        return max(1.0, waiting / taken) if taken else 1.0

    @cached_property
    def parts(self) -> list[Part]:
        vacuumed = self.totals.relations.filter((pl.col("vacuums") > 0) | (pl.col("analyzes") > 0))
        touched = set(vacuumed.select("database", "relation").iter_rows())
        keys = [{(row["database"], row["relation"]), (row["database"], row["owner"])} for row in self._rows]
        return [self._part(row, cleaned=not touched.isdisjoint(key)) for row, key in zip(self._rows, keys, strict=True)]

    @cached_property
    def _rows(self) -> list[dict[str, Any]]:
        return self.totals.relations.to_dicts()

    @cached_property
    def places(self) -> set[str]:
        """Tablespaces with reads that matter."""
        reads: dict[str, int] = {}
        for row in filter(self.is_ours, self._rows):
            reads[row["tablespace"]] = reads.get(row["tablespace"], 0) + max(0, row["fetched"] - row["hits"])
        return {place for place, read in reads.items() if read > LEAST_READS * sum(reads.values())}

    @cached_property
    def _scans(self) -> Band:
        """What a page of a scan takes over a single read: by the server's own times where it shows both, else a band."""
        found = []
        for context in ("bulkread", "normal"):
            pages = self.totals.io("read_pages", f"^client backend/relation/{context}$")
            seconds = self.totals.io("read_s", f"^client backend/relation/{context}$") if self.totals.timed else None
            found.append(seconds / pages if seconds and pages and pages >= LEAST_PAGES else None)
        scanned, single = found
        if not scanned or not single:
            return SCANNED
        return Band(low=min(1.0, scanned / single), high=min(1.0, scanned / single))

    @cached_property
    def _ends(self) -> tuple[float, float]:
        return sum(part.weight.low for part in self.parts), sum(part.weight.high for part in self.parts)

    def service_s(self, part: Part) -> float | None:
        return self.service.of(part.row["tablespace"], self.depth)

    def is_ours(self, row: dict[str, Any]) -> bool:
        """Return whether a relation is of the database whose transactions are counted; the time of others is unknown."""
        return str(row["database"]) == self.totals.database

    def likely_s(self, part: Part) -> float | None:
        """Return the seconds of a transaction that wait for this relation, each weight at the middle of its band."""
        if not self.is_ours(part.row):
            return None
        every = sum(one.middle for one in self.parts)
        return None if self.read_s is None else self.read_s * part.middle / every if every else 0.0

    def waiting(self, part: Part) -> Band | None:
        """Return the bounds of `likely_s`: its weight at one end of its band, all others at the other."""
        if self.read_s is None or not self.is_ours(part.row):
            return None
        lows, highs = self._ends
        low = part.weight.low / (part.weight.low + highs - part.weight.high) if part.weight.low else 0.0
        high = part.weight.high / (part.weight.high + lows - part.weight.low) if part.weight.high else 0.0
        return Band(low=low * self.read_s, high=high * self.read_s)

    def _part(self, row: dict[str, Any], *, cleaned: bool) -> Part:
        reads = float(max(0, row["fetched"] - row["hits"]))
        theirs = self.totals.io("read_pages", "^autovacuum worker/relation/")
        clients = Band(low=max(0.0, reads - (reads if theirs is None else theirs)) if cleaned else reads, high=reads)
        table = row["kind"] in {"r", "m"} and row["fetched"] > 0
        scanned = min(1.0, row["scans"] * max(row["pages"] or 0, (row["size"] or 0) / PAGE_BYTES) / row["fetched"]) if table else 0.0
        part = Part(row, reads, clients, scanned, SAME)
        return Part(row, reads, clients, scanned, self._weight(part))

    def _weight(self, part: Part) -> Band:
        if not self.is_ours(part.row):
            return Band(low=0.0, high=0.0)
        if self.service.trace is not None:
            seen = self.service.trace.filter(file=part.file)["seconds"].sum() or 0.0
            return Band(low=float(seen), high=float(seen))
        each = self.service_s(part)
        took = Band(low=each, high=each) if each is not None else self._unknown_s(part)
        low, high = ((1 - part.scanned) + part.scanned * edge for edge in (self._scans.low, self._scans.high))
        return Band(low=part.clients.low * took.low * low, high=part.clients.high * took.high * high)

    def _unknown_s(self, part: Part) -> Band:
        """Return the seconds of a read on a tablespace without a service time; where none has one, a weight alone."""
        others = [each for place in self.places if (each := self.service.of(place, self.depth)) is not None]
        if others and part.row["tablespace"] not in self.places:
            return Band(low=min(others), high=max(others))
        return SAME if len(self.places) <= 1 and not self.service.points else ANY_DEVICE_S
