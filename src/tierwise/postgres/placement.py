"""Which tier a relation lies on: a tier is a tablespace of the same name."""

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
    kind = sql.SQL("TABLE" if found.relation_class is RelationClass.TABLE else "INDEX")
    conn.execute(sql.SQL("ALTER {} {} SET TABLESPACE {}").format(kind, sql.Identifier(relation), sql.Identifier(tier_name)))


def tier_of(conn: Connection, relation: str) -> str:
    """Name of the tablespace, which is the tier's name (`pg_default`: on no tier)."""
    return find_relation(conn, relation).tablespace
