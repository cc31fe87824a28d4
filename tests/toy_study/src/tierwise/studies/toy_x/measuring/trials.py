"""Source X: what does a search by declination gain where the catalog lies on flash?

A trial is one count over a band of the sky, from empty caches, with the table and its indexes on one tier of the pair.
"""

from dataclasses import dataclass
from typing import Any, Final

from pydantic import Field

from tierwise.bench.loaded_tables import Rows, cold_pages, load_once, planned_before, relations_of, sizes_bytes, take_statistics
from tierwise.bench.recording import Observed, Recorder
from tierwise.bench.study import Cell, Study, Trial, no_study_state, same_answers
from tierwise.bench.testbed import ColdQuery, Testbed
from tierwise.core import paths
from tierwise.core.errors import InputError
from tierwise.core.pairs import Pair
from tierwise.core.profiles import Profile
from tierwise.core.toml import Strict
from tierwise.core.units import MIB
from tierwise.core.vocabulary import Cache, IoMode
from tierwise.datasets import sky
from tierwise.datasets.dataset import Dataset
from tierwise.postgres.cold_proof import relation_files

NAME: Final = "toy_x"
TIERS: Final = ("hdd", "ssd")
RELATIONS: Final = tuple(relations_of([sky.PSC]))
STATEMENT: Final = "SELECT count(*) FROM twomass_psc WHERE dec BETWEEN -10 AND 10"
SWITCHES: Final = ("SET enable_seqscan = off", "SET enable_indexonlyscan = off")
MEMORY_BYTES: Final = 32 * MIB


class Grid(Strict):
    """The study's table in a profile."""

    share: float = Field(default=1.0, gt=0, le=1, description="of the rows that the profile's fraction would give")


@dataclass(frozen=True, slots=True)
class Search(Cell):
    """One search: where the catalog lies, and how it is read."""

    tier: str
    io_mode: IoMode


def trials(profile: Profile, pair: Pair) -> tuple[Trial[Search], ...]:
    """Return the search on each tier, with direct I/O where the server has it."""
    if absent := [tier for tier in TIERS if tier not in pair.tiers]:
        rule = f"{NAME} needs a tier named {absent[0]!r}"
        raise InputError(f"data/tiers/{pair.name}.toml", field="tiers", value=sorted(pair.tiers), rule=rule)
    return tuple(
        Trial(Search(tier, io_mode), io_mode, frozenset({tier}), preparation=f"tier={tier}")
        for io_mode in profile.possible((IoMode.DIRECT,))
        for tier in TIERS
    )


def catalog(testbed: Testbed) -> Dataset:
    """Return the catalog as this run has it; made where it is not there yet, and named in the manifest."""
    fraction = testbed.profile.fraction * sky.PROFILE_SHARE * testbed.profile.study(NAME, Grid).share
    data = sky.acquire(testbed.source_of("sky"), fraction=fraction, seed=testbed.seed, folder=paths.data() / "external" / "sky")
    testbed.note_dataset(data)
    return data


def published_share(testbed: Testbed, study_state: None) -> float:  # noqa: ARG001 - the study has no state
    """Rows of this run over those of the whole catalog."""
    return catalog(testbed).rows / sky.ROWS


def prepare(trial: Trial[Search], testbed: Testbed, study_state: None) -> None:  # noqa: ARG001 - the study has no state
    """Return a copy of the catalog on the trial's tier, with the planner's statistics of the first one."""
    data, first = catalog(testbed), TIERS[0]
    with testbed.loading() as connection:
        for tier in dict.fromkeys((first, trial.cell.tier)):
            load_once(connection, schema_of(tier), tier, [Rows(sky.PSC, data.parquet, data.rows)])
            if tier != first:
                take_statistics(connection, [sky.PSC], schema_of(tier), of=schema_of(first))


def schema_of(tier: str) -> str:
    """Return the copy on `tier`."""
    return f"on_{tier}"


def measure(trial: Trial[Search], testbed: Testbed, study_state: None, recorder: Recorder) -> Observed:  # noqa: ARG001 - no state
    """Return the search, cold: it must miss the very pages that it reads where memory holds them all."""
    path = f"SET search_path = {schema_of(trial.cell.tier)}"
    with testbed.loading() as connection:
        connection.execute(path)
        files = relation_files(connection, RELATIONS)
    before = planned_before((path, *SWITCHES), STATEMENT)
    expected = cold_pages(testbed, RELATIONS, STATEMENT, before).pages
    query = ColdQuery(RELATIONS, files, STATEMENT, before, MEMORY_BYTES)
    with testbed.cold(query, io_mode=trial.io_mode, recorder=recorder) as session:
        return recorder.observed(testbed.timed(session, STATEMENT, cache=Cache.COLD, cell=trial.coordinates, expected=expected))


def describe(testbed: Testbed, study_state: None) -> dict[str, Any]:  # noqa: ARG001 - the study has no state
    """Sizes of the relations."""
    with testbed.loading() as connection:
        connection.execute(f"SET search_path = {schema_of(TIERS[0])}")
        return {"size_bytes": sizes_bytes(connection, RELATIONS)}


STUDY: Final = Study(
    name=NAME,
    source="X",
    question="What does a search by declination gain where the catalog lies on flash?",
    begin=no_study_state,
    published_share=published_share,
    trials=trials,
    prepare=prepare,
    measure=measure,
    describe=describe,
    check=same_answers,
)
