"""The published count: its statement, its relations, and the pages of each that it must miss from empty caches."""

from typing import Final

from tierwise.datasets import census
from tierwise.postgres.cold_proof import METAPAGES, expected_pages
from tierwise.postgres.settings import Connection

RELATIONS: Final = ("census", "pob", "census_pkey")
SECOND: Final = "age"  # the column, and its index, of a count that uses two indexes
AGE: Final = 30


def statement(state: str, *, second: bool = False) -> str:
    return counting(census.STATES[state]) + (f" and {SECOND} = {AGE}" if second else "")


def counting(code: int) -> str:
    return f"select count(*) from census where {predicate(code)}"


def predicate(code: int) -> str:
    return f"pob = {code}"


def cold_pages(connection: Connection, code: int) -> dict[str, int]:
    """Return the pages of each relation that the count must miss, cold; planning reads the metapage of the primary key too."""
    return {**expected_pages(connection, "census", "pob", predicate(code)), "census_pkey": METAPAGES}
