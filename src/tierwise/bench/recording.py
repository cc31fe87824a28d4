"""Requests of each timed query to the storage, by tier and by relation: from emulated tiers at no cost, or by strace, which disturbs it."""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from pathlib import Path
from typing import Any, Final, NamedTuple

import polars as pl

from tierwise.core.units import GIB, PAGE_BYTES
from tierwise.core.vocabulary import Cache, Evidence
from tierwise.postgres.page_counts import PageCount
from tierwise.recorders import strace
from tierwise.tiers.emulated import Emulated
from tierwise.tiers.tier import FileIo, Tier
from tierwise.timings.schema import RelationIo, TierIo, Timing
from tierwise.timings.trial_files import END, TRACE

SEGMENT_PAGES: Final = GIB // PAGE_BYTES  # pages of one file of a relation (RELSEG_SIZE as every distribution builds it)

FORKS: Final = "fsm|vm|init"
FILE: Final = re.compile(rf"(?P<node>\d+)(_(?P<fork>{FORKS}))?(\.(?P<segment>\d+))?")  # name of a relation's file: node, fork, segment

MainFiles = Mapping[str, Path]  # first file of the main fork of each relation, by its name


class RelationFile(NamedTuple):
    """One file of a relation: `fork` is None for the main one, `first_page` the number of its first page in the fork."""

    relation: str
    fork: str | None
    first_page: int


class Span(NamedTuple):
    """When a query ran (seconds of the monotonic clock), and how long of that the server was waiting for the storage."""

    cache: Cache
    started_s: float
    ended_s: float
    storage_s: float

    @property
    def elapsed_s(self) -> float:
        return self.ended_s - self.started_s


@dataclass(frozen=True, slots=True)
class Observed:
    """What one execution of a trial gave: its raw rows, and beside them what the run keeps of it, as far as its study has such."""

    timings: tuple[Timing, ...]
    spans: tuple[Span, ...] = ()  # of the timed queries
    queries: tuple[pl.DataFrame, ...] = ()  # the requests of each, in `TRACE`'s columns, where that was recorded
    transactions: pl.DataFrame | None = None  # of a load
    reads: pl.DataFrame | None = None  # single ones

    @property
    def trace(self) -> pl.DataFrame:
        return pl.concat(self.queries)


class Recorder:
    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.queries: list[pl.DataFrame] = []

    def observed(self, *timings: Timing) -> Observed:
        return Observed(timings, tuple(self.spans), tuple(self.queries))

    @contextmanager
    def watching(self, pid: int) -> Iterator[None]:  # noqa: ARG002 - for those who look at the process
        """Stand around each query of the server process `pid`."""
        yield

    def note(self, span: Span, main_files: MainFiles) -> None:  # noqa: ARG002 - for those who know files
        self.spans.append(span)


class EmulatorLog(Recorder):
    def __init__(self, tiers: Mapping[str, Emulated]):
        super().__init__()
        self._tiers = tiers

    def note(self, span: Span, main_files: MainFiles) -> None:
        requests = [
            {**request, "path": directory / request.pop("file"), "tier": name, "came_s": request["time_s"] + tier.path_s}
            for name, tier in self._tiers.items()
            for directory in [tier.directory.resolve()]
            for request in tier.requests().rows(named=True)
        ]
        requests.sort(key=lambda request: request["came_s"])
        waits = list(awaited([(request["came_s"], request["time_s"] + request["actual_s"]) for request in requests], span.ended_s))
        rows = []
        for request, (after, ready_s) in zip(requests, waits, strict=False):
            think_s = request["time_s"] - (span.started_s if ready_s is None else ready_s)
            rows.append({**request, "after": after, "think_s": think_s})
        after, ready_s = waits[-1]
        tail_s = span.ended_s - (span.started_s if ready_s is None else ready_s)
        self.queries.append(_frame(len(self.spans), span.cache, rows, (after, tail_s), main_files))
        super().note(span, main_files)


class Straced(Recorder):
    """A recorder by strace on the session's process, which keeps the order of requests; `with_host_time` fills in `think_s`."""

    def __init__(self, tiers: Mapping[str, Tier]):
        super().__init__()
        self._directories = {tier.directory.resolve(): name for name, tier in tiers.items()}
        self._transfers: list[strace.Transfer] = []

    @contextmanager
    def watching(self, pid: int) -> Iterator[None]:
        with strace.recorded(pid) as self._transfers:
            yield

    def note(self, span: Span, main_files: MainFiles) -> None:
        rows: list[dict[str, Any]] = []
        for transfer in self._transfers:
            tier = next((name for folder, name in self._directories.items() if transfer.path.is_relative_to(folder)), None)
            if tier is not None:  # else it is the server's own: a catalogue, the log
                rows.append({**transfer._asdict(), "tier": tier, "after": len(rows) - 1 if rows else None, "think_s": 0.0})
        self.queries.append(_frame(len(self.spans), span.cache, rows, (len(rows) - 1 if rows else None, 0.0), main_files))
        super().note(span, main_files)


def awaited(requests: list[tuple[float, float]], ended_s: float) -> Iterator[tuple[int | None, float | None]]:
    """Yield the latest completion, as (number, time), before each of `requests` (arrival, completion; by arrival), and before the end."""
    under_way: list[tuple[float, int]] = []  # a heap of (completion, number)
    number: int | None = None
    ready_s: float | None = None
    for coming, (came_s, done_s) in enumerate([*requests, (ended_s, ended_s)]):
        while under_way and under_way[0][0] <= came_s:
            ready_s, number = heappop(under_way)
        yield number, ready_s
        heappush(under_way, (done_s, coming))


def with_host_time(query: pl.DataFrame, span: Span) -> pl.DataFrame:
    """Return the rows of one query with the host's time of `span`, an undisturbed execution, spread evenly before, between and after."""
    host_s = max(0.0, span.elapsed_s - span.storage_s)
    return query.with_columns(think_s=pl.lit(host_s / len(query)))


def _frame(step: int, cache: Cache, requests: list[dict[str, Any]], end: tuple[int | None, float], main_files: MainFiles) -> pl.DataFrame:
    names = file_names(main_files)
    pages = {relation: _pages(path) for relation, path in main_files.items()}
    rows = []
    for request in requests:
        file = relation_file(request["path"], names)
        relation = file.relation if file.fork is None else f"{file.relation}_{file.fork}"
        page = file.first_page + request["offset_bytes"] // PAGE_BYTES
        rows.append({**request, "relation": relation, "page": page, "relation_pages": pages.get(relation, 0)})
    after, tail_s = end
    rows.append({"operation": END, "after": after, "think_s": tail_s})
    common = {"step": step, "cache": str(cache)}
    return pl.DataFrame([{column: {**common, **row}.get(column) for column in TRACE} for row in rows], schema=TRACE)


def relation_file(path: Path, names: Mapping[tuple[Path, str], str]) -> RelationFile:
    """Return what `path` is a file of, by its folder and node (`file_names`); any file of no relation is its own."""
    found = FILE.fullmatch(path.name)
    name = names.get((path.parent, found["node"])) if found else None
    if found is None or name is None:
        return RelationFile(path.name, None, 0)
    return RelationFile(name, found["fork"], int(found["segment"] or 0) * SEGMENT_PAGES)


def file_names(main_files: MainFiles) -> dict[tuple[Path, str], str]:
    return {(path.parent, path.name): relation for relation, path in main_files.items()}


def _pages(main_file: Path) -> int:
    segments = (path for path in main_file.parent.glob(f"{main_file.name}*") if re.fullmatch(rf"{main_file.name}(\.\d+)?", path.name))
    return sum(path.stat().st_size for path in segments) // PAGE_BYTES


FileIos = Mapping[str, FileIo] | None

EMULATED: Final = "the emulator's log: intended times of this query's requests"
REPLAYED: Final = "the replay of this query's requests"
TRACED: Final = "strace: one repetition that is not scored, its stops included"
UNCOUNTED: Final = "nothing counts the requests of a directory"


def tier_io(tier: Tier, files: FileIos) -> TierIo:
    uncounted = TierIo(tier.name, Evidence(tier.evidence), tier.device)
    if files is None:
        return uncounted
    every = files.values()
    return replace(
        uncounted,
        reads=sum(io.reads for io in every),
        read_bytes=sum(io.read_bytes for io in every),
        writes=sum(io.writes for io in every),
        write_bytes=sum(io.write_bytes for io in every),
        intended_s=math.fsum(io.intended_s for io in every),
        actual_s=math.fsum(io.actual_s for io in every),
    )


def outstanding(tiers: Mapping[str, Tier], requests: Sequence[TierIo]) -> dict[str, float]:
    """Return the mean number of requests that each device had while it had one at least, by tier (Little's law); none without requests."""
    busy_s = {name: tier.busy_s() for name, tier in tiers.items()}
    return {io.tier: io.intended_s / busy for io in requests if io.intended_s and (busy := busy_s[io.tier])}


def relation_io(
    pages: Iterable[PageCount], tiers: Mapping[str, Tier], files: Mapping[str, FileIos], main_files: MainFiles
) -> tuple[RelationIo, ...]:
    """Return the pages of each relation, and the intended times of its requests where its tier counts by file (`files`, by tier)."""
    names = file_names(main_files)
    intended_s: dict[str, float] = defaultdict(float)
    for tier, counted in files.items():
        for path, io in (counted or {}).items():
            intended_s[relation_file(tiers[tier].directory.resolve() / path, names).relation] += io.intended_s
    return tuple(
        RelationIo(
            count.relation,
            str(count.relation_class),
            count.tier,
            count.hits,
            count.reads,
            *((intended_s[count.relation], EMULATED) if files.get(count.tier) is not None else (None, UNCOUNTED)),
        )
        for count in pages
    )


def by_relation(query: pl.DataFrame, values: Iterable[float | None]) -> dict[str, float]:
    """Return sums of `values`, one for each request of the recorded `query`, by relation, its forks with it."""
    sums: dict[str, float] = defaultdict(float)
    for relation, value in zip(query.filter(pl.col("operation") != END)["relation"], values, strict=True):
        sums[re.sub(rf"_({FORKS})$", "", relation)] += value or 0.0
    return sums


def with_traced_times(timings: Sequence[Timing], queries: Sequence[pl.DataFrame] | None, obstacle: str | None) -> list[Timing]:
    """Return `timings` with what strace saw of the recorded `queries`, for each relation that nothing else counts; else why it did not."""
    if queries is None:
        return [_filled(timing, {}, obstacle or UNCOUNTED) for timing in timings]
    return [_filled(timing, by_relation(query, query["traced_s"][:-1]), None) for timing, query in zip(timings, queries, strict=True)]


def _filled(timing: Timing, traced_s: Mapping[str, float], why_not: str | None) -> Timing:
    found = [
        io if io.io_s is not None else replace(io, io_s=None if why_not else traced_s.get(io.relation, 0.0), io_basis=why_not or TRACED)
        for io in timing.relation_io
    ]
    return replace(timing, relation_io=tuple(found))
