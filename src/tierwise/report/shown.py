"""How a study is shown that asks queries of files on several places: its words, without what draws them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tierwise.analysis.published import published_series
from tierwise.analysis.views import ROWS
from tierwise.core import studies


@dataclass(frozen=True)
class Shown:
    """A study that asks queries of files on several places, as it is shown.

    `column` of its view has the place; `queries` and `places` are their words, by the names that rows have. `published` is the file of the
    source's bars (study, query, place, seconds). `forms` are the words of the forms of a query, the source's own first; none: there is one.
    """

    study: str
    column: str
    queries: Mapping[str, str]
    places: Mapping[str, str]
    published: str
    forms: Mapping[str, str] = field(default_factory=dict)

    @property
    def query(self) -> str:
        return studies.path(self.study, ROWS)

    def published_seconds(self) -> dict[tuple[str, str], float]:
        rows = published_series(self.published).filter(study=self.study)
        return {(query, place): float(seconds) for query, place, seconds in rows.select("query", "place", "seconds").rows()}
