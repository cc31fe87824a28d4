"""The census study: how much faster is a count by an indexed column when the index, or the table, lies on SSD?

Table and index are put on every combination of the two tiers. A trial is one start state on one placement: its count cold, then
hot, then the next state's (cross). Every tier holds its own copy of the table, loaded in file order, with one index on ``pob`` that
is moved between the tiers. Variants (`VARIANTS`) change one factor of the published protocol each, with the table on hdd.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, Final

from psycopg import sql
from pydantic import Field

from tierwise.bench.loaded_tables import Rows, create_copy, load_once, sizes_bytes
from tierwise.bench.loaded_tables import cold_pages as cold_pages_of
from tierwise.bench.query_scaling import Scales, Size, by_scale, by_size
from tierwise.bench.recording import Observed, Recorder
from tierwise.bench.study import Cell as AnyCell
from tierwise.bench.study import IoModes, Placement, Study, Trial, same_answers
from tierwise.bench.testbed import ColdQuery, Testbed
from tierwise.core import paths
from tierwise.core.data_sets import SYNTHETIC
from tierwise.core.pairs import Pair
from tierwise.core.profiles import Profile, Sweep
from tierwise.core.toml import Strict
from tierwise.core.units import MIB, PAGE_BYTES
from tierwise.core.vocabulary import Cache, IoMode
from tierwise.datasets import census
from tierwise.datasets.dataset import Dataset
from tierwise.postgres.cold_proof import relation_files, visibility_pages
from tierwise.postgres.plans import IndexScanCost, assert_plan, correlation_of, estimates, planned
from tierwise.postgres.relations import move
from tierwise.postgres.settings import Connection
from tierwise.studies.index_placement.measuring import protocol
from tierwise.studies.index_placement.measuring.protocol import PUBLISHED, RELATIONS, SECOND, STATE, VARIANTS
from tierwise.timings.replicates import Facts

NAME: Final = "index_placement"
TIERS: Final = ("hdd", "ssd")
NEXT: Final = {"FL": "PR", "PR": "NV", "NV": "FL"}  # the source's order of cross tests
STATISTICS_TARGET: Final = 10
SORT_MEMORY: Final = "256MB"
HOT_AGAIN: Final = 15
"""A hot count takes about 1 ms; one scatters by an eighth beside other work, the median of 15, each against reference work, by 5 %."""
EXPLAINED: Final = {12: (12_800, 36_708.78), 33: (11_686, 33_965.20)}
"""Rows and cost of the index scan in the source's EXPLAIN, by place of birth; the source does not time the second."""
PUBLISHED_COST: Final = IndexScanCost(table_pages=1010 * MIB / PAGE_BYTES, index_pages=52 * MIB / PAGE_BYTES, tuples=census.ROWS)
"""The planner's cost at the sizes that the source states."""


FASTEST: Final = (STATE,)
OTHER_STARTS: Final = ("PR", "NV")  # first states of most variants: the two that take a third of the time of all three
STARTS: Final[dict[Sweep, dict[str, tuple[str, ...]]]] = {  # variant -> first states, by the profile's sweep
    Sweep.SAMPLE: dict.fromkeys((protocol.HEAP_CACHED, protocol.BITMAP, protocol.TWO_INDEXES), FASTEST),
    Sweep.DECIDING: {protocol.HEAP_CACHED: FASTEST},
    Sweep.WHOLE: {**dict.fromkeys(set(VARIANTS) - {PUBLISHED}, OTHER_STARTS), protocol.HEAP_CACHED: tuple(census.STATES)},
}


@dataclass(frozen=True, slots=True)
class Cell(AnyCell):
    table: str
    index: str
    start: str
    io_mode: IoMode
    variant: str


class Grid(Strict):
    replicates: int = Field(default=5, ge=1)
    io_modes: IoModes = (IoMode.BUFFERED,)
    today_share: float = Field(default=1.0, gt=0, le=1, description="of the rows, on a pair of today")
    too_small: tuple[str, ...] = Field(default=(), description="workloads on which so few rows give no advice")
    scales: Scales | None = Field(default=None, description="at which one count is simulated as well, on a pair that is emulated")


@dataclass(frozen=True, slots=True)
class Copy:
    """What stays the same when a copy's index is moved: its size with the index, and by state its pages (`_pages`)."""

    size_bytes: int
    pages: Mapping[str, Mapping[str, int]]


@dataclass
class StudyState:
    data: Dataset
    copies: dict[str, Copy] = field(default_factory=dict)
    second: dict[str, dict[str, int]] = field(default_factory=dict)  # pages of a count by two indexes, by its statement
    files: dict[str, list[Path]] = field(default_factory=dict)


def grid(profile: Profile) -> Grid:
    return profile.study(NAME, Grid)


def trials(profile: Profile, pair: Pair) -> tuple[Trial[Cell], ...]:
    """Return {table, index} on {hdd, ssd} x start state, and the profile's variants; a pair of today has the published protocol alone."""
    pair.require(TIERS, NAME)
    return tuple(
        Trial(
            cell=Cell(table, index, start, io_mode, variant),
            io_mode=io_mode,
            tiers=frozenset({table, index}),
            preparation=f"table={table}/index={index}/build={VARIANTS[variant].build}{'/second' if VARIANTS[variant].second else ''}",
            replicated=VARIANTS[variant].build == PUBLISHED,
        )
        for io_mode in profile.possible(grid(profile).io_modes)
        for variant, table, start in _combinations(profile.sweep, is_today=pair.name in profile.today)
        for index in TIERS
    )


def _combinations(sweep: Sweep, *, is_today: bool) -> Iterator[tuple[str, str, str]]:
    if is_today and sweep is not Sweep.WHOLE:
        yield from product([PUBLISHED], ["hdd"], OTHER_STARTS)
        return
    yield from product([PUBLISHED], TIERS, census.STATES)
    if not is_today:
        yield from ((variant, "hdd", start) for variant, starts in STARTS[sweep].items() for start in starts)


def folder() -> Path:
    return paths.data() / "external" / "census"


def begin(testbed: Testbed) -> StudyState:
    share = grid(testbed.profile).today_share if testbed.pair.name in testbed.profile.today else 1.0
    data = census.acquire(testbed.source_of("census"), fraction=testbed.profile.fraction * share, seed=testbed.seed, folder=folder())
    testbed.note_dataset(data)
    return StudyState(data)


def published_share(testbed: Testbed, study_state: StudyState) -> float:  # noqa: ARG001 - the same on every pair
    return study_state.data.rows / census.ROWS


def prepare(trial: Trial[Cell], testbed: Testbed, study_state: StudyState) -> None:
    table, variant = trial.cell.table, VARIANTS[trial.cell.variant]
    with testbed.loading() as connection:
        use_copy(connection, table, variant.build, study_state.data)
        connection.execute(f"DROP INDEX IF EXISTS {SECOND}")  # planning reads a page of every index
        move(connection, "pob", trial.cell.index)
        schema = schema_of(table, variant.build)
        if schema not in study_state.copies:
            study_state.copies[schema] = _copy(connection)
        if variant.second:
            connection.execute(f"CREATE INDEX {SECOND} ON census ({SECOND}) WITH (deduplicate_items = off) TABLESPACE {trial.cell.index}")
        study_state.files[schema] = relation_files(connection, _relations(variant))


def _relations(variant: protocol.Variant) -> tuple[str, ...]:
    return (*RELATIONS, SECOND) if variant.second else RELATIONS


def use_copy(connection: Connection, tier: str, build: str, data: Dataset) -> None:
    """Set the search path to a copy on `tier`, made where it is absent: loaded in file order, or copied from that one and vacuumed."""
    connection.execute(f"SET default_statistics_target = {STATISTICS_TARGET}")
    load_once(connection, schema_of(tier, PUBLISHED), tier, [Rows(protocol.CensusTable(), data.parquet, data.rows)])
    if build != PUBLISHED:
        fill = partial(_copy_rows, of=schema_of(tier, PUBLISHED))
        create_copy(connection, schema_of(tier, build), tier, ["census"], fill, vacuumed=True)


def schema_of(tier: str, build: str) -> str:
    return f"on_{tier}" if build == PUBLISHED else f"on_{tier}_{build}"


def _copy_rows(connection: Connection, of: str) -> None:
    table = protocol.CensusTable()
    columns = sql.SQL(", ").join(sql.Identifier(column.lower()) for column in table.columns)
    rows = sql.SQL("INSERT INTO census ({0}) SELECT {0} FROM {1} ORDER BY id").format(columns, sql.Identifier(of, "census"))
    connection.execute(f"SET LOCAL work_mem = '{SORT_MEMORY}'")
    connection.execute(table.ddl())
    connection.execute(rows)
    for command in (*table.indexes().values(), "ANALYZE census"):
        connection.execute(command)


def _copy(connection: Connection) -> Copy:
    size_bytes = sizes_bytes(connection, RELATIONS)
    return Copy(size_bytes["census"] + size_bytes["pob"], {state: _pages(connection, code) for state, code in census.STATES.items()})


def _pages(connection: Connection, code: int) -> dict[str, int]:
    return {**protocol.cold_pages(connection, code), protocol.MAP: visibility_pages(connection, "census", protocol.predicate(code))}


def measure(trial: Trial[Cell], testbed: Testbed, study_state: StudyState, recorder: Recorder) -> Observed:
    variant, start = VARIANTS[trial.cell.variant], trial.cell.start
    schema = schema_of(trial.cell.table, variant.build)
    copy = study_state.copies[schema]
    sizes = _by_scale(trial, testbed, study_state)  # before the server is started whose settings are recorded
    setup = (f"SET search_path = {schema}", *variant.scan.switches)
    texts = {state: protocol.statement(state, second=variant.second) for state in (start, NEXT[start])}
    expected = _second_pages(testbed, study_state, texts[start], setup) if variant.second else _expected(copy.pages[start], variant)
    memory_bytes = variant.memory_bytes(testbed.profile.memory_fraction, copy.size_bytes)
    query = ColdQuery(_relations(variant), study_state.files[schema], texts[start], setup, memory_bytes)
    with testbed.cold(query, io_mode=trial.io_mode, recorder=recorder, cached=variant.cached) as session:
        first, second = ({**trial.coordinates, "state": state} for state in (start, NEXT[start]))
        cold = testbed.timed(session, texts[start], cache=Cache.COLD, cell=first, expected=expected)
        hot = testbed.timed(session, texts[start], cache=Cache.HOT, cell=first, again=HOT_AGAIN)
        cross = testbed.timed(session, texts[NEXT[start]], cache=Cache.CROSS, cell=second)
        assert_plan(planned(session.connection, texts[start]), variant.scan.nodes)  # last, since planning warms
    return recorder.observed(replace(cold, proof={**cold.proof, **sizes}), hot, cross)


def _by_scale(trial: Trial[Cell], testbed: Testbed, study_state: StudyState) -> Facts:
    scales = grid(testbed.profile).scales
    own = Cell("hdd", "hdd", STATE, trial.io_mode, PUBLISHED)
    if scales is None or trial.cell != own or testbed.pair.name in testbed.profile.today or testbed.source_of("census") != SYNTHETIC:
        return {}
    schema = schema_of("hdd", PUBLISHED)
    copy = study_state.copies[schema]
    memory_bytes = VARIANTS[PUBLISHED].memory_bytes(testbed.profile.memory_fraction, copy.size_bytes)
    query = protocol.count_query(study_state.files[schema], schema, memory_bytes, _expected(copy.pages[STATE], VARIANTS[PUBLISHED]))
    whole = Size(1.0, study_state.data.rows, census.ROWS, query)
    return by_scale(testbed, scales, partial(protocol.smaller_copies, testbed, scales, folder()), whole, protocol.PLACEMENTS)


def _second_pages(testbed: Testbed, study_state: StudyState, text: str, setup: tuple[str, ...]) -> dict[str, int]:
    if text not in study_state.second:
        study_state.second[text] = cold_pages_of(testbed, (*RELATIONS, SECOND), text, setup).pages
    return study_state.second[text]


def _expected(pages: Mapping[str, int], variant: protocol.Variant) -> dict[str, int]:
    table = 0 if "census" in variant.cached else pages[variant.scan.asks]
    return {"census": table, "pob": pages["pob"], "census_pkey": pages["census_pkey"]}


def placement(trial: Trial[Cell]) -> Placement | None:
    """Return where each relation lies, predicted from both on ssd, where waiting changes the host's time least; None for a variant."""
    if trial.cell.variant != PUBLISHED:
        return None
    table, index = trial.cell.table, trial.cell.index
    reference = replace(trial, cell=replace(trial.cell, table="ssd", index="ssd"))
    return Placement({"census": table, "census_pkey": table, "pob": index}, reference.key)


def describe(testbed: Testbed, study_state: StudyState) -> dict[str, Any]:
    measured = trials(testbed.profile, testbed.pair)
    asks_planner = testbed.pair.name not in testbed.profile.today
    with testbed.loading() as connection:
        builds = {}
        for build in sorted({VARIANTS[trial.cell.variant].build for trial in measured}):
            use_copy(connection, "hdd", build, study_state.data)
            builds[build] = {"size_bytes": sizes_bytes(connection, RELATIONS), "cold_pages": _copy(connection).pages}
        planner = {"planner": _planner(connection, study_state.data)} if asks_planner else {}
    return {
        **builds[PUBLISHED],
        "builds": builds,
        "variants": {name: VARIANTS[name].model_dump() for name in sorted({trial.cell.variant for trial in measured})},
        **planner,
    }


def _planner(connection: Connection, data: Dataset) -> dict[str, Any]:
    statements = {str(code): protocol.counting(code) for code in (*census.STATES.values(), *EXPLAINED)}
    use_copy(connection, "hdd", PUBLISHED, data)
    correlation = correlation_of(connection, "census", "pob")
    for command in protocol.PUBLISHED_SCAN.switches:
        connection.execute(command)
    published = estimates(connection, statements)
    return {
        "statistics_target": STATISTICS_TARGET,
        "correlation": correlation,
        "published_switches": published,
        "explained": {str(code): PUBLISHED_COST.explained(rows, cost) for code, (rows, cost) in EXPLAINED.items()},
    }


STUDY: Final = Study(
    name=NAME,
    source="M",
    question="How much sooner does a count by an indexed column answer when the index, or the table, lies on SSD?",
    begin=begin,
    published_share=published_share,
    trials=trials,
    prepare=prepare,
    measure=measure,
    describe=describe,
    check=same_answers,
    summarise=by_size,
    placement=placement,
    today=True,
)
