"""Which column of which statistics view means what, in which version of PostgreSQL, from ``columns.toml``. Times are in seconds."""

from pathlib import Path
from typing import Final

from tierwise.core.toml import Strict, read_table, validate

OLDEST, NEWEST = 14, 18
EVERY: Final = range(OLDEST, NEWEST + 1)
DATABASE, WAL, IO, CHECKPOINTER, WRITER, STATEMENTS = "database", "wal", "io", "checkpointer", "writer", "statements"
RELATION: Final = "relation"
FILE: Final = Path(__file__).with_name("columns.toml")


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
