"""The survey, second battery: which files of a survey's database gain most on an array of SSDs, with the others on the disks?

A trial is one query, cold, on one placement: everything on the disks, or the indexes, the table Source, or the table Detection on the
SSDs. The source does not print its queries; ours follow its names and the archives' usual queries, and every plan is asserted: a chain
of nested loops, each step through one index.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, Final

import polars as pl
from pydantic import Field

from tierwise.bench.lab import Lab
from tierwise.bench.moved import ColdPages, Rows, cold_pages, load_once, place, planned_before, sizes_bytes
from tierwise.bench.recording import Observed, Recorder
from tierwise.bench.sizes import PROOF, Scales, by_size
from tierwise.bench.study import Cell as AnyCell
from tierwise.bench.study import Study, Trial, same_answers
from tierwise.core import paths
from tierwise.core.errors import InputError
from tierwise.core.pairs import Pair
from tierwise.core.profiles import Profile
from tierwise.core.toml import Strict
from tierwise.core.words import Cache, IoArm, RelationClass, Substrate
from tierwise.datasets import survey
from tierwise.datasets.dataset import Dataset
from tierwise.postgres.cold import relation_files
from tierwise.postgres.plans import assert_plan, planned
from tierwise.postgres.relations import move_statements
from tierwise.postgres.settings import PINNED_BYTES, Connection
from tierwise.studies.survey_placement.measuring import scales
from tierwise.studies.survey_placement.measuring.queries import BY_INDEX, QUERIES, RELATIONS, SCHEMA, Facts, QueryName, find_facts

NAME: Final = "survey_placement"
TABLES: Final = tuple(name.lower() for name in survey.NAMES)
INDEXES: Final = tuple(name for name in RELATIONS if name not in TABLES)
SSDS: Final = ("ssd_raid5", "ssd")
"""The source's hybrid has the array; a pair without one has its SSD."""
PLACEMENTS: Final[dict[str, tuple[str, ...]]] = {
    "all_hdd": (),
    "index_ssd": INDEXES,
    "source_ssd": ("source",),
    "detection_ssd": ("detection",),
}
"""What lies on the SSDs; every other relation lies on the disks. Primary keys are indexes."""
MOVE: Final = "move"
"""In place of a query: the placement's SSD relations are copied there from the disks, and back."""
PUBLISHED_DETECTIONS: Final = 1e8
"""Assumed, since the source does not state it: 130 s for a join that reads Detection on the SSDs, at the 554 MB/s of the other battery's
scan, are some 70 GB, in rows like ours. It decides only how far seeks are stretched.
"""
ROOM_BYTES: Final = PINNED_BYTES
"""Memory beside the share of the data, for read-ahead, which does not shrink with the data, so that requests have one size at every
scale; catalogues take little of it, and no page of the data is read twice.
"""
FLUSHED: Final = (f"SET search_path = {SCHEMA}", "SET wal_skip_threshold = 0")
"""Moved relations are flushed at the end, however small here, as the published tables would be: not read back into the log."""


@dataclass(frozen=True, slots=True)
class Cell(AnyCell):
    placement: str
    query: str
    ssd: str  # the tier of that side
    arm: IoArm
    execution: int = 0  # of those that a block has of the query there


@dataclass
class Memo:
    datasets: dict[str, Dataset]
    files: list[Path] = field(default_factory=list)
    size_bytes: dict[str, int] = field(default_factory=dict)
    facts: Facts | None = None
    cold_pages: dict[str, ColdPages] = field(default_factory=dict)

    def statement(self, query: str) -> str:
        assert self.facts is not None, "the survey is loaded first"
        return self.facts.statement(query)


class Beside(Strict):
    arms: tuple[IoArm, ...]
    query: QueryName
    placements: tuple[str, ...]


class Again(Strict):
    """A query with so few pages that one execution says little: its executions a block in the first I/O mode, and where."""

    query: QueryName
    placements: tuple[str, ...]
    executions: int = Field(ge=2)


class Grid(Strict):
    blocks: int = Field(default=5, ge=1)
    arms: tuple[IoArm, ...] = Field(default=(IoArm.DIRECT,), description="of the profile's; a server without direct I/O has the other")
    share: float = Field(default=1.0, gt=0, le=1, description="of the sources that the profile's fraction would give")
    queries: tuple[QueryName, ...] = ("light_curves", "variable_light_curves", "join_single", "join_several")
    today: tuple[QueryName, ...] = Field(default=("light_curves", "join_single"), description="of the queries, on the pair of today")
    beside: Beside | None = None
    again: Again | None = None
    light_curves: int = Field(default=20, ge=1, description="sources whose light curves are selected")
    joined: int = Field(default=400, ge=1, description="sources of the join by several indexes")
    scales: Scales | None = Field(default=None, description="at which one join is simulated as well, on a pair that is emulated")


def grid(profile: Profile) -> Grid:
    return profile.study(NAME, Grid)


def operations(profile: Profile, pair: Pair) -> tuple[str, ...]:
    config = grid(profile)
    return tuple(name for name in config.queries if name in config.today) if pair.name == profile.today else (*config.queries, MOVE)


def arms(profile: Profile) -> list[IoArm]:
    return [arm for arm in grid(profile).arms if arm in profile.arms] or list(profile.arms)


def acquire(*, profile: Profile, seed: int) -> dict[str, Dataset]:
    return survey.acquire(fraction=fraction(profile), seed=seed, folder=folder())


def fraction(profile: Profile) -> float:
    return profile.fraction * grid(profile).share


def folder() -> Path:
    return paths.data() / "external" / "survey"


def trials(profile: Profile, pair: Pair) -> tuple[Trial[Cell], ...]:
    """Return each query on each placement in each I/O mode, the moves in the first, and `beside` and `again`.

    The pair of today has the first mode alone; a simulated move is not measured.
    """
    ssd = next((name for name in SSDS if name in pair.tiers), None)
    if ssd is None or "hdd" not in pair.tiers:
        where = f"data/tiers/{pair.name}.toml"
        raise InputError(where, field="tiers", value=sorted(pair.tiers), rule=f"{NAME} needs a tier named 'hdd', and one of {SSDS}")
    is_today, ways, beside, again = pair.name == profile.today, arms(profile), grid(profile).beside, grid(profile).again
    combinations = [
        (arm, placement, query)
        for arm, placement, query in product(ways[:1] if is_today else ways, PLACEMENTS, operations(profile, pair))
        if query != MOVE or (PLACEMENTS[placement] and arm is ways[0] and pair.substrate is not Substrate.SIMULATED)
    ]
    if beside is not None and not is_today:
        others = [arm for arm in beside.arms if arm in profile.arms and arm not in ways]
        combinations += product(others, beside.placements, [beside.query])
    cells = [Cell(placement, query, ssd, arm) for arm, placement, query in combinations]
    if again is not None and not is_today:
        often = product(again.placements, range(1, again.executions))
        cells += [Cell(placement, again.query, ssd, ways[0], execution) for placement, execution in often]
    return tuple(
        Trial(
            cell=cell,
            arm=cell.arm,
            tiers=frozenset({"hdd", ssd} if PLACEMENTS[cell.placement] else {"hdd"}),
            preparation=f"placement={'all_hdd' if cell.query == MOVE else cell.placement}",
        )
        for cell in cells
    )


def begin(lab: Lab) -> Memo:
    """Look up the data sets once: verifying them reads all of them."""
    data = acquire(profile=lab.profile, seed=lab.seed)
    for one in data.values():
        lab.note_dataset(one)
    return Memo(data)


def published_share(lab: Lab, memo: Memo) -> float:  # noqa: ARG001 - the same on every pair
    """Return the detections of this run over those that the source's database is assumed to have."""
    return memo.datasets["Detection"].rows / PUBLISHED_DETECTIONS


def prepare(trial: Trial[Cell], lab: Lab, memo: Memo) -> None:
    on_ssd = () if trial.cell.query == MOVE else PLACEMENTS[trial.cell.placement]
    with lab.loading() as connection:
        _load(connection, lab, memo)
        place(connection, {name: trial.cell.ssd if name in on_ssd else "hdd" for name in RELATIONS})
        memo.files = relation_files(connection, RELATIONS)
    _find_cold_pages(lab, memo)


def _load(connection: Connection, lab: Lab, memo: Memo) -> None:
    tables, data = survey.load_tables(), memo.datasets
    load_once(connection, SCHEMA, "hdd", [Rows(tables[name], data[name].parquet, data[name].rows) for name in survey.NAMES])
    memo.size_bytes = sizes_bytes(connection, RELATIONS)
    config = grid(lab.profile)
    memo.facts = memo.facts or find_facts(connection, light_curves=config.light_curves, joined=config.joined)


def _find_cold_pages(lab: Lab, memo: Memo) -> None:
    if not memo.cold_pages:
        statements = {name: memo.statement(name) for name in grid(lab.profile).queries}
        memo.cold_pages = {name: cold_pages(lab, RELATIONS, text, planned_before(BY_INDEX, text)) for name, text in statements.items()}


def memory_bytes(profile: Profile, size_bytes: Mapping[str, int]) -> int:
    return round(profile.memory_fraction * sum(size_bytes.values())) + ROOM_BYTES


def measure(trial: Trial[Cell], lab: Lab, memo: Memo, recorder: Recorder) -> Observed:
    name = trial.cell.query
    if name == MOVE:
        return _moved(trial, lab, memo, recorder)
    text = memo.statement(name)
    sizes = _by_scale(trial, lab, memo)  # before the server is started whose settings are recorded
    setup, memory = planned_before(BY_INDEX, text), memory_bytes(lab.profile, memo.size_bytes)
    with lab.cold(RELATIONS, memo.files, text, arm=trial.arm, shared_buffers_bytes=memory, setup=setup, recorder=recorder) as session:
        expected = memo.cold_pages[name].pages
        cold = lab.timed(session, text, cache=Cache.COLD, cell=trial.coordinates, expected=expected, listing=True)
        assert_plan(planned(session.connection, text), QUERIES[name].nodes)
    return recorder.observed(replace(cold, proof={**cold.proof, **sizes}))


def _by_scale(trial: Trial[Cell], lab: Lab, memo: Memo) -> dict[str, Any]:
    """Return what one join takes at each size in the profile, once a block, beside the cold one of the same cell."""
    axes, ssd = grid(lab.profile).scales, trial.cell.ssd
    if axes is None or trial.cell != Cell("all_hdd", scales.QUERY, ssd, IoArm.DIRECT) or lab.pair.name == lab.profile.today:
        return {}
    expected = memo.cold_pages[scales.QUERY].pages
    whole = scales.join_query(memo.statement(scales.QUERY), SCHEMA, memo.files, memory_bytes(lab.profile, memo.size_bytes), expected)
    placements = {name: {relation: ssd if relation in PLACEMENTS[name] else "hdd" for relation in RELATIONS} for name in scales.PLACEMENTS}
    common = scales.Common(lab, ssd, fraction(lab.profile), PUBLISHED_DETECTIONS, partial(memory_bytes, lab.profile), folder())
    found = scales.by_scale(common, axes, whole, placements, detections=memo.datasets["Detection"].rows)
    return {PROOF: found} if found else {}


def _moved(trial: Trial[Cell], lab: Lab, memo: Memo, recorder: Recorder) -> Observed:
    """Move the placement's SSD relations there and back, by a server that holds none of them."""
    kinds = {name: RelationClass.TABLE if name in TABLES else RelationClass.INDEX for name in PLACEMENTS[trial.cell.placement]}
    with lab.cold(
        RELATIONS,
        memo.files,
        "SELECT 1",
        arm=trial.arm,
        shared_buffers_bytes=memory_bytes(lab.profile, memo.size_bytes),
        setup=FLUSHED,
        recorder=recorder,
    ) as session:
        ways = [
            lab.timed(session, move_statements(kinds, tier), cache=Cache.NONE, cell={**trial.coordinates, "way": way})
            for way, tier in (("there", trial.cell.ssd), ("back", "hdd"))
        ]
        memo.files = relation_files(session.connection, RELATIONS)
    return recorder.observed(*ways)


def describe(lab: Lab, memo: Memo) -> dict[str, Any]:
    with lab.loading() as connection:
        _load(connection, lab, memo)
    _find_cold_pages(lab, memo)
    return {
        "size_bytes": memo.size_bytes,
        "memory_bytes": memory_bytes(lab.profile, memo.size_bytes),
        "on_ssd": {name: list(relations) for name, relations in PLACEMENTS.items()},
        "touched": {name: {relation: count for relation, count in found.pages.items() if count} for name, found in memo.cold_pages.items()},
        "statements": {name: memo.statement(name) for name in memo.cold_pages},
    }


def summarise(rows: pl.DataFrame) -> dict[str, Any]:
    words = {name: pl.col("cell").str.json_path_match(f"$.{name}") for name in ("query", "placement")}
    named = rows.with_columns(**words)
    medians = named.group_by("query", "placement").agg(pl.col("elapsed_s").median()).sort("placement")
    queries = [query for query in QUERIES if query in set(named["query"])]
    found: dict[str, Any] = {query: dict(medians.filter(query=query).select("placement", "elapsed_s").rows()) for query in queries}
    shares = {query: _io_share(named.filter(query=query, placement="all_hdd")) for query in queries}
    return {**found, "io_share": shares, **by_size(rows)}


def _io_share(rows: pl.DataFrame) -> dict[str, float]:
    """Return relation -> its part of the storage's time; empty where nothing counted it."""
    each = rows.select(pl.col("relation_io").explode()).unnest("relation_io").group_by("relation").agg(pl.col("io_s").sum())
    total_s = each["io_s"].sum()
    return {relation: io_s / total_s for relation, io_s in sorted(each.rows()) if io_s} if total_s else {}


STUDY: Final = Study(
    name=NAME,
    source="H",
    question="Which files of a survey's database gain most on SSDs: indexes, the sources, or the detections?",
    begin=begin,
    published_share=published_share,
    trials=trials,
    prepare=prepare,
    measure=measure,
    describe=describe,
    check=same_answers,
    summarise=summarise,
    today=True,
)
