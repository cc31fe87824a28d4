"""The plan that the server would follow, and the assertion that it is the one a study speaks of."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg import sql

from tierwise.core.errors import EvidenceError
from tierwise.postgres.settings import Connection, applied


@dataclass(frozen=True)
class Node:
    """One node of a plan. Costs are the planner's units, rows its estimate for one execution of the node."""

    type: str
    relation: str | None
    index: str | None
    rows: int
    startup_cost: float
    total_cost: float

    @property
    def label(self) -> str:
        """Return the node as EXPLAIN prints it: ``Index Scan using pob on census``."""
        if self.type == "Bitmap Index Scan":
            return f"{self.type} on {self.index}"
        using = f" using {self.index}" if self.index else ""
        return f"{self.type}{using}{f' on {self.relation}' if self.relation else ''}"


@dataclass(frozen=True)
class Plan:
    """All nodes, the root first, each before its children."""

    nodes: tuple[Node, ...]

    @property
    def labels(self) -> list[str]:
        """Return the nodes as EXPLAIN prints them."""
        return [node.label for node in self.nodes]


def planned(conn: Connection, statement: str, settings: Mapping[str, str] | None = None) -> Plan:
    """Return the plan of `statement` under the session's settings and `settings`; nothing is executed.

    Planning reads the metapage of every B-tree of the tables concerned into the session and into shared_buffers:
    never ask before a cold measurement, unless the server restarts in between.
    """
    with applied(conn, settings or {}):
        row = conn.execute(sql.SQL("EXPLAIN (FORMAT JSON) {}").format(sql.SQL(statement))).fetchone()
    assert row is not None
    return Plan(tuple(_nodes(row[0][0]["Plan"])))


def assert_plan(plan: Plan, nodes: Sequence[str]) -> None:
    """Pass if the plan's nodes are `nodes`, labelled as EXPLAIN prints them.

    Raises:
        EvidenceError: names the plan that was expected and the one that was found.
    """
    if plan.labels != list(nodes):
        raise EvidenceError(f"the plan is another one: expected {' > '.join(nodes)}; found {' > '.join(plan.labels)}")


def _nodes(node: Mapping[str, Any]) -> Iterator[Node]:
    yield Node(
        type=node["Node Type"],
        relation=node.get("Relation Name"),
        index=node.get("Index Name"),
        rows=node["Plan Rows"],
        startup_cost=node["Startup Cost"],
        total_cost=node["Total Cost"],
    )
    for child in node.get("Plans", ()):
        yield from _nodes(child)
