"""The survey, first battery: what do arrays of disks and of SSDs do to three queries on a catalog of the sky?

A trial is one query, cold, with the whole database (the table twomass_psc and its indexes) on one of four subsystems. The queries are as
printed, where AND binds tighter than OR, or as evidently meant. Each subsystem holds a copy, loaded in the same order, with the same
statistics: a cold query must miss the same pages on all. At the published size, which is too large to load, the devices are simulated.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any, Final

from pydantic import Field

from tierwise.bench.loaded_tables import ColdPages, Rows, cold_pages, load_once, planned_before, relations_of, sizes_bytes, take_statistics
from tierwise.bench.recording import Observed, Recorder
from tierwise.bench.study import Cell as AnyCell
from tierwise.bench.study import IoModes, Study, Trial, replicate_seed, same_answers
from tierwise.bench.testbed import ColdQuery, Testbed
from tierwise.core import paths
from tierwise.core.errors import EvidenceError
from tierwise.core.pairs import Pair
from tierwise.core.profiles import Profile
from tierwise.core.progress import Progress
from tierwise.core.toml import Strict
from tierwise.core.units import GIB, KIB, PAGE_BYTES
from tierwise.core.vocabulary import Cache, Evidence, IoMode
from tierwise.datasets import sky
from tierwise.datasets.dataset import Dataset
from tierwise.datasets.sky.columns import Form
from tierwise.postgres.cold_proof import relation_files
from tierwise.postgres.plans import assert_plan, planned
from tierwise.postgres.settings import PINNED_BYTES
from tierwise.simulate.table_reads import Reading, duration_s, lookups, parts_in_order, whole
from tierwise.tiers.open import device_model
from tierwise.timings.replicates import REPLICATES

IDEAL_REQUEST_BYTES: Final = 512 * KIB
IDEAL_DEPTH: Final = 8
"""One for each drive; with 32 the simulated disks' reordering makes them lose turns and up to twice as slow, though not with every seed."""
OURS_REQUEST_BYTES: Final = 128 * KIB  # PostgreSQL 18's largest request (io_combine_limit)
REQUESTS_KIB: Final = (8, 16, 32, 64, 128, 256)
FRAGMENTED: Final = (0.01, 0.1, 1.0)
OURS: Final = "as PostgreSQL reads here"
IDEAL: Final = "ideal"


class Hunt(Strict):
    requests: int = Field(default=256, ge=16, description="of each reading")
    seeds: int = Field(default=5, ge=1)


@dataclass(frozen=True, slots=True)
class Query:
    """A query at the published size: pages that the live plan reads of table and indexes, in proportion, and rows found."""

    name: str
    form: str
    scanned: bool  # the plan reads the whole table
    heap_pages: float
    index_pages: float
    rows: float


def ways(query: Query, table_bytes: float) -> Iterator[tuple[str, list[Reading]]]:
    """Yield (name, readings in sequence); the first two are no way of the hunt: this server's, and the ideal.

    Every other way changes one thing of the ideal reading: the whole table in requests of 512 KiB, eight outstanding, in order of address.
    No value is fitted: all steps were chosen before, and all are reported.
    """
    ideal = whole(table_bytes, request_bytes=IDEAL_REQUEST_BYTES, depth=IDEAL_DEPTH)
    if query.scanned:
        yield OURS, [whole(table_bytes, request_bytes=OURS_REQUEST_BYTES)]
    else:
        index = whole(query.index_pages * PAGE_BYTES, request_bytes=PAGE_BYTES)
        yield OURS, [index, parts_in_order(query.heap_pages * PAGE_BYTES, table_bytes, request_bytes=OURS_REQUEST_BYTES)]
    yield IDEAL, [ideal]
    for size_kib in REQUESTS_KIB:
        yield f"requests of {size_kib} KiB", [whole(table_bytes, request_bytes=size_kib * KIB, depth=IDEAL_DEPTH)]
    yield "one request at a time", [replace(ideal, depth=1)]
    for share in FRAGMENTED:
        yield f"fragmented, {100 * share:g} % of the requests elsewhere", [replace(ideal, scattered=share)]
    yield "a lookup for each row found", [lookups(query.rows, depth=IDEAL_DEPTH)]


def published_size(testbed: Testbed, queries: Sequence[Query], hunt: Hunt, *, table_bytes: float) -> list[dict[str, Any]]:
    """Return seconds of every query, way and tier, by seed, on devices that hold the whole table, unstretched; real disks are left out."""
    seeds = [replicate_seed(testbed.seed, number) for number in range(hunt.seeds)]
    tiers = []
    for name, spec in testbed.pair.tiers.items():
        device = device_model(spec, stretch=1.0, seed=testbed.seed)
        if device is not None and device.capacity_bytes > table_bytes:
            tiers.append(name)

    def took_s(tier: str, reading: Reading, seed: int) -> float:
        device = device_model(testbed.pair.tiers[tier], stretch=1.0, seed=seed)
        assert device is not None, "the tiers were chosen for their devices"
        return duration_s(device, reading, table_bytes, requests=hunt.requests, seed=seed)

    known: dict[tuple[str, Reading], list[float]] = {}
    found = []
    progress = Progress("simulating the published size", len(queries))
    for query in queries:
        for way, readings in ways(query, table_bytes):
            seconds: dict[str, list[float]] = {}
            for tier in tiers:
                for reading in readings:
                    if (tier, reading) not in known:  # queries share the readings of the whole table
                        known[tier, reading] = [took_s(tier, reading, seed) for seed in seeds]
                seconds[tier] = [sum(parts) for parts in zip(*(known[tier, reading] for reading in readings), strict=True)]
            found.append(
                {
                    "query": query.name,
                    "form": query.form,
                    "method": way,
                    "hunted": way not in {OURS, IDEAL},
                    "evidence": str(Evidence.SIMULATED),
                    REPLICATES: list(range(hunt.seeds)),
                    "seconds": seconds,
                    "bytes": sum(reading.requests * reading.request_bytes for reading in readings),
                }
            )
        progress.step()
    return found


NAME: Final = "survey_arrays"
SUBSYSTEMS: Final = ("hdd", "hdd_raid0", "ssd", "ssd_raid5")
PRINTED: Final[Form] = "printed"
FIRST: Final = "hdd"  # every pair has it, and all copies get the planner's statistics of its copy
TABLE: Final = sky.PSC.name
RELATIONS: Final = tuple(relations_of([sky.PSC]))
PUBLISHED_MEMORY_BYTES: Final = 16 * GIB
SPARE_BYTES: Final = PINNED_BYTES
"""Memory for read-ahead beside the share of the data. It does not shrink, so that requests have one size at every scale."""
SWITCHES: Final = ("SET enable_seqscan = off", "SET enable_indexscan = off", "SET enable_indexonlyscan = off")
"""A bitmap scan where an index can help, as the source's "indexed columns" suggest; else the sequential scan remains."""
ROOTS: Final = {
    "indexed": f"Bitmap Heap Scan on {TABLE}",
    "non_indexed": f"Seq Scan on {TABLE}",
    "mixed": f"Bitmap Heap Scan on {TABLE}",
}


class Grid(Strict):
    replicates: int = Field(default=5, ge=1)
    io_modes: IoModes = (IoMode.ASYNCHRONOUS,)
    share: float = Field(default=1.0, gt=0, le=1, description="of the rows that the profile's fraction would give")
    forms: tuple[Form, ...] = ("printed",)
    hunt: Hunt = Hunt()


@dataclass(frozen=True, slots=True)
class Cell(AnyCell):
    tier: str
    query: str
    form: Form
    io_mode: IoMode


@dataclass
class StudyState:
    data: Dataset
    files: dict[str, list[Path]] = field(default_factory=dict)
    cold_pages: dict[tuple[str, Form], ColdPages] = field(default_factory=dict)


def grid(profile: Profile) -> Grid:
    return profile.study(NAME, Grid)


def acquire(source: str, *, profile: Profile, seed: int) -> Dataset:
    fraction = profile.fraction * sky.PROFILE_SHARE * grid(profile).share
    return sky.acquire(source, fraction=fraction, seed=seed, folder=paths.data() / "external" / "sky")


def trials(profile: Profile, pair: Pair) -> tuple[Trial[Cell], ...]:
    """Return each query in each form on each subsystem of the pair; forms with one meaning once, as printed."""
    subsystems = [name for name in SUBSYSTEMS if name in pair.tiers]
    pair.require([FIRST], NAME)
    ways = profile.possible(grid(profile).io_modes)
    return tuple(
        Trial(Cell(tier, query, form, io_mode), io_mode, frozenset({tier}), preparation=f"tier={tier}")
        for io_mode, tier in product(ways, subsystems)
        for query, form in queries(profile)
    )


def queries(profile: Profile) -> list[tuple[str, Form]]:
    known = sky.load_queries().queries
    return [
        (name, form)
        for name, form in product(sky.QUERY_NAMES, grid(profile).forms)
        if form == PRINTED or known[name].meant.where != known[name].printed.where
    ]


def statement(query: str, form: Form) -> str:
    return sky.load_queries().queries[query].form(form).statement


def begin(testbed: Testbed) -> StudyState:
    data = acquire(testbed.source_of("sky"), profile=testbed.profile, seed=testbed.seed)
    testbed.note_dataset(data)
    return StudyState(data)


def published_share(testbed: Testbed, study_state: StudyState) -> float:  # noqa: ARG001 - the same on every pair
    return study_state.data.rows / sky.ROWS


def prepare(trial: Trial[Cell], testbed: Testbed, study_state: StudyState) -> None:
    tier = trial.cell.tier
    if tier not in study_state.files:
        with testbed.loading() as connection:
            for copy in dict.fromkeys((FIRST, tier)):
                load_once(connection, schema_of(copy), copy, [Rows(sky.PSC, study_state.data.parquet, study_state.data.rows)])
            if tier != FIRST:
                take_statistics(connection, [sky.PSC], schema_of(tier), of=schema_of(FIRST))
            study_state.files[tier] = relation_files(connection, RELATIONS)
    _find_cold_pages(testbed, study_state, tier)


def schema_of(tier: str) -> str:
    return f"on_{tier}"


def setup(tier: str) -> tuple[str, ...]:
    return (f"SET search_path = {schema_of(tier)}", *SWITCHES)


def _find_cold_pages(testbed: Testbed, study_state: StudyState, tier: str) -> None:
    if not study_state.cold_pages:
        statements = {(query, form): statement(query, form) for query, form in queries(testbed.profile)}
        for key, text in statements.items():
            study_state.cold_pages[key] = cold_pages(testbed, RELATIONS, text, planned_before(setup(tier), text))


def memory_bytes(testbed: Testbed, study_state: StudyState) -> int:
    """Return the source's RAM, reduced as the data are, and the space that does not shrink."""
    return round(PUBLISHED_MEMORY_BYTES * published_share(testbed, study_state)) + SPARE_BYTES


def measure(trial: Trial[Cell], testbed: Testbed, study_state: StudyState, recorder: Recorder) -> Observed:
    query, form, tier = trial.cell.query, trial.cell.form, trial.cell.tier
    known = study_state.cold_pages[query, form]
    if known.nodes[0] != ROOTS[query]:
        raise EvidenceError(f"{NAME}: the plan of {query} is another one: expected {ROOTS[query]}; found {' > '.join(known.nodes)}")
    text = statement(query, form)
    memory, before = memory_bytes(testbed, study_state), planned_before(setup(tier), text)
    cold_query = ColdQuery(RELATIONS, study_state.files[tier], text, before, memory)
    with testbed.cold(cold_query, io_mode=trial.io_mode, recorder=recorder) as session:
        cold = testbed.timed(session, text, cache=Cache.COLD, cell=trial.coordinates, expected=known.pages, listing=True)
        assert_plan(planned(session.connection, text), known.nodes)
    return recorder.observed(cold)


def describe(testbed: Testbed, study_state: StudyState) -> dict[str, Any]:
    with testbed.loading() as connection:
        load_once(connection, schema_of(FIRST), FIRST, [Rows(sky.PSC, study_state.data.parquet, study_state.data.rows)])
        size_bytes = sizes_bytes(connection, RELATIONS)
    _find_cold_pages(testbed, study_state, FIRST)
    share = published_share(testbed, study_state)
    clauses = sky.load_queries().queries
    at_published_size = [
        Query(
            name=query,
            form=form,
            scanned=found.nodes[0].startswith("Seq Scan"),
            heap_pages=found.pages[TABLE] / share,
            index_pages=sum(count for name, count in found.pages.items() if name != TABLE) / share,
            rows=clauses[query].form(form).published_rows,
        )
        for (query, form), found in study_state.cold_pages.items()
    ]
    table_bytes = size_bytes[TABLE] / share
    simulated = published_size(testbed, at_published_size, grid(testbed.profile).hunt, table_bytes=table_bytes)
    return {
        "size_bytes": size_bytes,
        "published_bytes": table_bytes,
        "memory_bytes": memory_bytes(testbed, study_state),
        "touched": {", ".join(key): {"pages": found.pages, "plan": list(found.nodes)} for key, found in study_state.cold_pages.items()},
        "row_bytes": size_bytes[TABLE] / study_state.data.rows,
        "pages": size_bytes[TABLE] // PAGE_BYTES,
        **{name: [one for one in simulated if one["query"] == name] for name in sky.QUERY_NAMES},
    }


STUDY: Final = Study(
    name=NAME,
    source="H",
    question="What do arrays of disks and of SSDs do to queries on indexed, on non-indexed and on mixed columns?",
    begin=begin,
    published_share=published_share,
    trials=trials,
    prepare=prepare,
    measure=measure,
    describe=describe,
    check=same_answers,
)
