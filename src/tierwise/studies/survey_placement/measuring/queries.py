"""The queries of the survey's second battery, and the plans that they must have; one join at several sizes of its data."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final, Literal, get_args

from tierwise.bench.loaded_tables import Rows, cold_pages, load_once, planned_before, relations_of, sizes_bytes
from tierwise.bench.query_scaling import ScaledQuery, Scales, Size, can_be_recorded, simulated
from tierwise.bench.testbed import Testbed
from tierwise.core.toml import Strict, read_table, validate
from tierwise.datasets import survey
from tierwise.postgres.cold_proof import relation_files
from tierwise.postgres.settings import Connection
from tierwise.timings.replicates import Facts

RELATIONS: Final = tuple(relations_of(list(survey.load_tables().values())))
SCHEMA: Final = "survey"
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
    "SET random_page_cost = 1",
)
"""Joins in the order of the text, each step through an index. Random pages cost as much as sequential ones, or the planner reads a small
table whole by an index in the table's order.
"""


QueryName = Literal["light_curves", "variable_light_curves", "join_single", "join_several"]
QUERY_NAMES: Final[tuple[str, ...]] = get_args(QueryName)
SORT: Final = "sort"  # in place of a query: a sort of whole rows of the table `SORTED`, which spills to temporary files
SORTED: Final = "bestmatch"


class Query(Strict):
    text: str
    nodes: tuple[str, ...]


QUERIES: Final = validate(read_table(Path(__file__).with_name("queries.toml")), dict[str, Query], where="queries.toml")


@dataclass(frozen=True, slots=True)
class Parameters:
    """What the queries ask for: a range of the sky with the desired number of sources, and a frame set with a variable."""

    ra: float
    curves_ra: float
    joined_ra: float
    variable_set: int
    match_deg: float = MATCH_DEG

    def statement(self, query: str) -> str:
        return QUERIES[query].text.format_map(asdict(self))


def find_parameters(connection: Connection, *, light_curves: int, joined: int) -> Parameters:
    positions = [ra for (ra,) in connection.execute("SELECT ra FROM source ORDER BY ra").fetchall()]
    first = len(positions) // 2
    found = connection.execute("SELECT frameSetID FROM variability WHERE variableClass = 1 ORDER BY sourceID LIMIT 1").fetchone()
    return Parameters(
        ra=positions[first],
        curves_ra=positions[min(first + light_curves, len(positions)) - 1],
        joined_ra=positions[min(first + joined, len(positions)) - 1],
        variable_set=found[0] if found else 0,
    )


QUERY: Final[QueryName] = "join_single"
SCALED_PLACEMENTS: Final = ("all_hdd", "detection_ssd")


@dataclass(frozen=True, slots=True)
class Common:
    testbed: Testbed
    held_on: str  # a tier without seeks, where smaller surveys are read while their requests are recorded: disks keep their layout
    fraction: float  # of the survey's sources, in the run
    published_rows: float  # of Detection, in the source
    memory_bytes: Callable[[Mapping[str, int]], int]  # of the server, for relations of these sizes
    folder: Path  # of generated rows


def by_scale(
    common: Common, scales: Scales, whole: ScaledQuery, placements: Mapping[str, Mapping[str, str]], *, detections: int
) -> list[Facts]:
    """Return what the join takes on each of `placements` (relation -> tier), a fact for each size; none where the pair is not emulated."""
    if not can_be_recorded(common.testbed):
        return []
    sizes = [*_smaller(common, scales), Size(1.0, detections, common.published_rows, whole)]
    return simulated(common.testbed, sizes, placements, requests=scales.requests)


def join_query(statement: str, schema: str, files: list[Path], memory_bytes: int, expected: Mapping[str, int]) -> ScaledQuery:
    return ScaledQuery(
        RELATIONS, files, statement, planned_before(_within(schema), statement), memory_bytes, expected, QUERIES[QUERY].nodes
    )


def _within(schema: str) -> tuple[str, ...]:
    return (f"SET search_path = {schema}", *BY_INDEX[1:])


def _smaller(common: Common, scales: Scales) -> list[Size]:
    testbed, tables, sizes = common.testbed, survey.load_tables(), []
    with testbed.loading() as connection:
        for number, share in enumerate(sorted(scales.shares)):
            data = survey.acquire(fraction=common.fraction * share, seed=testbed.seed, folder=common.folder)
            schema = f"size_{number}"
            load_once(
                connection, schema, common.held_on, [Rows(tables[name], data[name].parquet, data[name].rows) for name in survey.NAMES]
            )
            memory_bytes = common.memory_bytes(sizes_bytes(connection, RELATIONS))
            statement = find_parameters(connection, light_curves=1, joined=1).statement(QUERY)
            files = relation_files(connection, RELATIONS)
            uncounted = join_query(statement, schema, files, memory_bytes, {})
            sizes.append(Size(share, data["Detection"].rows, common.published_rows, uncounted))
    return [replace(size, scaled_query=_counted(testbed, size.scaled_query)) for size in sizes]


def _counted(testbed: Testbed, query: ScaledQuery) -> ScaledQuery:
    return replace(query, expected=cold_pages(testbed, RELATIONS, query.statement, query.setup).pages)
