"""Every statement that a watch sends, most in ``statements.sql``. `docs/watch-security.md` lists the same, which a test compares."""

from typing import Final

from tierwise.core.sql_files import named_statements
from tierwise.watch.columns import RELATION, SOURCES, STATEMENTS, columns

SQL: Final = named_statements(__package__, "statements.sql")
SETUP: Final = (
    "SET default_transaction_read_only = on",
    "SET application_name = 'tierwise'",
    "SET lock_timeout = '1ms'",
    "SET statement_timeout = '30s'",
    "SET jit = off",
    "SET max_parallel_workers_per_gather = 0",
)


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
