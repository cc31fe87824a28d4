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
from tierwise.core.units import GIB, PAGE_BYTES
from tierwise.postgres.relations import find_relation
from tierwise.postgres.settings import Connection, applied, one_value


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


@dataclass(frozen=True)
class Plan:
    nodes: tuple[Node, ...]

    @property
    def labels(self) -> list[str]:
        return [node.label for node in self.nodes]


def planned(conn: Connection, statement: str, settings: Mapping[str, str] | None = None) -> Plan:
    """Return the plan of `statement` under the session's settings and `settings`, without executing it.

    Never call it before a cold measurement without a restart: planning reads the metapage of every B-tree of the tables.
    """
    with applied(conn, settings or {}):
        (found,) = one_value(conn, sql.SQL("EXPLAIN (FORMAT JSON) {}").format(sql.SQL(statement)))
    return Plan(tuple(_nodes(found["Plan"])))


def assert_plan(plan: Plan, nodes: Sequence[str]) -> None:
    if plan.labels != list(nodes):
        raise EvidenceError(f"the plan is another one: expected {' > '.join(nodes)}; found {' > '.join(plan.labels)}")


def _nodes(node: Mapping[str, Any]) -> Iterator[Node]:
    yield Node(node["Node Type"], node.get("Relation Name"), node.get("Index Name"), node["Plan Rows"], node["Total Cost"])
    for child in node.get("Plans", ()):
        yield from _nodes(child)


RANDOM_PAGE_COST: Final = 4.0
SEQ_PAGE_COST: Final = 1.0
CPU_TUPLE_COST: Final = 0.01
CPU_INDEX_TUPLE_COST: Final = 0.005
CPU_OPERATOR_COST: Final = 0.0025
EFFECTIVE_CACHE_PAGES: Final = 4 * GIB // PAGE_BYTES


@dataclass(frozen=True, slots=True)
class IndexScanCost:
    """The planner's cost of fetching rows of a table through a B-tree, without its start-up part (the descent, 0.4: not in 8.3)."""

    table_pages: float
    index_pages: float
    tuples: float
    effective_cache_pages: float = EFFECTIVE_CACHE_PAGES

    def total(self, rows: float, correlation: float) -> float:
        uncorrelated, correlated = self.bounds(rows)
        return uncorrelated + correlation**2 * (correlated - uncorrelated)

    def bounds(self, rows: float) -> tuple[float, float]:
        share = rows / self.tuples
        index = math.ceil(share * self.index_pages) * RANDOM_PAGE_COST + rows * (CPU_INDEX_TUPLE_COST + CPU_OPERATOR_COST)
        apart = self._pages_fetched(rows) * RANDOM_PAGE_COST
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

    def _pages_fetched(self, rows: float) -> float:
        """After Mackert and Lohman: pages are read again where the cache is too small."""
        pages = max(1.0, self.table_pages)
        cached = max(1.0, math.ceil(self.effective_cache_pages * pages / (pages + self.index_pages)))
        distinct = 2 * pages * rows / (2 * pages + rows)
        if pages <= cached:
            return min(pages, math.ceil(distinct))
        limit = 2 * pages * cached / (2 * pages - cached)
        return math.ceil(distinct if rows <= limit else cached + (rows - limit) * (pages - cached) / pages)


def column_statistics(conn: Connection, table: str, column: str) -> dict[str, Any]:
    row = conn.execute(
        """
        SELECT correlation, CASE WHEN n_distinct < 0 THEN -n_distinct * reltuples ELSE n_distinct END, most_common_vals::text::text[],
            reltuples
        FROM pg_stats AS s, pg_class AS c
        WHERE c.oid = %s AND s.schemaname = c.relnamespace::regnamespace::text AND s.tablename = c.relname AND s.attname = %s
        """,
        [find_relation(conn, table).oid, column],
    ).fetchone()
    if row is None:
        raise InputError(table, field="column", value=column, rule="has no statistics", remedy=f"ANALYZE {table}")
    return {"correlation": row[0], "distinct": row[1], "most_common": row[2] or [], "tuples": row[3]}


def scans(conn: Connection, statements: Mapping[str, str]) -> dict[str, Node]:
    return {name: planned(conn, statement).nodes[1] for name, statement in statements.items()}


def estimates(conn: Connection, statements: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    return {
        name: {
            "scan": scan.label,
            "rows": scan.rows,
            "total_cost": scan.total_cost,
            "found_rows": one_value(conn, statements[name]),
        }
        for name, scan in scans(conn, statements).items()
    }
