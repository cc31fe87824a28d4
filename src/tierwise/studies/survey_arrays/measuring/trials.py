"""The survey, first battery: what do arrays of disks and of SSDs do to three queries on a catalog of the sky?

A trial is one query, cold, with the whole database (the table twomass_psc and its indexes) on one of four subsystems. The queries
are as printed, where AND binds tighter than OR, or as evidently meant. Each subsystem holds a copy of its own, loaded in the same order,
with the same statistics: a cold query must miss the very same pages on all. At the published size, where nothing can be loaded, the
devices are simulated (`published_size`).
"""

from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, Final

from pydantic import Field

from tierwise.bench.lab import Lab
from tierwise.bench.moved import ColdPages, Rows, cold_pages, load_once, planned_before, relations_of, sizes_bytes, take_statistics
from tierwise.bench.recording import Observed, Recorder
from tierwise.bench.study import Cell as AnyCell
from tierwise.bench.study import Study, Trial, same_answers
from tierwise.core import paths
from tierwise.core.errors import EvidenceError, InputError
from tierwise.core.pairs import Pair
from tierwise.core.profiles import Profile
from tierwise.core.toml import Strict
from tierwise.core.units import GIB, PAGE_BYTES
from tierwise.core.words import Cache, IoArm
from tierwise.datasets import sky
from tierwise.datasets.dataset import Dataset
from tierwise.datasets.sky.queries import Form
from tierwise.postgres.cold import relation_files
from tierwise.postgres.plans import assert_plan, planned
from tierwise.postgres.settings import PINNED_BYTES
from tierwise.studies.survey_arrays.measuring.hunt import Hunt, Query, published_size

NAME: Final = "survey_arrays"
SUBSYSTEMS: Final = ("hdd", "hdd_raid0", "ssd", "ssd_raid5")
PRINTED: Final[Form] = "printed"
FIRST: Final = "hdd"
"""Every pair has it, and the planner's statistics of its copy are those of all."""
TABLE: Final = sky.PSC.name
RELATIONS: Final = tuple(relations_of([sky.PSC]))
PUBLISHED_MEMORY_BYTES: Final = 16 * GIB
ROOM_BYTES: Final = PINNED_BYTES
"""The memory beside the share of the data, in bytes: room for what a session reads ahead, which does not shrink with the data, so that
requests have one size at every scale; catalogues take little of it, and no page of the data is read twice."""
SWITCHES: Final = ("SET enable_seqscan = off", "SET enable_indexscan = off", "SET enable_indexonlyscan = off")
"""A bitmap scan where an index can help, as the source's "indexed columns" ask for; else there is the sequential scan alone."""
ROOTS: Final = {
    "indexed": f"Bitmap Heap Scan on {TABLE}",
    "non_indexed": f"Seq Scan on {TABLE}",
    "mixed": f"Bitmap Heap Scan on {TABLE}",
}


class Grid(Strict):
    """The study's table in a profile."""

    blocks: int = Field(default=5, ge=1)
    arms: tuple[IoArm, ...] = Field(default=(IoArm.DIRECT,), description="of the profile's; a server without direct I/O has the other")
    share: float = Field(default=1.0, gt=0, le=1, description="of the rows that the profile's fraction would give")
    forms: tuple[Form, ...] = ("printed", "meant")
    hunt: Hunt = Hunt()


@dataclass(frozen=True, slots=True)
class Cell(AnyCell):
    """Which query, in which form, on which subsystem."""

    tier: str
    query: str
    form: Form
    arm: IoArm


@dataclass
class Memo:
    """The catalog; by tier, the files of the copy on it; what each query reads, once that was found out."""

    data: Dataset
    files: dict[str, list[Path]] = field(default_factory=dict)
    cold_pages: dict[tuple[str, Form], ColdPages] = field(default_factory=dict)


def grid(profile: Profile) -> Grid:
    """Return the study's table of `profile`."""
    return profile.study(NAME, Grid)


def arms(profile: Profile) -> list[IoArm]:
    """Return the ways of I/O that the study is asked in."""
    return [arm for arm in grid(profile).arms if arm in profile.arms] or list(profile.arms)


def acquire(source: str, *, profile: Profile, seed: int) -> Dataset:
    """Return the catalog as a run of `profile` has it; made where it is not there yet."""
    fraction = profile.fraction * sky.PROFILE_SHARE * grid(profile).share
    return sky.acquire(source, fraction=fraction, seed=seed, folder=paths.data() / "external" / "sky")


def trials(profile: Profile, pair: Pair) -> tuple[Trial[Cell], ...]:
    """Return each query in each form on each subsystem of the pair, what is meant alike once, as printed.

    Other ways of I/O than the first are asked what is printed.
    """
    subsystems = [name for name in SUBSYSTEMS if name in pair.tiers]
    if FIRST not in subsystems:
        raise InputError(
            f"data/tiers/{pair.name}.toml", field="tiers", value=sorted(pair.tiers), rule=f"{NAME} needs a tier named {FIRST!r}"
        )
    ways = arms(profile)
    return tuple(
        Trial(
            cell=Cell(tier, query, form, arm),
            arm=arm,
            tiers=frozenset({tier}),
            preparation=f"tier={tier}",
        )
        for arm, tier in product(ways, subsystems)
        for query, form in queries(profile)
        if arm is ways[0] or form == PRINTED
    )


def queries(profile: Profile) -> list[tuple[str, Form]]:
    """Return (query, form) of each statement that `profile` asks."""
    known = sky.load_queries().queries
    return [
        (name, form)
        for name, form in product(sky.NAMES, grid(profile).forms)
        if form == PRINTED or known[name].meant.where != known[name].printed.where
    ]


def statement(query: str, form: Form) -> str:
    """Return the text of a query."""
    return sky.load_queries().queries[query].form(form).statement


def begin(lab: Lab) -> Memo:
    """Return the catalog, looked up once: to see that it is whole, all of it is read."""
    data = acquire(lab.source_of("sky"), profile=lab.profile, seed=lab.seed)
    lab.note_dataset(data)
    return Memo(data)


def published_share(lab: Lab, memo: Memo) -> float:  # noqa: ARG001 - the same on every pair
    """Return rows of this run over those of the whole catalog."""
    return memo.data.rows / sky.ROWS


def prepare(trial: Trial[Cell], lab: Lab, memo: Memo) -> None:
    """Prepare the copy on the trial's tier, which is made where it is not there yet; what each query must read, found out once."""
    tier = trial.cell.tier
    if tier not in memo.files:
        with lab.loading() as connection:
            for copy in dict.fromkeys((FIRST, tier)):
                load_once(connection, schema_of(copy), copy, [Rows(sky.PSC, memo.data.parquet, memo.data.rows)])
            if tier != FIRST:
                take_statistics(connection, [sky.PSC], schema_of(tier), of=schema_of(FIRST))
            memo.files[tier] = relation_files(connection, RELATIONS)
    _find_cold_pages(lab, memo, tier)


def schema_of(tier: str) -> str:
    """Return the name of the schema with the copy on `tier`."""
    return f"on_{tier}"


def setup(tier: str) -> tuple[str, ...]:
    """Return what a session says before a query on `tier`."""
    return (f"SET search_path = {schema_of(tier)}", *SWITCHES)


def _find_cold_pages(lab: Lab, memo: Memo, tier: str) -> None:
    """What each query reads, from empty caches: found out on the first tier that is asked, and the same on all."""
    if not memo.cold_pages:
        asked = {(query, form): statement(query, form) for query, form in queries(lab.profile)}
        memo.cold_pages = {key: cold_pages(lab, RELATIONS, text, planned_before(setup(tier), text)) for key, text in asked.items()}


def memory_bytes(lab: Lab, memo: Memo) -> int:
    """Return the source's RAM, shrunk as the data are, and the room that does not shrink."""
    return round(PUBLISHED_MEMORY_BYTES * published_share(lab, memo)) + ROOM_BYTES


def measure(trial: Trial[Cell], lab: Lab, memo: Memo, recorder: Recorder) -> Observed:
    """Return the query, cold; its plan is looked at afterwards."""
    query, form, tier = trial.cell.query, trial.cell.form, trial.cell.tier
    known = memo.cold_pages[query, form]
    if known.nodes[0] != ROOTS[query]:
        raise EvidenceError(f"{NAME}: the plan of {query} is another one: expected {ROOTS[query]}; found {' > '.join(known.nodes)}")
    asked = statement(query, form)
    with lab.cold(
        RELATIONS,
        memo.files[tier],
        asked,
        arm=trial.arm,
        shared_buffers_bytes=memory_bytes(lab, memo),
        setup=planned_before(setup(tier), asked),
        recorder=recorder,
    ) as session:
        cold = lab.timed(session, asked, cache=Cache.COLD, cell=trial.coordinates, expected=known.pages, listing=True)
        assert_plan(planned(session.connection, asked), known.nodes)
    return recorder.observed(cold)


def describe(lab: Lab, memo: Memo) -> dict[str, Any]:
    """Return sizes, pages and plans of every query; by query, what the devices take at the published size."""
    with lab.loading() as connection:
        load_once(connection, schema_of(FIRST), FIRST, [Rows(sky.PSC, memo.data.parquet, memo.data.rows)])
        size_bytes = sizes_bytes(connection, RELATIONS)
    _find_cold_pages(lab, memo, FIRST)
    share = published_share(lab, memo)
    clauses = sky.load_queries().queries
    asked = [
        Query(
            name=query,
            form=form,
            scanned=found.nodes[0].startswith("Seq Scan"),
            heap_pages=found.pages[TABLE] / share,
            index_pages=sum(count for name, count in found.pages.items() if name != TABLE) / share,
            rows=clauses[query].form(form).published_rows,
        )
        for (query, form), found in memo.cold_pages.items()
    ]
    table_bytes = size_bytes[TABLE] / share
    simulated = published_size(lab, asked, grid(lab.profile).hunt, table_bytes=table_bytes)
    return {
        "size_bytes": size_bytes,
        "published_bytes": table_bytes,
        "memory_bytes": memory_bytes(lab, memo),
        "touched": {
            f"{query}, {form}": {"pages": found.pages, "plan": list(found.nodes)} for (query, form), found in memo.cold_pages.items()
        },
        "row_bytes": size_bytes[TABLE] / memo.data.rows,
        "pages": size_bytes[TABLE] // PAGE_BYTES,
        **{name: [one for one in simulated if one["query"] == name] for name in sky.NAMES},
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
