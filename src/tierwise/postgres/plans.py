"""The plan that the server would follow, the assertion that it is the one a study speaks of, and what the planner's costs say of a column.

`IndexScanCost` is after `cost_index`, `index_pages_fetched` (src/backend/optimizer/path/costsize.c) and `genericcostestimate` (selfuncs.c),
which have costed a single index scan alike from before PostgreSQL 8.3 until today, with the same default cost parameters.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from psycopg import sql

from tierwise.core.errors import EvidenceError, InputError
from tierwise.postgres.relations import SQL, find_relation
from tierwise.postgres.settings import Connection, one_value


@dataclass(frozen=True)
class Node:
    type: str
    relation: str | None
    index: str | None
    rows: int
    total_cost: float

    @property
    def label(self) -> str:
        if self.type == "Bitmap Index Scan":
            return f"{self.type} on {self.index}"
        using = f" using {self.index}" if self.index else ""
        return f"{self.type}{using}{f' on {self.relation}' if self.relation else ''}"


def planned(conn: Connection, statement: str) -> list[Node]:
    """Return the nodes of the plan of `statement` under the session's settings, without executing it.

    Never call it before a cold measurement without a restart: planning reads the metapage of every B-tree of the tables.
    """
    (found,) = one_value(conn, sql.SQL("EXPLAIN (FORMAT JSON) {}").format(sql.SQL(statement)))
    return list(_nodes(found["Plan"]))


def labels(plan: Sequence[Node]) -> list[str]:
    return [node.label for node in plan]


def assert_plan(plan: Sequence[Node], nodes: Sequence[str]) -> None:
    if labels(plan) != list(nodes):
        raise EvidenceError(f"the plan is another one: expected {' > '.join(nodes)}; found {' > '.join(labels(plan))}")


def _nodes(node: Mapping[str, Any]) -> Iterator[Node]:
    yield Node(node["Node Type"], node.get("Relation Name"), node.get("Index Name"), node["Plan Rows"], node["Total Cost"])
    for child in node.get("Plans", ()):
        yield from _nodes(child)


RANDOM_PAGE_COST: Final = 4.0
SEQ_PAGE_COST: Final = 1.0
CPU_TUPLE_COST: Final = 0.01
CPU_INDEX_TUPLE_COST: Final = 0.005
CPU_OPERATOR_COST: Final = 0.0025


@dataclass(frozen=True, slots=True)
class IndexScanCost:
    """The planner's cost of fetching rows of a table through a B-tree, without its start-up part (the descent, 0.4: not in 8.3).

    The cache holds the whole table, so that no page is fetched twice. With 8.3's 128 MiB this is true of the published rows too.
    """

    table_pages: float
    index_pages: float
    tuples: float

    def bounds(self, rows: float) -> tuple[float, float]:
        """Return the cost with rows that are strewn over the table, and with rows in the order of the key."""
        share = rows / self.tuples
        index = math.ceil(share * self.index_pages) * RANDOM_PAGE_COST + rows * (CPU_INDEX_TUPLE_COST + CPU_OPERATOR_COST)
        fetched = 2 * self.table_pages * rows / (2 * self.table_pages + rows)  # after Mackert and Lohman
        apart = min(self.table_pages, math.ceil(fetched)) * RANDOM_PAGE_COST
        together = RANDOM_PAGE_COST + max(0, math.ceil(share * self.table_pages) - 1) * SEQ_PAGE_COST
        return index + apart + rows * CPU_TUPLE_COST, index + together + rows * CPU_TUPLE_COST

    def correlation(self, rows: float, total_cost: float) -> float | None:
        """Return the |correlation| at which fetching `rows` rows costs `total_cost`; None where none does."""
        uncorrelated, correlated = self.bounds(rows)
        squared = (uncorrelated - total_cost) / (uncorrelated - correlated)
        return math.sqrt(squared) if 0 <= squared <= 1 else None

    def explained(self, rows: float, total_cost: float) -> dict[str, float | None]:
        uncorrelated, correlated = self.bounds(rows)
        return {
            "rows": rows,
            "total_cost": total_cost,
            "cost_uncorrelated": uncorrelated,
            "cost_correlated": correlated,
            "correlation": self.correlation(rows, total_cost),
        }


def correlation_of(conn: Connection, table: str, column: str) -> float:
    """Return how the planner sees the order of a column in the table, from -1 to 1."""
    row = conn.execute(SQL["correlation"], [find_relation(conn, table).oid, column]).fetchone()
    if row is None:
        raise InputError(table, field="column", value=column, rule="has no statistics", remedy=f"ANALYZE {table}")
    return float(row[0])


def estimates(conn: Connection, statements: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    scans = {name: planned(conn, statement)[1] for name, statement in statements.items()}
    return {
        name: {"scan": scan.label, "rows": scan.rows, "total_cost": scan.total_cost, "found_rows": one_value(conn, statements[name])}
        for name, scan in scans.items()
    }
