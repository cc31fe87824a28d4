"""One query at several sizes of its data: recorded from empty caches on a real server, and replayed on the pair's devices as they would be
stretched for that size. Nobody waits for it: it is recorded with the delays off.
"""

import json
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Annotated, Final

import polars as pl
from pydantic import Field

from tierwise.bench.recording import EmulatorLog
from tierwise.bench.replaying import trace_of
from tierwise.bench.testbed import ColdQuery, Testbed
from tierwise.core.progress import Progress
from tierwise.core.toml import Strict
from tierwise.core.units import PAGE_BYTES
from tierwise.core.vocabulary import Cache, Evidence, IoMode
from tierwise.postgres.plans import assert_plan, planned
from tierwise.simulate.replay import EXTENT_BYTES, replay
from tierwise.tiers.emulated import Emulated
from tierwise.tiers.open import device_model
from tierwise.timings.replicates import REPLICATES, Facts

PROOF: Final = "by_scale"  # the key of a row's proof, and the fact of a study, that hold what was simulated at each size

FIRST_ROW: Final = "SELECT 1 FROM {} WHERE ctid = '(0,1)'"  # a statement that reads the first page of a relation
REPLAYS: Final = 2  # the least number of replays of a query


class Scales(Strict):
    shares: tuple[Annotated[float, Field(gt=0, lt=1)], ...] = Field(min_length=2, description="of the rows that a replicate has")
    requests: int = Field(ge=1, description="that are replayed of each at least, again and again from other places of the platters")


@dataclass(frozen=True, slots=True)
class Size:
    """The data of one size: `share` of the replicate's own, and of the `published_rows` of the deciding table."""

    share: float
    rows: int
    published_rows: float
    query: ColdQuery


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a query asks of the storage from empty caches, in `trial_files.TRACE`'s columns, and where each relation's extents lie."""

    requests: pl.DataFrame
    addresses: Mapping[str, Sequence[int]]  # from the first of its data on; 0 for an extent of which nothing is read


def by_scale(
    testbed: Testbed, scales: Scales, smaller: Callable[[], list[Size]], whole: Size, placements: Mapping[str, Mapping[str, str]]
) -> Facts:
    """Return the fact `PROOF`: for each size the seconds of its query on each of `placements` (relation -> tier, by name).

    There is none where a tier is not emulated, or the trial that is measured now is not counted: only counted requests have no path.
    """
    if testbed.waiting or not all(isinstance(tier, Emulated) for tier in testbed.tiers.values()):
        return {}
    sizes = [*smaller(), whole]
    progress = Progress("simulating other sizes", len(sizes))
    found = []
    for size in sizes:
        query, stretch = recorded(testbed, size.query), size.published_rows / size.rows
        replays = replays_of(len(query.requests) - 1, scales.requests)
        seconds = {name: replayed_s(testbed, query, tiers, stretch=stretch, replays=replays) for name, tiers in placements.items()}
        facts = {"share": size.share, "rows": size.rows, "published_rows": size.published_rows, "requests": len(query.requests) - 1}
        found.append({**facts, "seconds": seconds})
        progress.step()
    return {PROOF: found}


def replays_of(query: int, requests: int) -> int:
    """Return how often a query with few requests is replayed until it has `requests`: the luck of few turns decides few requests."""
    return max(REPLAYS, math.ceil(requests / max(1, query)))


def recorded(testbed: Testbed, query: ColdQuery) -> Recorded:
    """Record a query with the delays off: then its requests take no time, and what is between them (`think_s`) is processor time."""
    recorder = EmulatorLog({name: tier for name, tier in testbed.tiers.items() if isinstance(tier, Emulated)})
    with testbed.cold(query, io_mode=IoMode.DIRECT, recorder=recorder) as session:
        testbed.delays(False)
        testbed.timed(session, query.statement, cache=Cache.COLD, cell={}, expected=query.expected, listing=True)
        assert_plan(planned(session.connection, query.statement), query.nodes)
        testbed.timed(session, FIRST_ROW.format(query.relations[0]), cache=Cache.NONE, cell={})
    requests, first = recorder.queries
    return Recorded(requests, laid_from(pl.concat([requests, first]), query.relations[0]))


def laid_from(requests: pl.DataFrame, first: str) -> dict[str, list[int]]:
    """Return where the extents of each relation that `requests` read would lie with nothing before the first page of `first`."""
    placed = requests.filter(operation="read").select("relation", "page", "address_bytes").rows()
    begins: dict[str, dict[int, int]] = {}
    for relation, page, address in placed:
        extent, rest = divmod(page * PAGE_BYTES, EXTENT_BYTES)
        begins.setdefault(relation, {})[extent] = address - rest
    origin = min(begins[first][0], *(begin for extents in begins.values() for begin in extents.values()))
    return {relation: [extents.get(number, origin) - origin for number in range(max(extents) + 1)] for relation, extents in begins.items()}


def replayed_s(testbed: Testbed, query: Recorded, placement: Mapping[str, str], *, stretch: float, replays: int) -> float:
    """Return the mean seconds of a recorded query on the tiers of `placement`; relations lie as far apart as where they were made."""
    tiers, trace, platters = set(placement.values()), trace_of(query.requests), random.Random(testbed.seed)

    def once_s() -> float:
        models = {tier: device_model(testbed.pair.tiers[tier], stretch=stretch, seed=testbed.seed) for tier in tiers}
        devices = {tier: model for tier, model in models.items() if model is not None}
        return replay(trace, placement, devices, query.addresses, started_s=platters.random()).elapsed_s

    return fmean(once_s() for _ in range(replays))


def by_size(rows: pl.DataFrame) -> Facts:
    """Return the fact `PROOF` of complete `rows`: an entry a size, with the values of each replicate; no fact where no row has any."""
    simulated_rows = rows.filter(pl.col("proof").str.contains(f'"{PROOF}"', literal=True)).sort("replicate")
    found: dict[float, list[tuple[int, Facts]]] = {}
    for replicate, proof in simulated_rows.select("replicate", "proof").rows():
        for one in json.loads(proof).get(PROOF, ()):
            found.setdefault(one["share"], []).append((replicate, one))
    return {PROOF: [_together(found[share]) for share in sorted(found)]} if found else {}


def _together(entries: Sequence[tuple[int, Facts]]) -> Facts:
    first = entries[0][1]
    replicates, sizes = zip(*entries, strict=True)
    return {
        "share": first["share"],
        "published_rows": first["published_rows"],
        "evidence": str(Evidence.SIMULATED),
        REPLICATES: list(replicates),
        "rows": [one["rows"] for one in sizes],
        "requests": [one["requests"] for one in sizes],
        "seconds": {name: [one["seconds"][name] for one in sizes] for name in first["seconds"]},
    }
