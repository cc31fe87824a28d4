"""Tables of a data set, loaded once with their indexes and then moved about: every placement has the very same pages and statistics."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from psycopg import sql

from tierwise.bench.testbed import Testbed
from tierwise.core.errors import EvidenceError
from tierwise.core.progress import Progress
from tierwise.core.units import PAGE_BYTES
from tierwise.postgres.loading import copy_parquet
from tierwise.postgres.page_counts import PageCounter
from tierwise.postgres.plans import labels, planned
from tierwise.postgres.relations import move
from tierwise.postgres.settings import Connection, one_value

WHOLE: Final = "whole"  # comment on a schema in which everything is made


class TableLike(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def columns(self) -> list[str]: ...
    def ddl(self) -> str: ...
    def indexes(self) -> dict[str, str]: ...


@dataclass(frozen=True, slots=True)
class Rows:
    table: TableLike
    parquet: Path
    count: int


@dataclass(frozen=True, slots=True)
class ColdPages:
    """What a statement did from empty caches, with memory for all that it read: pages by relation, and the nodes of its plan."""

    pages: dict[str, int]
    nodes: tuple[str, ...]


def relations_of(tables: Sequence[TableLike]) -> list[str]:
    """Return every table, its primary key and its indexes, named as the server stores them."""
    return [name for table in tables for name in (table.name.lower(), f"{table.name.lower()}_pkey", *table.indexes())]


def load_once(connection: Connection, schema: str, tier: str, tables: Sequence[Rows]) -> bool:
    """Set the search path to `schema`, with `tables` loaded on `tier` where it is not whole yet; True: they were loaded now."""

    def fill(empty: Connection) -> None:
        for rows in tables:
            _load(empty, rows, tier)

    return create_copy(connection, schema, tier, [rows.table.name.lower() for rows in tables], fill)


def create_copy(
    connection: Connection, schema: str, tier: str, tables: Sequence[str], fill: Callable[[Connection], None], *, vacuumed: bool = False
) -> bool:
    """Set the search path to `schema`, made on `tier` by `fill` in one transaction unless it is whole; return whether it was made now.

    What a kill left half made is made anew. A full scan of each of `tables` sets the hint bits, so that no read writes later; `vacuumed`
    marks every page as visible to all.
    """
    named = sql.Identifier(schema)
    there = one_value(connection, "SELECT obj_description(to_regnamespace(%s), 'pg_namespace')", [schema]) == WHOLE
    if not there:
        with connection.transaction():
            for statement in ("DROP SCHEMA IF EXISTS {} CASCADE", "CREATE SCHEMA {}", "SET LOCAL search_path = {}"):
                connection.execute(sql.SQL(statement).format(named))
            connection.execute(sql.SQL("SET LOCAL default_tablespace = {}").format(sql.Identifier(tier)))
            fill(connection)
    connection.execute(sql.SQL("SET search_path = {}").format(named))
    if not there:
        for table in map(sql.Identifier, tables):
            connection.execute(sql.SQL("SELECT count(*) FROM {} AS t WHERE t IS NULL").format(table))
            if vacuumed:
                mark_visible(connection, table)
        connection.execute(sql.SQL("COMMENT ON SCHEMA {} IS {}").format(named, sql.Literal(WHOLE)))
    return not there


def mark_visible(connection: Connection, table: sql.Identifier) -> None:
    """Mark every page of `table` as visible to all. With FREEZE, VACUUM waits for a page that another process is writing."""
    connection.execute(sql.SQL("VACUUM (FREEZE) {}").format(table))


def _load(connection: Connection, rows: Rows, tier: str) -> None:
    name = rows.table.name.lower()
    connection.execute(sql.SQL(rows.table.ddl()))
    copy_parquet(connection, rows.parquet, name, rows.table.columns, Progress(f"loading {name} onto {tier}", rows.count))
    for command in rows.table.indexes().values():
        connection.execute(sql.SQL(command))
    connection.execute(sql.SQL("ANALYZE {}").format(sql.Identifier(name)))


def take_statistics(connection: Connection, tables: Sequence[TableLike], schema: str, *, of: str) -> None:
    """Give `tables` in `schema` the planner's statistics of the same rows in the schema `of`, since ANALYZE draws a random sample."""
    columns = "SELECT attname FROM pg_attribute WHERE attrelid = 'pg_statistic'::regclass AND attnum > 0 AND attname <> 'starelid'"
    named = sql.SQL(", ").join(sql.Identifier(name) for (name,) in connection.execute(columns).fetchall())
    copied = sql.SQL("INSERT INTO pg_statistic (starelid, {0}) SELECT %s::regclass, {0} FROM pg_statistic WHERE starelid = %s::regclass")
    with connection.transaction():
        connection.execute("SET LOCAL allow_system_table_mods = on")
        for table in tables:
            here, there = (sql.Identifier(one, table.name.lower()).as_string(connection) for one in (schema, of))
            connection.execute("DELETE FROM pg_statistic WHERE starelid = %s::regclass", [here])
            connection.execute(copied.format(named), [here, there])


def place(connection: Connection, tiers: Mapping[str, str]) -> None:
    for relation, tier in tiers.items():
        move(connection, relation, tier)


def sizes_bytes(connection: Connection, relations: Sequence[str]) -> dict[str, int]:
    rows = connection.execute("SELECT name, pg_relation_size(name::regclass) FROM unnest(%s::text[]) AS name", [list(relations)])
    return dict(rows.fetchall())


def planned_before(setup: Sequence[str], statement: str) -> tuple[str, ...]:
    """Return `setup` and a statement that plans `statement`: planning reads a page of every index, much of a query that was scaled down."""
    return (*setup, f"EXPLAIN {statement}")


def cold_pages(testbed: Testbed, relations: Sequence[str], statement: str, setup: Sequence[str]) -> ColdPages:
    """Run `statement` on a fresh server, delays off, and count what it reads: with the `setup` of a cold run, the pages that it must miss.
    Each page is read once, because nothing leaves the memory meanwhile.
    """
    with testbed.loading() as connection:
        for command in setup:
            connection.execute(sql.SQL(command))
        with PageCounter(connection, relations) as counter:
            connection.execute(sql.SQL(statement))
        nodes = tuple(labels(planned(connection, statement)))
        pages = {name: size_bytes // PAGE_BYTES for name, size_bytes in sizes_bytes(connection, relations).items()}
    read = {name: count.reads for name, count in counter.pages.items()}
    beyond = {name: (count, pages[name]) for name, count in read.items() if count > pages[name]}
    if beyond:
        raise EvidenceError(f"more pages were read than there are, (read, there), by relation: {beyond}")
    return ColdPages(read, nodes)
