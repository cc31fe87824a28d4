"""What an activity file holds in all: sums by relation, view and wait event, read a segment at a time."""

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import polars as pl

from tierwise.core.errors import InputError
from tierwise.watch import activity_file as kept
from tierwise.watch.statements import DATABASE, IO, RELATION, STATEMENTS, counters

FIRST_OWN: Final = 16384  # relations with a lower number are system catalogs (`FirstNormalObjectId`)


@dataclass(frozen=True)
class Totals:
    """Sums over all windows. `rest`: every row that is not of a relation; `relations`: a row each, with its name where it is known."""

    rest: pl.DataFrame
    relations: pl.DataFrame

    @cached_property
    def server(self) -> dict[str, str]:
        return dict(self.rest.filter(view=kept.SERVER).sort("window").select("entity", "text").iter_rows())

    @cached_property
    def database(self) -> str:
        return self.server["database"]

    @cached_property
    def version(self) -> int:
        return int(self.server["version"])

    @cached_property
    def timed(self) -> bool:
        return set(self.rest.filter(view=kept.SERVER, entity="timed")["text"]) == {"True"}

    def seconds(self, view: str) -> float:
        return float(self.rest.filter(view=kept.SPAN, entity=view)["value"].sum())

    def total(self, view: str, counter: str, entity: str | None = None) -> float | None:
        """Return the sum of a counter, over one entity or all; None where the version or the server does not show it."""
        rows = self.rest.filter(view=view, counter=counter)
        rows = rows if entity is None else rows.filter(pl.col("entity").str.contains(entity))
        shown = counter in counters(view) and not self.rest.filter(view=kept.SPAN, entity=view).is_empty()
        return float(rows["value"].sum()) if shown else None

    def own(self, what: str) -> float:
        return float(self.rest.filter(view=kept.SAMPLES, entity=what)["value"].sum())

    def waits(self, group: str) -> dict[str, float]:
        rows = self.rest.filter(view=kept.WAIT, entity=group).group_by("counter").agg(pl.col("value").sum())
        return dict(rows.iter_rows())

    def by_window(self, counter: str) -> dict[int, float]:
        rows = self.rest.filter(view=DATABASE, counter=counter, entity=self.database)
        return dict(rows.select("window", "value").iter_rows())

    def statements(self) -> list[tuple[str, float]] | None:
        rows = self.rest.filter(view=STATEMENTS)
        if self.rest.filter(view=kept.SPAN, entity=STATEMENTS).is_empty():
            return None
        chosen = rows.filter(counter="read_s" if self.timed else "read_pages").group_by("entity").agg(pl.col("value").sum())
        return list(chosen.filter(pl.col("value") > 0).sort("value", descending=True).head(3).iter_rows())

    def io(self, counter: str, pattern: str) -> float | None:
        """Return a counter of `pg_stat_io` over all keys (process/object/context) that match."""
        return self.total(IO, counter, pattern) if self.version >= 16 else None


def totals(activity: pl.LazyFrame) -> Totals:
    """Sum an activity file, which must have a window."""
    others = activity.filter(~pl.col("view").is_in([RELATION, kept.NAME, kept.SIZE]))
    found = others.select("window", "view", "entity", "counter", "value", "text").collect()
    if found.filter(view=kept.SPAN).is_empty():
        raise InputError("activity file", rule="has no window", remedy="watch for a minute or more")
    keys = ["database", "relation"]
    summed = activity.filter(view=RELATION).group_by(keys).agg(pl.col(counters(RELATION)).sum(), pl.col("pages").last()).collect()
    names = activity.filter(view=kept.NAME).sort("window").group_by(keys).agg(pl.col("text").last()).collect()
    sizes = activity.filter(view=kept.SIZE).sort("window").group_by(keys).agg(size=pl.col("value").last()).collect()
    described = names.filter(pl.col("text").is_not_null())
    fields = pl.DataFrame([json.loads(text) for text in described["text"]], schema=NAMED, orient="row")
    named = pl.concat([described.select(keys), fields], how="horizontal")
    relations = named.join(summed, on=keys, how="left").join(sizes, on=keys, how="left")
    used = (pl.col("relation") >= FIRST_OWN) | (pl.col("fetched") > pl.col("hits"))
    return Totals(found, relations.with_columns(pl.col(counters(RELATION)).fill_null(0)).filter(used))


NAMED: Final[dict[str, Any]] = {
    **dict.fromkeys(("schema", "name", "kind", "tablespace", "path", "location"), pl.String),
    **dict.fromkeys(("owner", "parent", "all_scans"), pl.Int64),
    "kept": pl.Boolean,
}
