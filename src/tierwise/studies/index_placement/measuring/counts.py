"""The published count: its statement, the relations that it reads, and the pages of each that it must miss from empty caches."""

from typing import Final

from tierwise.datasets import census
from tierwise.postgres.cold import METAPAGES, expected_pages
from tierwise.postgres.settings import Connection

RELATIONS: Final = ("census", "pob", "census_pkey")


def statement(state: str) -> str:
    """Return the published query for `state`."""
    return counting(census.STATES[state])


def counting(code: int) -> str:
    """Return the published query for the place of birth `code`."""
    return f"select count(*) from census where {predicate(code)}"


def predicate(code: int) -> str:
    """Return what the query asks of a row."""
    return f"pob = {code}"


def cold_pages(connection: Connection, code: int) -> dict[str, int]:
    """Return the pages of each relation that the count must miss, cold. Planning looks at every index of the table, so the primary key's
    metapage is missed as well."""
    return {**expected_pages(connection, "census", "pob", predicate(code)), "census_pkey": METAPAGES}


def relation_sizes(connection: Connection) -> dict[str, int]:
    """Return bytes of the main fork of each relation."""
    return {name: connection.execute("SELECT pg_relation_size(%s::regclass)", [name]).fetchall()[0][0] for name in RELATIONS}
