"""Tables and indexes, looked up by their names, and which tier each lies on: a tier is a tablespace of the same name."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from psycopg import sql

from tierwise.core.errors import InputError
from tierwise.core.private_folders import closed_folder
from tierwise.core.sql_files import named_statements
from tierwise.core.vocabulary import RelationClass
from tierwise.postgres.settings import Connection
from tierwise.postgres.workspace import server_account

SQL: Final = named_statements(__package__, "statements.sql")
_KINDS: Final = {"r": RelationClass.TABLE, "i": RelationClass.INDEX}


@dataclass(frozen=True)
class Relation:
    oid: int
    name: str
    relation_class: RelationClass
    tablespace: str


def find_relation(conn: Connection, name: str) -> Relation:
    """Return the table or index `name` of the search path (as stored: no folding of case)."""
    row = conn.execute(SQL["relation"], [sql.Identifier(name).as_string(conn)]).fetchone()
    if row is None or row[2] not in _KINDS:
        raise InputError("relation", value=name, rule="must be a table or an index of this database")
    return Relation(row[0], row[1], _KINDS[row[2]], row[3])


def create_tablespace(conn: Connection, tier_name: str, directory: Path) -> None:
    """Make the tablespace `tier_name` in `directory`, which is made where absent and given to the server's account."""
    closed_folder(directory, owner=server_account().ids)
    conn.execute(sql.SQL("CREATE TABLESPACE {} LOCATION {}").format(sql.Identifier(tier_name), sql.Literal(str(directory))))


def move(conn: Connection, relation: str, tier_name: str) -> None:
    found = find_relation(conn, relation)
    if found.tablespace != tier_name:
        conn.execute(sql.SQL(move_statements({relation: found.relation_class}, tier_name)))


def move_statements(relations: Mapping[str, RelationClass], tier_name: str) -> str:
    """Return one string of statements that move `relations` to the tier, all or none."""
    kinds = {name: sql.SQL("TABLE" if kind is RelationClass.TABLE else "INDEX") for name, kind in relations.items()}
    alter = sql.SQL("ALTER {} {} SET TABLESPACE {}")
    return "; ".join(alter.format(kind, sql.Identifier(name), sql.Identifier(tier_name)).as_string(None) for name, kind in kinds.items())
