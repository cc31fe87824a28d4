"""The three queries of the survey, as printed and as evidently meant, and what share of the sources each finds."""

from functools import cache
from typing import Final, Literal

from pydantic import Field

from tierwise.core import paths
from tierwise.core.toml import Strict, read_toml
from tierwise.datasets.sky.columns import PSC, ROWS

Form = Literal["printed", "meant"]
NAMES: Final = ("indexed", "non_indexed", "mixed")


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
