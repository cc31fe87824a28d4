"""The queries of the survey's second battery, and the plans that they must have."""

from dataclasses import asdict, dataclass
from typing import Final, Literal, get_args

from tierwise.bench.loaded_tables import relations_of
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
LIGHT_CURVE: Final = (
    "SELECT s.sourceID, m.filterID, m.mjdObs, d.aperMag3, d.aperMag3err FROM {sources} "
    "JOIN BestMatch AS b ON b.sourceID = s.sourceID "
    "JOIN Detection AS d ON d.multiframeID = b.multiframeID AND d.extNum = b.extNum AND d.seqNum = b.seqNum "
    "JOIN Multiframe AS m ON m.multiframeID = d.multiframeID WHERE {which}"
)


QueryName = Literal["light_curves", "variable_light_curves", "join_single", "join_several"]
QUERY_NAMES: Final[tuple[str, ...]] = get_args(QueryName)
SORT: Final = "sort"  # in place of a query: a sort of whole rows of the table `SORTED`, which spills to temporary files
SORTED: Final = "bestmatch"


@dataclass(frozen=True, slots=True)
class Query:
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
    SORT: Query(
        f"SELECT count(b) FROM (SELECT * FROM {SORTED} ORDER BY seqNum, sourceID OFFSET 0) AS b",
        ("Aggregate", "Subquery Scan", "Sort", f"Seq Scan on {SORTED}"),
    ),
}


@dataclass(frozen=True, slots=True)
class Facts:
    """Parameters of the queries: a range of the sky with the desired number of sources, and a frame set with a variable."""

    ra: float
    curves_ra: float
    joined_ra: float
    variable_set: int
    match_deg: float = MATCH_DEG

    def statement(self, query: str) -> str:
        return QUERIES[query].text.format_map(asdict(self))


def find_facts(connection: Connection, *, light_curves: int, joined: int) -> Facts:
    positions = [ra for (ra,) in connection.execute("SELECT ra FROM source ORDER BY ra").fetchall()]
    first = len(positions) // 2
    found = connection.execute("SELECT frameSetID FROM variability WHERE variableClass = 1 ORDER BY sourceID LIMIT 1").fetchone()
    return Facts(
        ra=positions[first],
        curves_ra=positions[min(first + light_curves, len(positions)) - 1],
        joined_ra=positions[min(first + joined, len(positions)) - 1],
        variable_set=found[0] if found else 0,
    )
