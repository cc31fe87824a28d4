"""Source H, second battery: which files of a survey's database gain most on an array of SSDs, the others staying on the disks?

A trial is one query, cold, on one placement: everything on the disks, or the indexes, the table Source, or the table Detection on the
SSDs. The source does not print its queries; ours follow its names and the archives' way to ask, and every plan is asserted: a chain
of nested loops, each step through one index.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, Final, Literal

import polars as pl
from pydantic import Field

from tierwise.bench.lab import Lab
from tierwise.bench.moved import Rows, Touched, load_once, place, planned_before, relations_of, sizes_bytes, touched
from tierwise.bench.study import Study, Trial, same_answers
from tierwise.core import paths
from tierwise.core.errors import InputError
from tierwise.core.pairs import Pair
from tierwise.core.profiles import Profile
from tierwise.core.toml import Strict
from tierwise.core.units import MIB
from tierwise.core.words import CacheState, IoArm, RelationClass, Substrate
from tierwise.datasets import survey
from tierwise.datasets.dataset import Dataset
from tierwise.postgres.cold import relation_files
from tierwise.postgres.plans import assert_plan, planned
from tierwise.postgres.relations import moving
from tierwise.postgres.settings import Connection
from tierwise.timings.schema import Timing

NAME: Final = "survey_placement"
SCHEMA: Final = "survey"
TABLES: Final = tuple(name.lower() for name in survey.NAMES)
RELATIONS: Final = tuple(relations_of(list(survey.load_tables().values())))
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
"""In a trial's cell in place of a query: what the placement has on the SSDs is copied there from the disks, and back."""
PUBLISHED_DETECTIONS: Final = 1e8
"""Assumed, since the source does not state it: 130 s for a join that reads Detection on the SSDs, at the 554 MB/s that its scan of the
other battery means, are some 70 GB, in rows like ours. It decides how far seeks are stretched, nothing else."""
ROOM_BYTES: Final = 16 * MIB
"""Beside the profile's share of the data, for catalogues (assumed)."""
MATCH_DEG: Final = 1 / 3600
BY_INDEX: Final = (
    f"SET search_path = {SCHEMA}",
    "SET join_collapse_limit = 1",
    "SET enable_hashjoin = off",
    "SET enable_mergejoin = off",
    "SET enable_material = off",
    "SET enable_memoize = off",
    "SET enable_bitmapscan = off",
    "SET enable_indexonlyscan = off",
    "SET enable_seqscan = off",
)
"""The joins in the order of the text, each step through an index."""
FLUSHED: Final = (f"SET search_path = {SCHEMA}", "SET wal_skip_threshold = 0")
"""What is moved is flushed at the end, however small it is here, as the published tables would be: not read back into the log."""
LIGHT_CURVE: Final = (
    "SELECT s.sourceID, m.filterID, m.mjdObs, d.aperMag3, d.aperMag3err FROM {sources} "
    "JOIN BestMatch AS b ON b.sourceID = s.sourceID "
    "JOIN Detection AS d ON d.multiframeID = b.multiframeID AND d.extNum = b.extNum AND d.seqNum = b.seqNum "
    "JOIN Multiframe AS m ON m.multiframeID = d.multiframeID WHERE {which}"
)


QueryName = Literal["light_curves", "variable_light_curves", "join_single", "join_several"]


@dataclass(frozen=True, slots=True)
class Query:
    """A statement in which names in braces are filled in from `_facts`, and the plan that it must have."""

    text: str
    nodes: tuple[str, ...]


QUERIES: Final[dict[str, Query]] = {
    "light_curves": Query(
        LIGHT_CURVE.format(sources="Source AS s", which="s.ra BETWEEN {ra} AND {curves_ra}"),
        (
            "Nested Loop",
            "Nested Loop",
            "Nested Loop",
            "Index Scan using source_ra on source",
            "Index Scan using bestmatch_pkey on bestmatch",
            "Index Scan using detection_pkey on detection",
            "Index Scan using multiframe_pkey on multiframe",
        ),
    ),
    "variable_light_curves": Query(
        LIGHT_CURVE.format(
            sources="Variability AS v JOIN Source AS s ON s.sourceID = v.sourceID",
            which="v.variableClass = 1 AND v.frameSetID = {variable_set}",
        ),
        (
            "Nested Loop",
            "Nested Loop",
            "Nested Loop",
            "Nested Loop",
            "Index Scan using variability_variableclass on variability",
            "Index Scan using source_pkey on source",
            "Index Scan using bestmatch_pkey on bestmatch",
            "Index Scan using detection_pkey on detection",
            "Index Scan using multiframe_pkey on multiframe",
        ),
    ),
    "join_single": Query(
        "SELECT s.sourceID, d.objID, d.mjd, d.psfMag FROM Detection AS d "
        "JOIN Source AS s ON s.ra BETWEEN d.ra - {match_deg} AND d.ra + {match_deg} "
        "AND abs(s.dec - d.dec) <= {match_deg} WHERE d.filterID = 1 AND d.psfMag < 17",
        # no index knows of filters and magnitudes, so that Detection is read from end to end all the same
        ("Nested Loop", "Seq Scan on detection", "Index Scan using source_ra on source"),
    ),
    "join_several": Query(
        "SELECT s.sourceID, d.objID, d.mjd, d.psfMag FROM Source AS s "
        "JOIN MergeLog AS l ON l.frameSetID = s.frameSetID "
        "JOIN Detection AS d ON d.multiframeID = l.umfID AND d.extNum = l.ueNum AND d.seqNum = s.uSeqNum "
        "WHERE s.ra BETWEEN {ra} AND {joined_ra}",
        (
            "Nested Loop",
            "Nested Loop",
            "Index Scan using source_ra on source",
            "Index Scan using mergelog_pkey on mergelog",
            "Index Scan using detection_pkey on detection",
        ),
    ),
}


class Grid(Strict):
    """The study's table in a profile."""

    blocks: int = Field(default=5, ge=1)
    arms: tuple[IoArm, ...] = Field(default=(IoArm.DIRECT,), description="of the profile's; a server without direct I/O has the other")
    share: float = Field(default=1.0, gt=0, le=1, description="of the sources that the profile's fraction would give")
    queries: tuple[QueryName, ...] = ("light_curves", "variable_light_curves", "join_single", "join_several")
    light_curves: int = Field(default=20, ge=1, description="sources whose light curves are asked for")
    joined: int = Field(default=400, ge=1, description="sources of the join by several indexes")


def grid(profile: Profile) -> Grid:
    """The study's table of `profile`."""
    return profile.study(NAME, Grid)


def arms(profile: Profile) -> list[IoArm]:
    """The ways of I/O that the study is asked in."""
    return [arm for arm in grid(profile).arms if arm in profile.arms] or list(profile.arms)


def acquire(*, profile: Profile, seed: int) -> dict[str, Dataset]:
    """The survey's tables as a run of `profile` has them, by name; made where they are not there yet."""
    return survey.acquire(fraction=profile.fraction * grid(profile).share, seed=seed, folder=paths.data() / "external" / "survey")


def trials(profile: Profile, pair: Pair) -> tuple[Trial, ...]:
    """Each query on each placement, by each way of I/O; the move to it and back by the first. Nobody waits for a simulated move."""
    ssd = next((name for name in SSDS if name in pair.tiers), None)
    if ssd is None or "hdd" not in pair.tiers:
        where = f"data/tiers/{pair.name}.toml"
        raise InputError(where, field="tiers", value=sorted(pair.tiers), rule=f"{NAME} needs a tier named 'hdd', and one of {SSDS}")
    return tuple(
        Trial(
            cell={"placement": placement, "query": query, "ssd": ssd, "arm": str(arm)},
            arm=arm,
            tiers=frozenset({"hdd", ssd} if PLACEMENTS[placement] else {"hdd"}),
            preparation=f"placement={'all_hdd' if query == MOVE else placement}",
        )
        for arm, placement, query in product(arms(profile), PLACEMENTS, (*grid(profile).queries, MOVE))
        if query != MOVE or (PLACEMENTS[placement] and arm is arms(profile)[0] and pair.substrate is not Substrate.SIMULATED)
    )


def published_share(lab: Lab) -> float:
    """Detections of this run over those that the source's database is taken to have."""
    return _datasets(lab)["Detection"].rows / PUBLISHED_DETECTIONS


def _datasets(lab: Lab) -> dict[str, Dataset]:
    """Looked up once: to see that they are whole, all of them are read."""
    if "datasets" not in lab.memory:
        lab.memory["datasets"] = acquire(profile=lab.profile, seed=lab.seed)
        for one in lab.memory["datasets"].values():
            lab.note_dataset(one)
    data: dict[str, Dataset] = lab.memory["datasets"]
    return data


def prepare(trial: Trial, lab: Lab) -> None:
    """Every relation on its tier; what each query must read, found out once."""
    ssd = str(trial.cell["ssd"])
    on_ssd = () if trial.cell["query"] == MOVE else PLACEMENTS[str(trial.cell["placement"])]
    with lab.loading() as connection:
        _load(connection, lab)
        place(connection, {name: ssd if name in on_ssd else "hdd" for name in RELATIONS})
        lab.memory["files"] = relation_files(connection, RELATIONS)
    _touched(lab)


def _load(connection: Connection, lab: Lab) -> None:
    """The survey, loaded on the disks where it is not there yet, and what the queries ask for."""
    tables, data = survey.load_tables(), _datasets(lab)
    load_once(connection, SCHEMA, "hdd", [Rows(tables[name], data[name].parquet, data[name].rows) for name in survey.NAMES])
    lab.memory["size_bytes"] = sizes_bytes(connection, RELATIONS)
    if "facts" not in lab.memory:
        lab.memory["facts"] = _facts(connection, grid(lab.profile))


def _facts(connection: Connection, asked: Grid) -> dict[str, Any]:
    """Where in the sky there are as many sources as asked for, from the median right ascension on, and a set of frames with a variable."""
    positions = [ra for (ra,) in connection.execute("SELECT ra FROM source ORDER BY ra").fetchall()]
    first = len(positions) // 2
    found = connection.execute("SELECT frameSetID FROM variability WHERE variableClass = 1 ORDER BY sourceID LIMIT 1").fetchone()
    return {
        "ra": positions[first],
        "curves_ra": positions[min(first + asked.light_curves, len(positions)) - 1],
        "joined_ra": positions[min(first + asked.joined, len(positions)) - 1],
        "variable_set": found[0] if found else 0,
        "match_deg": MATCH_DEG,
    }


def statement(query: str, facts: Mapping[str, Any]) -> str:
    """The text of a query."""
    return QUERIES[query].text.format_map(facts)


def _touched(lab: Lab) -> dict[str, Touched]:
    """What each query reads, from empty caches; no move changes it."""
    if "touched" not in lab.memory:
        facts = lab.memory["facts"]
        asked = {name: statement(name, facts) for name in grid(lab.profile).queries}
        lab.memory["touched"] = {name: touched(lab, RELATIONS, text, planned_before(BY_INDEX, text)) for name, text in asked.items()}
    known: dict[str, Touched] = lab.memory["touched"]
    return known


def memory_bytes(lab: Lab) -> int:
    """Enough that a block is read once: the profile's share of the data, and room."""
    sizes: dict[str, int] = lab.memory["size_bytes"]
    return round(lab.profile.memory_fraction * sum(sizes.values())) + ROOM_BYTES


def measure(trial: Trial, lab: Lab) -> Iterator[Timing]:
    """The query, cold; its plan is looked at afterwards. Or the move to the placement and back."""
    name = str(trial.cell["query"])
    if name == MOVE:
        yield from _moved(trial, lab)
        return
    asked = statement(name, lab.memory["facts"])
    setup = planned_before(BY_INDEX, asked)
    with lab.cold(RELATIONS, lab.memory["files"], asked, arm=trial.arm, shared_buffers_bytes=memory_bytes(lab), setup=setup) as session:
        yield lab.timed(session, asked, cache=CacheState.COLD, cell=trial.cell, expected=_touched(lab)[name].blocks, listing=True)
        assert_plan(planned(session.connection, asked), QUERIES[name].nodes)


def _moved(trial: Trial, lab: Lab) -> Iterator[Timing]:
    """What the placement has on the SSDs, copied there from the disks and then back, by a server that holds none of it."""
    kinds = {name: RelationClass.TABLE if name in TABLES else RelationClass.INDEX for name in PLACEMENTS[str(trial.cell["placement"])]}
    with lab.cold(
        RELATIONS,
        lab.memory["files"],
        "SELECT 1",
        arm=trial.arm,
        shared_buffers_bytes=memory_bytes(lab),
        setup=FLUSHED,
        alone=False,
    ) as session:
        for way, tier in (("there", str(trial.cell["ssd"])), ("back", "hdd")):
            yield lab.timed(session, moving(kinds, tier), cache=CacheState.NONE, cell={**trial.cell, "way": way})
        lab.memory["files"] = relation_files(session.connection, RELATIONS)


def describe(lab: Lab) -> dict[str, Any]:
    """Sizes, statements, and the blocks that each query reads of each relation."""
    with lab.loading() as connection:
        _load(connection, lab)
    return {
        "size_bytes": lab.memory["size_bytes"],
        "memory_bytes": memory_bytes(lab),
        "on_ssd": {name: list(relations) for name, relations in PLACEMENTS.items()},
        "touched": {name: {relation: count for relation, count in found.blocks.items() if count} for name, found in _touched(lab).items()},
        "statements": {name: statement(name, lab.memory["facts"]) for name in _touched(lab)},
    }


def summarise(rows: pl.DataFrame) -> dict[str, Any]:
    """Median seconds of each placement by query; and, of everything on the disks, the share of each relation in the storage's time."""
    words = {name: pl.col("cell").str.json_path_match(f"$.{name}") for name in ("query", "placement")}
    named = rows.with_columns(**words)
    medians = named.group_by("query", "placement").agg(pl.col("elapsed_s").median()).sort("placement")
    asked = [query for query in QUERIES if query in set(named["query"])]
    found: dict[str, Any] = {query: dict(medians.filter(query=query).select("placement", "elapsed_s").rows()) for query in asked}
    return {**found, "io_share": {query: _io_share(named.filter(query=query, placement="all_hdd")) for query in asked}}


def _io_share(rows: pl.DataFrame) -> dict[str, float]:
    """Relation -> its part of the storage's time; empty where nothing counted it."""
    each = rows.select(pl.col("relation_io").explode()).unnest("relation_io").group_by("relation").agg(pl.col("io_s").sum())
    total_s = each["io_s"].sum()
    return {relation: io_s / total_s for relation, io_s in sorted(each.rows()) if io_s} if total_s else {}


STUDY: Final = Study(
    name=NAME,
    source="H",
    question="Which files of a survey's database gain most on SSDs: indexes, the sources, or the detections?",
    published_share=published_share,
    trials=trials,
    prepare=prepare,
    measure=measure,
    describe=describe,
    check=same_answers,
    summarise=summarise,
)
