"""Tables in their own schema, made once, and made anew where a kill left them half made; copies of one table with one index."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from psycopg import sql

from tierwise.postgres.settings import Connection, one_value

WHOLE: Final = "whole"  # comment on a schema in which everything is made
SORT_MEMORY: Final = "256MB"


@dataclass(frozen=True, slots=True)
class CopiedTable:
    """What all copies share. `row_id` is an integer column that the server fills in, in the order of loading."""

    name: str
    ddl: str
    columns: Sequence[str]  # all but `row_id`
    row_id: str
    index: str
    key: str
    statistics_target: int
    load: Callable[[Connection], None]  # into the empty table of the search path, in a transaction

    def use(self, conn: Connection, tier: str, *, vacuumed: bool = False) -> None:
        """Set the search path to the copy on `tier`, made where it is absent: loaded, then an index with an entry for each row.

        The vacuumed copy is made from that one, and has every page marked as visible to all.
        """
        schema = schema_of(tier, vacuumed=vacuumed)
        if vacuumed and not is_complete(conn, schema):
            self.use(conn, tier)
        rows = partial(self._copy, schema=schema_of(tier)) if vacuumed else self.load
        create_copy(conn, schema, tier, [self.name], partial(self._fill, rows=rows), vacuumed=vacuumed)

    def _fill(self, conn: Connection, rows: Callable[[Connection], None]) -> None:
        conn.execute(sql.SQL(self.ddl))
        rows(conn)
        names = map(sql.Identifier, (self.index, self.name, self.key))
        conn.execute(sql.SQL("CREATE INDEX {} ON {} ({}) WITH (deduplicate_items = off)").format(*names))
        conn.execute(f"SET LOCAL default_statistics_target = {self.statistics_target}")
        conn.execute(sql.SQL("ANALYZE {}").format(sql.Identifier(self.name)))

    def _copy(self, conn: Connection, schema: str) -> None:
        columns = sql.SQL(", ").join(sql.Identifier(column.lower()) for column in self.columns)
        conn.execute(f"SET LOCAL work_mem = '{SORT_MEMORY}'")
        parts = sql.Identifier(self.name), columns, columns, sql.Identifier(schema, self.name), sql.Identifier(self.row_id)
        conn.execute(sql.SQL("INSERT INTO {} ({}) SELECT {} FROM {} ORDER BY {}").format(*parts))


def create_copy(
    conn: Connection, schema: str, tier: str, tables: Sequence[str], fill: Callable[[Connection], None], *, vacuumed: bool = False
) -> bool:
    """Set the search path to `schema`, made on `tier` by `fill` in one transaction unless it is whole; return whether it was made now. A
    full scan of each of `tables` sets the hint bits, so that no read writes later.
    """
    named = sql.Identifier(schema)
    there = is_complete(conn, schema)
    if not there:
        with conn.transaction():
            for statement in ("DROP SCHEMA IF EXISTS {} CASCADE", "CREATE SCHEMA {}", "SET LOCAL search_path = {}"):
                conn.execute(sql.SQL(statement).format(named))
            conn.execute(sql.SQL("SET LOCAL default_tablespace = {}").format(sql.Identifier(tier)))
            fill(conn)
    conn.execute(sql.SQL("SET search_path = {}").format(named))
    if not there:
        for table in map(sql.Identifier, tables):
            conn.execute(sql.SQL("SELECT count(*) FROM {} AS t WHERE t IS NULL").format(table))
            if vacuumed:
                conn.execute(sql.SQL("VACUUM {}").format(table))
        conn.execute(sql.SQL("COMMENT ON SCHEMA {} IS {}").format(named, sql.Literal(WHOLE)))
    return not there


def schema_of(tier: str, *, vacuumed: bool = False) -> str:
    return f"on_{tier}_vacuumed" if vacuumed else f"on_{tier}"


def is_complete(conn: Connection, schema: str) -> bool:
    return bool(one_value(conn, "SELECT obj_description(to_regnamespace(%s), 'pg_namespace')", [schema]) == WHOLE)
