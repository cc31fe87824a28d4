"""Which tier a relation lies on: a tier is a tablespace of the same name."""

from collections.abc import Mapping
from pathlib import Path

from psycopg import sql

from tierwise.core.words import RelationClass
from tierwise.postgres.relations import find_relation
from tierwise.postgres.settings import Connection
from tierwise.postgres.workspace import server_account


def create_tablespace(conn: Connection, tier_name: str, directory: Path) -> None:
    """Make the tablespace `tier_name` in `directory`, an absolute path: made where absent, and given to the server's account."""
    directory.mkdir(parents=True, exist_ok=True)
    server_account().own(directory)
    directory.chmod(0o700)
    conn.execute(sql.SQL("CREATE TABLESPACE {} LOCATION {}").format(sql.Identifier(tier_name), sql.Literal(str(directory))))


def move(conn: Connection, relation: str, tier_name: str) -> None:
    """Copy `relation`, block by block, to the tier; nothing at all where it is there already.

    Raises:
        InputError: there is no such table or index.
        psycopg.errors.UndefinedObject: there is no such tier.
    """
    found = find_relation(conn, relation)
    if found.tablespace == tier_name:
        return
    conn.execute(sql.SQL(moving({relation: found.relation_class}, tier_name)))


def moving(relations: Mapping[str, RelationClass], tier_name: str) -> str:
    """The statements, to be sent as one, that copy `relations` to the tier: all are there when it returns, or none."""
    kinds = {name: sql.SQL("TABLE" if kind is RelationClass.TABLE else "INDEX") for name, kind in relations.items()}
    alter = sql.SQL("ALTER {} {} SET TABLESPACE {}")
    return "; ".join(alter.format(kind, sql.Identifier(name), sql.Identifier(tier_name)).as_string(None) for name, kind in kinds.items())


def tier_of(conn: Connection, relation: str) -> str:
    """Name of the tablespace, which is the tier's name (`pg_default`: on no tier)."""
    return find_relation(conn, relation).tablespace
