"""The queries of the survey's second battery, the plans that they must have, and the join that is simulated at several sizes."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Literal, get_args

from tierwise.bench.loaded_tables import planned_before, relations_of
from tierwise.bench.testbed import ColdQuery
from tierwise.core.toml import Strict, read_table, validate
from tierwise.datasets import survey
from tierwise.postgres.settings import Connection

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


def join_query(statement: str, schema: str, files: list[Path], memory_bytes: int, expected: Mapping[str, int]) -> ColdQuery:
    setup = planned_before((f"SET search_path = {schema}", *BY_INDEX[1:]), statement)
    return ColdQuery(RELATIONS, files, statement, setup, memory_bytes, expected, QUERIES[QUERY].nodes)
