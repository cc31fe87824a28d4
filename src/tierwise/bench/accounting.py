"""Requests and their times, counted by tier and by relation, as a raw row keeps them."""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import polars as pl

from tierwise.bench.recording import FORKS, MainFiles, file_names, relation_file
from tierwise.core.vocabulary import Evidence
from tierwise.postgres.page_counts import PageCount
from tierwise.tiers.tier import FileIo, Tier
from tierwise.timings.schema import RelationIo, TierIo, Timing
from tierwise.timings.trial_files import END

FileIos = Mapping[str, FileIo] | None

EMULATED: Final = "the emulator's log: intended times of this query's requests"
REPLAYED: Final = "the replay of this query's requests"
TRACED: Final = "strace: one repetition that is not scored, its stops included"
UNCOUNTED: Final = "nothing counts the requests of a directory"


def tier_io(tier: Tier, files: FileIos) -> TierIo:
    if files is None:
        return TierIo(tier.name, Evidence(tier.evidence), tier.device)
    every = files.values()
    return TierIo(
        tier.name,
        Evidence(tier.evidence),
        tier.device,
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
