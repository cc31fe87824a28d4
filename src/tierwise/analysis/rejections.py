"""How many observations of a run were rejected, and why: by substrate, because what is only simulated can hardly be."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import duckdb

from tierwise.core.words import Substrate

UNSEEN: Final = "unseen"
"""A flag that says what a row does not know, and rejects nothing else of it."""


@dataclass(frozen=True)
class Rejections:
    """Rejected rows of one substrate: `rejected` of `observations`; `reasons`: flag -> rows that bear it (a row may bear several)."""

    substrate: Substrate
    observations: int
    rejected: int
    reasons: Mapping[str, int]

    @property
    def share(self) -> float:
        return self.rejected / self.observations


def rejections(connection: duckdb.DuckDBPyConnection, study: str = "", pair: str = "") -> list[Rejections]:
    """Return one entry for each substrate of the run's rows, of `study` and on `pair` where they are named; live ones before simulated
    ones.
    """
    where = "(? in ('', study)) and (? in ('', pair))"
    counted = connection.execute(
        f"""
        with rows as (
            select substrate, list_filter(flags, lambda flag: flag <> '{UNSEEN}') as flags from timings where {where}
        )
        select substrate, count(*), count(*) filter (len(flags) > 0) from rows group by substrate order by substrate
        """,
        [study, pair],
    ).fetchall()
    reasons: dict[str, dict[str, int]] = {}
    for substrate, flag, rows in connection.execute(
        f"""
        select substrate, flag, count(*) from (select substrate, unnest(flags) as flag from timings where {where})
        where flag <> '{UNSEEN}' group by all order by flag
        """,
        [study, pair],
    ).fetchall():
        reasons.setdefault(substrate, {})[flag] = rows
    found = [Rejections(Substrate(substrate), rows, rejected, reasons.get(substrate, {})) for substrate, rows, rejected in counted]
    return sorted(found, key=lambda one: one.substrate is Substrate.SIMULATED)
