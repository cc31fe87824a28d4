"""Source M: how much sooner does a count by an indexed column answer when the index, or the table, lies on SSD?

Table and index are put on every combination of the two tiers. A trial is one start state on one placement: the count
for that state cold, the same count hot, then the next state's count (cross). Every tier holds its own copy of the
table, loaded in file order, and each copy has one index on ``pob``, which is moved between the tiers.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any, Final

import polars as pl

from tierwise.bench.lab import Lab
from tierwise.bench.study import Placement, Study, Trial
from tierwise.core import paths
from tierwise.core.errors import EvidenceError, InputError
from tierwise.core.pairs import Pair
from tierwise.core.profiles import Profile
from tierwise.core.progress import Progress
from tierwise.core.words import CacheState
from tierwise.datasets import census
from tierwise.datasets.dataset import Dataset
from tierwise.postgres.cold import METAPAGES, expected_pages, relation_files
from tierwise.postgres.loading import copy_parquet
from tierwise.postgres.placement import move
from tierwise.postgres.plans import assert_plan, planned
from tierwise.postgres.settings import Connection
from tierwise.timings.schema import Timing

TIERS: Final = ("hdd", "ssd")
NEXT: Final = {"FL": "PR", "PR": "NV", "NV": "FL"}
"""The source's order of cross tests: after cold and hot of the one, the other."""

PUBLISHED_PLAN: Final = (
    "SET enable_indexonlyscan = off",  # PostgreSQL 8.3 had none
    "SET enable_bitmapscan = off",  # the published plan is a plain index scan
    "SET enable_seqscan = off",
)
RELATIONS: Final = ("census", "pob", "census_pkey")
EXPLAINED_POB: Final = 33
"""The source shows one more plan, for a state that it does not time."""
STATISTICS_TARGET: Final = 10
"""default_statistics_target of PostgreSQL 8.3."""


def statement(state: str) -> str:
    """The published query for `state`."""
    return f"select count(*) from census where pob = {census.STATES[state]}"


def trials(profile: Profile, pair: Pair) -> tuple[Trial, ...]:
    """{table, index} on {hdd, ssd} x start state x I/O arm."""
    absent = [name for name in TIERS if name not in pair.tiers]
    if absent:
        raise InputError(
            f"data/tiers/{pair.name}.toml",
            field="tiers",
            value=sorted(pair.tiers),
            rule=f"index_placement needs a tier named {absent[0]!r}",
        )
    return tuple(
        Trial(
            cell={"table": table, "index": index, "start": start, "arm": str(arm)},
            arm=arm,
            tiers=frozenset({table, index}),
            preparation=f"table={table}/index={index}",
        )
        for arm, table, index, start in product(profile.arms, TIERS, TIERS, census.STATES)
    )


def dataset(lab: Lab) -> Dataset:
    """The census as this run has it; made where it is not there yet, and named in the manifest."""
    data = census.acquire(lab.dataset_source, fraction=lab.profile.fraction, seed=lab.seed, folder=paths.data() / "external" / "census")
    lab.note_dataset(data)
    return data


def published_share(lab: Lab) -> float:
    """Rows of this run over the published rows."""
    return dataset(lab).rows / census.ROWS


def prepare(trial: Trial, lab: Lab) -> None:
    """The trial's copy of the table loaded, its index on the trial's tier."""
    table, index = str(trial.cell["table"]), str(trial.cell["index"])
    with lab.loading() as connection:
        connection.execute(f"SET search_path = on_{table}")
        if connection.execute("SELECT to_regclass('census')").fetchone() == (None,):
            _load(connection, table, lab)
        move(connection, "pob", index)
        lab.memory[table] = _facts(connection)


def _load(connection: Connection, tier: str, lab: Lab) -> None:
    """Load the census onto `tier`, in file order, with the published index; all of it or nothing."""
    data = dataset(lab)
    progress = Progress(f"loading the census onto {tier}", data.rows)
    with connection.transaction():
        connection.execute(f"CREATE SCHEMA on_{tier}")
        connection.execute(f"SET LOCAL default_tablespace = {tier}")
        connection.execute(census.ddl("census"))
        copy_parquet(connection, data.parquet, "census", [column.name for column in census.COLUMNS], progress)
        connection.execute("CREATE INDEX pob ON census (pob) WITH (deduplicate_items = off)")  # as 8.3 built it
        connection.execute(f"SET LOCAL default_statistics_target = {STATISTICS_TARGET}")
        connection.execute("ANALYZE census")
    connection.execute("SELECT count(*) FROM census WHERE rectype IS NULL")  # one full scan sets the hint bits


def _facts(connection: Connection) -> dict[str, Any]:
    """What `measure` needs to know of the copy that the search path names: files, sizes, pages that a cold count must miss."""
    return {
        "files": relation_files(connection, RELATIONS),
        "size_bytes": sum(relation_sizes(connection)[name] for name in ("census", "pob")),
        "expected": {state: _expected(connection, code) for state, code in census.STATES.items()},
    }


def _expected(connection: Connection, code: int) -> dict[str, int]:
    """Planning looks at every index of the table, so the primary key's metapage is missed as well."""
    return {**expected_pages(connection, "census", "pob", f"pob = {code}"), "census_pkey": METAPAGES}


def relation_sizes(connection: Connection) -> dict[str, int]:
    """Bytes of the main fork of each relation."""
    return {name: connection.execute("SELECT pg_relation_size(%s::regclass)", [name]).fetchall()[0][0] for name in RELATIONS}


def measure(trial: Trial, lab: Lab) -> Iterator[Timing]:
    """Cold and hot count of the start state, then the next state's; the plan is looked at afterwards, when that warms nothing."""
    table, start = str(trial.cell["table"]), str(trial.cell["start"])
    facts = lab.memory[table]
    with lab.cold(
        RELATIONS,
        facts["files"],
        statement(start),
        arm=trial.arm,
        shared_buffers_bytes=round(lab.profile.memory_fraction * facts["size_bytes"]),
        setup=(f"SET search_path = on_{table}", *PUBLISHED_PLAN),
    ) as session:
        cell = {**trial.cell, "state": start}
        yield lab.timed(session, statement(start), cache=CacheState.COLD, cell=cell, expected=facts["expected"][start])
        yield lab.timed(session, statement(start), cache=CacheState.HOT, cell=cell)
        yield lab.timed(session, statement(NEXT[start]), cache=CacheState.CROSS, cell={**trial.cell, "state": NEXT[start]})
        assert_plan(planned(session.connection, statement(start)), ["Aggregate", "Index Scan using pob on census"])


def placement(trial: Trial) -> Placement:
    """Table with its primary key, and index; all are predicted from both on ssd, where waiting alters the host's own time least."""
    table, index = str(trial.cell["table"]), str(trial.cell["index"])
    reference = replace(trial, cell={**trial.cell, "table": "ssd", "index": "ssd"})
    return Placement({"census": table, "census_pkey": table, "pob": index}, reference.key)


def describe(lab: Lab) -> dict[str, Any]:
    """Sizes, pages, and what the planner makes of the published queries with and without the published switches."""
    with lab.loading() as connection:
        connection.execute("SET search_path = on_hdd")
        sizes = relation_sizes(connection)
        correlation = connection.execute("SELECT correlation FROM pg_stats WHERE schemaname = 'on_hdd' AND attname = 'pob'").fetchone()
        facts = _facts(connection)
        today = _estimates(connection)
        for command in PUBLISHED_PLAN:
            connection.execute(command)
        published = _estimates(connection)
    return {
        "size_bytes": sizes,
        "cold_blocks": facts["expected"],
        "planner": {
            "statistics_target": STATISTICS_TARGET,
            "correlation": correlation[0] if correlation else None,
            "published_switches": published,
            "today": today,
        },
    }


def _estimates(connection: Connection) -> dict[str, dict[str, Any]]:
    """For each place of birth that the source explains: the scan chosen, its estimated rows and cost, and the rows found."""
    found = {}
    for code in (*census.STATES.values(), EXPLAINED_POB):
        scan = planned(connection, f"select count(*) from census where pob = {code}").nodes[1]
        rows = connection.execute("SELECT count(*) FROM census WHERE pob = %s", [code]).fetchall()[0][0]
        found[str(code)] = {"scan": scan.label, "rows": scan.rows, "total_cost": scan.total_cost, "found_rows": rows}
    return found


def check(rows: pl.DataFrame) -> None:
    """The same count on every placement, in every cache state."""
    answers = rows.group_by("operation").agg(pl.col("result_rows").unique())
    for operation, found in answers.iter_rows():
        if len(found) != 1:
            raise EvidenceError(f"{operation!r} gave different counts on different placements: {sorted(found)}")


STUDY: Final = Study(
    name="index_placement",
    source="M",
    question="How much sooner does a count by an indexed column answer when the index, or the table, lies on SSD?",
    published_share=published_share,
    trials=trials,
    prepare=prepare,
    measure=measure,
    describe=describe,
    check=check,
    placement=placement,
)
