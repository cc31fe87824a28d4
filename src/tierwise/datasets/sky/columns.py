"""The table twomass_psc in the release's order, what other files call its columns, and the survey's three queries on it."""

from functools import cache
from pathlib import Path
from typing import Final, Literal

from pydantic import Field

from tierwise.core import paths
from tierwise.core.data_sets import whole_rows
from tierwise.core.toml import Strict, read_toml
from tierwise.datasets.archive_table import Declared, Table

ROWS: Final = whole_rows("sky")  # sources in the All-Sky Point Source Catalog

PROFILE_SHARE: Final = 0.01
"""The share of these rows that a profile of fraction 1 has: in a server the whole catalog takes some 152 GB (README_dvd of the release)."""


class _Catalog(Declared):
    vizier: str
    names: dict[str, str]


_DECLARED: Final = read_toml(Path(__file__).with_name("table.toml"), _Catalog)
TYPES: Final = _DECLARED.types  # SQL type by column, in the file's order
NAMES: Final = {
    **{name: name for name in TYPES},
    **{theirs.lower(): ours for theirs, ours in zip(_DECLARED.vizier.split(), TYPES, strict=True)},
    **_DECLARED.names,
}
"""Our name of a column by what a file calls it, in lower case: the release's schema, the archive's services, VizieR."""

NULLABLE: Final = frozenset(TYPES) - {"ra", "dec", "designation", "pts_key"}  # columns that may hold no value; in the release's text ``\N``

PSC: Final = Table("twomass_psc", TYPES, key=("pts_key",), indexed=(("ra",), ("dec",)), nullable=NULLABLE)
"""Indexed as the survey has it: ra and dec are the "indexed columns" of its first query, those of its second query are not."""

Form = Literal["printed", "meant"]
QUERY_NAMES: Final = ("indexed", "non_indexed", "mixed")


class Clause(Strict):
    """A WHERE clause, and the share of the sources that it finds, estimated on `Queries.sample_rows` of the synthetic catalog.

    PostgreSQL compares a real column with 15.6 as two doubles, others as two reals: a bound's own value is in or out, some 1 % of the rows.
    """

    where: str
    share: float = Field(ge=0, le=1)

    @property
    def published_rows(self) -> int:
        return round(self.share * ROWS)

    @property
    def statement(self) -> str:
        return f"SELECT * FROM {PSC.name} WHERE {self.where}"


class Query(Strict):
    """`printed` is the survey's text; `meant` has the parentheses that it evidently lacks (AND binds tighter than OR)."""

    printed: Clause
    meant: Clause

    def form(self, name: Form) -> Clause:
        return self.printed if name == "printed" else self.meant


class Queries(Strict):
    source: str
    estimated_by: str
    sample_rows: int
    queries: dict[str, Query]


@cache
def load_queries() -> Queries:
    return read_toml(paths.data() / "datasets" / "twomass-queries.toml", Queries)
