"""A table or an index, looked up by its name."""

from dataclasses import dataclass
from typing import Final

from psycopg import sql

from tierwise.core.errors import InputError
from tierwise.core.words import RelationClass
from tierwise.postgres.settings import Connection

_KINDS: Final = {"r": RelationClass.TABLE, "i": RelationClass.INDEX}


@dataclass(frozen=True)
class Relation:
    """One table or index as ``pg_class`` has it; `tablespace` is the database's own where none is named."""

    oid: int
    name: str
    relation_class: RelationClass
    tablespace: str


def find_relation(conn: Connection, name: str) -> Relation:
    """The relation `name` of the search path (as stored: no folding of case).

    Raises:
        InputError: there is none, or it is neither a table nor an index.
    """
    row = conn.execute(
        """
        SELECT c.oid, c.relname, c.relkind, t.spcname
        FROM pg_class AS c, pg_database AS d, pg_tablespace AS t
        WHERE c.oid = to_regclass(%s) AND d.datname = current_database()
          AND t.oid = CASE c.reltablespace WHEN 0 THEN d.dattablespace ELSE c.reltablespace END
        """,
        [sql.Identifier(name).as_string(conn)],
    ).fetchone()
    if row is None or row[2] not in _KINDS:
        raise InputError("relation", value=name, rule="must be a table or an index of this database")
    return Relation(row[0], row[1], _KINDS[row[2]], row[3])
