"""The survey, second battery: which files of a survey's database gain most on an array of SSDs, with the others on the disks?

A trial is one query, cold, on one placement: everything on the disks, or the indexes, the table Source, or the table Detection on the
SSDs. The source does not print its queries; ours follow its names and the archives' usual queries, and every plan is asserted: a chain
of nested loops, each step through one index. One trial more is a sort that spills, with its temporary files on either.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Final

import polars as pl
from pydantic import AfterValidator, Field

from tierwise.bench.loaded_tables import ColdPages, Rows, cold_pages, load_once, place, planned_before, sizes_bytes
from tierwise.bench.query_scaling import Scales, Size, by_scale, by_size
from tierwise.bench.recording import Observed, Recorder
from tierwise.bench.study import Cell as AnyCell
from tierwise.bench.study import IoModes, Study, Trial, same_answers
from tierwise.bench.testbed import ColdQuery, Testbed
from tierwise.core import paths
from tierwise.core.errors import InputError
from tierwise.core.pairs import Pair
from tierwise.core.profiles import Profile
from tierwise.core.toml import Strict
from tierwise.core.units import KIB
from tierwise.core.vocabulary import Cache, Evidence, IoMode, RelationClass
from tierwise.datasets import survey
from tierwise.datasets.dataset import Dataset
from tierwise.postgres.cold_proof import relation_files
from tierwise.postgres.plans import assert_plan, planned
from tierwise.postgres.relations import move_statements
from tierwise.postgres.settings import PINNED_BYTES, Connection
from tierwise.studies.survey_placement.measuring import queries
from tierwise.studies.survey_placement.measuring.queries import QUERIES, QUERY, RELATIONS, SCHEMA, SORT, QueryName

NAME: Final = "survey_placement"
TABLES: Final = tuple(name.lower() for name in survey.NAMES)
INDEXES: Final = tuple(name for name in RELATIONS if name not in TABLES)
BASE: Final = "all_hdd"
SSDS: Final = ("ssd_raid5", "ssd")  # the source's hybrid has the array; a pair without one has its SSD
PLACEMENTS: Final[dict[str, tuple[str, ...]]] = {
    BASE: (),
    "index_ssd": INDEXES,
    "source_ssd": ("source",),
    "detection_ssd": ("detection",),
}
"""What lies on the SSDs; every other relation lies on the disks. Primary keys are indexes."""
TEMPORARY: Final = "temp_ssd"  # the placement of `SORT` with its temporary files on the SSDs, and everything else on the disks
SORT_SHARE: Final = 1 / 16
LEAST_SORT_KIB: Final = 64  # memory of a sort over the size of its table, and the least that a server takes: it spills at every scale
MOVE: Final = "move"  # in place of a query: the placement's SSD relations are copied there from the disks, and back
PUBLISHED_DETECTIONS: Final = 1e8
"""Assumed, since the source does not state it: 130 s for a join that reads Detection on the SSDs, at the 554 MB/s of the other battery's
scan, are some 70 GB, in rows like ours. It decides only how far seeks are stretched.
"""
SPARE_BYTES: Final = PINNED_BYTES
"""Memory for read-ahead beside the share of the data. It does not shrink, so that requests have one size at every scale."""
FLUSHED: Final = (f"SET search_path = {SCHEMA}", "SET wal_skip_threshold = 0")
"""Moved relations are flushed at the end, however small here, as the published tables would be: not read back into the log."""


@dataclass(frozen=True, slots=True)
class Cell(AnyCell):
    placement: str
    query: str
    ssd: str  # the tier of that side
    io_mode: IoMode
    execution: int = 0  # of those that a replicate has of the query there


@dataclass
class StudyState:
    datasets: dict[str, Dataset]
    files: list[Path] = field(default_factory=list)
    size_bytes: dict[str, int] = field(default_factory=dict)
    facts: queries.Parameters | None = None
    cold_pages: dict[str, ColdPages] = field(default_factory=dict)

    def statement(self, query: str) -> str:
        assert self.facts is not None, "the survey is loaded first"
        return self.facts.statement(query)


def _known(name: str) -> str:
    if name not in PLACEMENTS:
        raise ValueError(f"must be one of {', '.join(PLACEMENTS)}")
    return name


PlacementName = Annotated[str, AfterValidator(_known)]


class Again(Strict):
    """A query with so few pages that one execution says little: its executions a replicate, and where."""

    query: QueryName
    placements: tuple[PlacementName, ...]
    executions: int = Field(ge=2)


class Grid(Strict):
    replicates: int = Field(default=5, ge=1)
    io_modes: IoModes = (IoMode.ASYNCHRONOUS,)
    share: float = Field(default=1.0, gt=0, le=1, description="of the sources that the profile's fraction would give")
    queries: tuple[QueryName, ...] = ("light_curves", "variable_light_curves", "join_single", "join_several")
    today: tuple[QueryName, ...] = Field(default=("light_curves", "join_single"), description="of the queries, on a pair of today")
    today_placements: tuple[PlacementName, ...] = Field(default=tuple(PLACEMENTS), description="of the placements, on a pair of today")
    today_share: float = Field(default=1.0, gt=0, le=1, description="of the sources, on a pair of today")
    moved: tuple[PlacementName, ...] = Field(default=tuple(PLACEMENTS), description="placements whose relations are copied there and back")
    again: Again | None = None
    light_curves: int = Field(default=20, ge=1, description="sources whose light curves are selected")
    joined: int = Field(default=400, ge=1, description="sources of the join by several indexes")
    too_small: tuple[str, ...] = Field(default=(), description="workloads on which so few rows give no advice")
    scales: Scales | None = Field(default=None, description="at which one join is simulated as well, on a pair that is emulated")


def grid(profile: Profile) -> Grid:
    return profile.study(NAME, Grid)


def operations(profile: Profile, pair: Pair) -> Iterator[tuple[str, str]]:
    """Yield (placement, query or what stands in its place)."""
    config = grid(profile)
    if pair.name in profile.today:
        yield from product(config.today_placements, (name for name in config.queries if name in config.today))
        return
    yield from product(PLACEMENTS, config.queries)
    if pair.evidence is not Evidence.SIMULATED:  # which copies nothing, and replays no temporary file
        yield from ((placement, MOVE) for placement, moved in PLACEMENTS.items() if moved and placement in config.moved)
        yield from ((placement, SORT) for placement in (BASE, TEMPORARY))


def acquire(*, profile: Profile, seed: int, is_today: bool = False) -> dict[str, Dataset]:
    share = grid(profile).today_share if is_today else 1.0
    return survey.acquire(fraction=fraction(profile) * share, seed=seed, folder=folder())


def fraction(profile: Profile) -> float:
    return profile.fraction * grid(profile).share


def folder() -> Path:
    return paths.data() / "external" / "survey"


def trials(profile: Profile, pair: Pair) -> tuple[Trial[Cell], ...]:
    """Return each query on each placement, the moves, the sort, and `again`; of a pair of today some queries and placements."""
    ssd = next((name for name in SSDS if name in pair.tiers), None)
    if ssd is None or "hdd" not in pair.tiers:
        where = f"data/tiers/{pair.name}.toml"
        raise InputError(where, field="tiers", value=sorted(pair.tiers), rule=f"{NAME} needs a tier named 'hdd', and one of {SSDS}")
    config, again = grid(profile), grid(profile).again
    ways = profile.possible(config.io_modes)
    cells = [Cell(placement, query, ssd, io_mode) for io_mode, (placement, query) in product(ways, operations(profile, pair))]
    if again is not None and pair.name not in profile.today:
        often = product(again.placements, range(1, again.executions))
        cells += [Cell(placement, again.query, ssd, ways[0], execution) for placement, execution in often]
    return tuple(
        Trial(
            cell=cell,
            io_mode=cell.io_mode,
            tiers=frozenset({"hdd"} if cell.placement == BASE else {"hdd", ssd}),
            preparation=f"placement={cell.placement if cell.query in queries.QUERY_NAMES else BASE}",
        )
        for cell in cells
    )


def begin(testbed: Testbed) -> StudyState:
    data = acquire(profile=testbed.profile, seed=testbed.seed, is_today=testbed.pair.name in testbed.profile.today)
    for one in data.values():
        testbed.note_dataset(one)
    return StudyState(data)


def published_share(testbed: Testbed, study_state: StudyState) -> float:  # noqa: ARG001 - the same on every pair
    return study_state.datasets["Detection"].rows / PUBLISHED_DETECTIONS


def prepare(trial: Trial[Cell], testbed: Testbed, study_state: StudyState) -> None:
    on_ssd = PLACEMENTS[trial.cell.placement] if trial.cell.query in queries.QUERY_NAMES else ()
    with testbed.loading() as connection:
        _load(connection, testbed, study_state)
        place(connection, tiers_of(on_ssd, trial.cell.ssd))
        study_state.files = relation_files(connection, RELATIONS)
    _find_cold_pages(testbed, study_state)


def tiers_of(on_ssd: Collection[str], ssd: str) -> dict[str, str]:
    return {name: ssd if name in on_ssd else "hdd" for name in RELATIONS}


def _load(connection: Connection, testbed: Testbed, study_state: StudyState) -> None:
    load_once(connection, SCHEMA, "hdd", _rows(study_state.datasets))
    study_state.size_bytes = sizes_bytes(connection, RELATIONS)
    config = grid(testbed.profile)
    study_state.facts = study_state.facts or queries.find_parameters(connection, light_curves=config.light_curves, joined=config.joined)


def _rows(data: Mapping[str, Dataset]) -> list[Rows]:
    tables = survey.load_tables()
    return [Rows(tables[name], data[name].parquet, data[name].rows) for name in survey.NAMES]


def _find_cold_pages(testbed: Testbed, study_state: StudyState) -> None:
    if not study_state.cold_pages:
        statements = {name: study_state.statement(name) for name in (*grid(testbed.profile).queries, SORT)}
        for name, text in statements.items():
            setup = setup_of(name, text, "hdd", study_state.size_bytes)
            study_state.cold_pages[name] = cold_pages(testbed, RELATIONS, text, setup)


def memory_bytes(profile: Profile, size_bytes: Mapping[str, int]) -> int:
    return round(profile.memory_fraction * sum(size_bytes.values())) + SPARE_BYTES


def setup_of(query: str, text: str, temporary: str, size_bytes: Mapping[str, int]) -> tuple[str, ...]:
    """Return what comes before a query; `temporary`: the tier of the temporary files of a sort."""
    if query != SORT:
        return planned_before(queries.BY_INDEX, text)
    memory_kib = max(LEAST_SORT_KIB, round(SORT_SHARE * size_bytes[queries.SORTED] / KIB))
    own = (f"SET search_path = {SCHEMA}", f"SET temp_tablespaces = {temporary}", f"SET work_mem = '{memory_kib}kB'")
    return planned_before(own, text)


def measure(trial: Trial[Cell], testbed: Testbed, study_state: StudyState, recorder: Recorder) -> Observed:
    name = trial.cell.query
    if name == MOVE:
        return _moved(trial, testbed, study_state, recorder)
    text = study_state.statement(name)
    sizes = _by_scale(trial, testbed, study_state)  # before the server is started whose settings are recorded
    temporary = trial.cell.ssd if trial.cell.placement == TEMPORARY else "hdd"
    setup, memory = setup_of(name, text, temporary, study_state.size_bytes), memory_bytes(testbed.profile, study_state.size_bytes)
    with testbed.cold(ColdQuery(RELATIONS, study_state.files, text, setup, memory), io_mode=trial.io_mode, recorder=recorder) as session:
        expected = study_state.cold_pages[name].pages
        cold = testbed.timed(session, text, cache=Cache.COLD, cell=trial.coordinates, expected=expected, listing=True)
        assert_plan(planned(session.connection, text), QUERIES[name].nodes)
    return recorder.observed(replace(cold, proof={**cold.proof, **sizes}))


def _by_scale(trial: Trial[Cell], testbed: Testbed, study_state: StudyState) -> dict[str, Any]:
    scales, ssd = grid(testbed.profile).scales, trial.cell.ssd
    if scales is None or trial.cell != Cell(BASE, QUERY, ssd, trial.io_mode) or testbed.pair.name in testbed.profile.today:
        return {}
    memory, expected = memory_bytes(testbed.profile, study_state.size_bytes), study_state.cold_pages[QUERY].pages
    query = queries.join_query(study_state.statement(QUERY), SCHEMA, study_state.files, memory, expected)
    whole = Size(1.0, study_state.datasets["Detection"].rows, PUBLISHED_DETECTIONS, query)
    placements = {name: tiers_of(PLACEMENTS[name], ssd) for name in queries.SCALED_PLACEMENTS}
    return by_scale(testbed, scales, partial(_smaller, testbed, scales, ssd), whole, placements)


def _smaller(testbed: Testbed, scales: Scales, held_on: str) -> list[Size]:
    """Load smaller surveys on a tier without seeks, where they are read while their requests are recorded: disks keep their layout."""
    sizes = []
    with testbed.loading() as connection:
        for number, share in enumerate(sorted(scales.shares)):
            data = survey.acquire(fraction=fraction(testbed.profile) * share, seed=testbed.seed, folder=folder())
            schema = f"size_{number}"
            load_once(connection, schema, held_on, _rows(data))
            memory = memory_bytes(testbed.profile, sizes_bytes(connection, RELATIONS))
            statement = queries.find_parameters(connection, light_curves=1, joined=1).statement(QUERY)
            query = queries.join_query(statement, schema, relation_files(connection, RELATIONS), memory, {})
            sizes.append(Size(share, data["Detection"].rows, PUBLISHED_DETECTIONS, query))
    return [replace(size, query=_counted(testbed, size.query)) for size in sizes]


def _counted(testbed: Testbed, query: ColdQuery) -> ColdQuery:
    return replace(query, expected=cold_pages(testbed, RELATIONS, query.statement, query.setup).pages)


def _moved(trial: Trial[Cell], testbed: Testbed, study_state: StudyState, recorder: Recorder) -> Observed:
    kinds = {name: RelationClass.TABLE if name in TABLES else RelationClass.INDEX for name in PLACEMENTS[trial.cell.placement]}
    memory = memory_bytes(testbed.profile, study_state.size_bytes)
    nothing = ColdQuery(RELATIONS, study_state.files, "SELECT 1", FLUSHED, memory)
    with testbed.cold(nothing, io_mode=trial.io_mode, recorder=recorder) as session:
        ways = [
            testbed.timed(session, move_statements(kinds, tier), cache=Cache.NONE, cell={**trial.coordinates, "way": way})
            for way, tier in (("there", trial.cell.ssd), ("back", "hdd"))
        ]
        study_state.files = relation_files(session.connection, RELATIONS)
    return recorder.observed(*ways)


def describe(testbed: Testbed, study_state: StudyState) -> dict[str, Any]:
    with testbed.loading() as connection:
        _load(connection, testbed, study_state)
    _find_cold_pages(testbed, study_state)
    return {
        "size_bytes": study_state.size_bytes,
        "memory_bytes": memory_bytes(testbed.profile, study_state.size_bytes),
        "on_ssd": {name: list(relations) for name, relations in PLACEMENTS.items()},
        "touched": {
            name: {relation: count for relation, count in found.pages.items() if count} for name, found in study_state.cold_pages.items()
        },
        "statements": {name: study_state.statement(name) for name in study_state.cold_pages},
    }


def summarise(rows: pl.DataFrame) -> dict[str, Any]:
    words = {name: pl.col("cell").str.json_path_match(f"$.{name}") for name in ("query", "placement")}
    named = rows.with_columns(**words)
    medians = named.group_by("query", "placement").agg(pl.col("elapsed_s").median()).sort("placement")
    measured = [query for query in QUERIES if query in set(named["query"])]
    found: dict[str, Any] = {query: dict(medians.filter(query=query).select("placement", "elapsed_s").rows()) for query in measured}
    shares = {query: _io_share(named.filter(query=query, placement="all_hdd")) for query in measured}
    return {**found, "io_share": shares, **by_size(rows)}


def _io_share(rows: pl.DataFrame) -> dict[str, float]:
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
