"""One query at several sizes of its data: recorded from empty caches on a real server, and replayed on the pair's devices as they would be
stretched for that size. Nobody waits for it: it is recorded with the delays off.
"""

import json
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Annotated, Final

import polars as pl
from pydantic import Field

from tierwise.bench.lab import Lab
from tierwise.bench.recording import EmulatorLog
from tierwise.bench.replaying import trace_of
from tierwise.core.progress import Progress
from tierwise.core.toml import Strict
from tierwise.core.units import PAGE_BYTES
from tierwise.core.words import Cache, IoArm, Substrate
from tierwise.postgres.plans import assert_plan, planned
from tierwise.simulate.replay import EXTENT_BYTES, replay
from tierwise.tiers.emulated import Emulated
from tierwise.tiers.open import device_model
from tierwise.timings.replicates import BLOCKS, Facts

PROOF: Final = "by_scale"
"""The key of a row's proof, and the fact of a study, that hold what was simulated at each size."""

FIRST_ROW: Final = "SELECT 1 FROM {} WHERE ctid = '(0,1)'"
"""A statement that reads the first page of a relation."""
REPLAYS: Final = 2
"""The least number of replays of a query."""


class Scales(Strict):
    """The sizes beside the block's own."""

    shares: tuple[Annotated[float, Field(gt=0, lt=1)], ...] = Field(min_length=2, description="of the rows that a block has")
    requests: int = Field(ge=1, description="that are replayed of each at least, again and again from other places of the platters")


@dataclass(frozen=True, slots=True)
class Asked:
    """A query of relations that lie in `files`, on any tier, as a cold server is asked it; `expected`: the pages of each that it must miss;
    `nodes`: of its plan.
    """

    relations: Sequence[str]
    files: Sequence[Path]
    statement: str
    setup: Sequence[str]
    shared_buffers_bytes: int
    expected: Mapping[str, int]
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Size:
    """The data of one size: `share` of the block's own, with so many of the `published_rows` of the table that decides the stretch."""

    share: float
    rows: int
    published_rows: float
    asked: Asked


def can_be_recorded(lab: Lab) -> bool:
    """Return whether the lab's tiers are all emulated, and the trial that is measured now is counted: then requests have no path."""
    return not lab.waiting and all(isinstance(tier, Emulated) for tier in lab.tiers.values())


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a query asks of the storage from empty caches, in `timings.traces.TRACE`'s columns, and the addresses of the extents of each
    relation that it reads, from the first of its data on (0 for an extent of which nothing is read).
    """

    query: pl.DataFrame
    addresses: Mapping[str, Sequence[int]]


def simulated(lab: Lab, sizes: Sequence[Size], placements: Mapping[str, Mapping[str, str]], *, requests: int) -> list[Facts]:
    """Return a fact for each of `sizes`: the seconds of its query on each of `placements` (every relation -> tier, by name), and how many
    requests it has. It is replayed twice at least, and until so many `requests` were replayed.
    """
    progress = Progress("simulating other sizes", len(sizes))
    found = []
    for size in sizes:
        asked, stretch = recorded(lab, size.asked), size.published_rows / size.rows
        replays = replays_of(len(asked.query) - 1, requests)
        seconds = {name: replayed_s(lab, asked, tiers, stretch=stretch, replays=replays) for name, tiers in placements.items()}
        told = {"share": size.share, "rows": size.rows, "published_rows": size.published_rows, "requests": len(asked.query) - 1}
        found.append({**told, "seconds": seconds})
        progress.step()
    return found


def replays_of(query: int, requests: int) -> int:
    """Return how often a query of so many requests is replayed where `requests` are asked for: few requests have the luck of few turns."""
    return max(REPLAYS, math.ceil(requests / max(1, query)))


def recorded(lab: Lab, asked: Asked) -> Recorded:
    """Record a query. The delays are off: by the clock of the session the requests take no time, so that what is between them (`think_s`)
    is its processor time.

    Raises:
        EvidenceError: other pages were missed than `asked` expects, or the plan is another.
    """
    recorder = EmulatorLog({name: tier for name, tier in lab.tiers.items() if isinstance(tier, Emulated)})
    with lab.cold(
        asked.relations,
        asked.files,
        asked.statement,
        arm=IoArm.DIRECT,
        shared_buffers_bytes=asked.shared_buffers_bytes,
        setup=asked.setup,
        recorder=recorder,
    ) as session:
        for tier in lab.tiers.values():
            tier.delays(False)
        lab.timed(session, asked.statement, cache=Cache.COLD, cell={}, expected=asked.expected, listing=True)
        assert_plan(planned(session.connection, asked.statement), asked.nodes)
        lab.timed(session, FIRST_ROW.format(asked.relations[0]), cache=Cache.NONE, cell={})
    query, first = recorder.queries
    return Recorded(query, laid_from(pl.concat([query, first]), asked.relations[0]))


def laid_from(requests: pl.DataFrame, first: str) -> dict[str, list[int]]:
    """Return the addresses of the extents that `requests` read of each relation, as they would be with nothing before the relation
    `first`, of which they read the beginning.
    """
    placed = requests.filter(operation="read").select("relation", "page", "address_bytes").rows()
    begins: dict[str, dict[int, int]] = {}
    for relation, page, address in placed:
        extent, rest = divmod(page * PAGE_BYTES, EXTENT_BYTES)
        begins.setdefault(relation, {})[extent] = address - rest
    origin = min(begins[first][0], *(begin for extents in begins.values() for begin in extents.values()))
    return {relation: [extents.get(number, origin) - origin for number in range(max(extents) + 1)] for relation, extents in begins.items()}


def replayed_s(lab: Lab, asked: Recorded, placement: Mapping[str, str], *, stretch: float, replays: int) -> float:
    """Return the seconds of a recorded query with each relation on its tier of `placement`, seeks stretched by `stretch`: the mean of so
    many replays, each from another place of the platters.

    Relations lie as far apart as where they were made, whatever the tier: devices without seeks know no places.
    """
    tiers, trace, platters = set(placement.values()), trace_of(asked.query), random.Random(lab.seed)

    def once_s() -> float:
        models = {tier: device_model(lab.pair.tiers[tier], stretch=stretch, seed=lab.seed) for tier in tiers}
        devices = {tier: model for tier, model in models.items() if model is not None}
        return replay(trace, placement, devices, asked.addresses, started_s=platters.random()).elapsed_s

    return fmean(once_s() for _ in range(replays))


def by_size(rows: pl.DataFrame) -> Facts:
    """Return the fact `PROOF` of complete `rows`: an entry a size, with the values of each block; no fact where no row has any."""
    told = rows.filter(pl.col("proof").str.contains(f'"{PROOF}"', literal=True)).sort("block")
    found: dict[float, list[tuple[int, Facts]]] = {}
    for block, proof in told.select("block", "proof").rows():
        for one in json.loads(proof).get(PROOF, ()):
            found.setdefault(one["share"], []).append((block, one))
    return {PROOF: [_together(found[share]) for share in sorted(found)]} if found else {}


def _together(entries: Sequence[tuple[int, Facts]]) -> Facts:
    """The blocks of one size: each figure of theirs becomes the list of all."""
    first = entries[0][1]
    blocks, sizes = zip(*entries, strict=True)
    return {
        "share": first["share"],
        "published_rows": first["published_rows"],
        "substrate": str(Substrate.SIMULATED),
        BLOCKS: list(blocks),
        "rows": [one["rows"] for one in sizes],
        "requests": [one["requests"] for one in sizes],
        "seconds": {name: [one["seconds"][name] for one in sizes] for name in first["seconds"]},
    }
