"""The plan that the server would follow, and the assertion that it is the one a study speaks of."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg import sql

from tierwise.core.errors import EvidenceError
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

    Planning reads the metapage of every B-tree of the tables into the session and shared_buffers, so never call it before a cold
    measurement unless the server restarts in between.
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
