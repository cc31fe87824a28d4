"""Every statement that a watch sends, most in ``statements.sql``. `docs/watch-security.md` lists the same, which a test compares.

Which column of which statistics view means what, in which version of PostgreSQL, is in ``columns.toml``. Times are in seconds.
"""

from pathlib import Path
from typing import Final

from tierwise.core.sql_files import named_statements
from tierwise.core.toml import Strict, read_table, validate

OLDEST, NEWEST = 14, 18
EVERY: Final = range(OLDEST, NEWEST + 1)
DATABASE, WAL, IO, CHECKPOINTER, WRITER, STATEMENTS = "database", "wal", "io", "checkpointer", "writer", "statements"
RELATION: Final = "relation"
FILE: Final = Path(__file__).with_name("columns.toml")
SQL: Final = named_statements(__package__, "statements.sql")
SETUP: Final = (
    "SET default_transaction_read_only = on",
    "SET application_name = 'tierwise'",
    "SET lock_timeout = '1ms'",
    "SET statement_timeout = '30s'",
    "SET jit = off",
    "SET max_parallel_workers_per_gather = 0",
)


class OfVersions(Strict):
    versions: tuple[int, int] = (OLDEST, NEWEST)

    def has(self, version: int) -> bool:
        first, last = self.versions
        return first <= version <= last


class Source(OfVersions):
    """Where a view stands: `key` of a row, and when its counters were reset."""

    table: str
    key: str
    reset: str


class Column(OfVersions):
    """A counter under our name, and how a version spells it. `timed`: zero unless `track_io_timing` is on, and so unknown."""

    counter: str
    expression: str
    timed: bool = False


class View(Strict):
    sources: tuple[Source, ...] = ()
    columns: tuple[Column, ...]


VIEWS: Final = validate(read_table(FILE), dict[str, View], where=FILE.name)
SOURCES: Final = {name: view.sources for name, view in VIEWS.items() if view.sources}


def columns(view: str, version: int) -> list[Column]:
    return [column for column in VIEWS[view].columns if column.has(version)]


def counters(view: str) -> list[str]:
    return list(dict.fromkeys(column.counter for column in VIEWS[view].columns))


def relations(version: int) -> str:
    """Return the statement that reads every relation's counters, as CSV: 100,000 rows take half a second less than as values."""
    counted = ", ".join(f"{column.expression} AS {column.counter}" for column in columns(RELATION, version))
    return SQL["relations"].format(counters=counted)


def view(name: str, version: int) -> str | None:
    """Return the statement that reads the view `name`: key, time of its reset, counters; None where the version has none."""
    source = next((source for source in SOURCES[name] if source.has(version)), None)
    if source is None:
        return None
    counted = ", ".join(f"({column.expression})::float8" for column in columns(name, version))
    return SQL["statements" if name == STATEMENTS else "view"].format(source=source, counters=counted)
