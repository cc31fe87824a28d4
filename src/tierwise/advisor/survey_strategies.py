"""Source H's subsystems and placements as strategies: what a job of all its queries takes on each, and what it costs there."""

from collections.abc import Mapping
from typing import Final

import duckdb

from tierwise.advisor.strategies import Strategy
from tierwise.analysis.statistics import geometric_estimate
from tierwise.core.words import Substrate
from tierwise.costs.book import Book
from tierwise.costs.source_h import PLACEMENTS, SUBSYSTEMS, priced

JOBS: Final = {
    "survey_arrays": "select query, tier as place, block, substrate, elapsed_s from survey_arrays where pair = ? and form = 'printed' "
    "and not flagged and arm = (select max(arm) from survey_arrays where pair = $1)",
    "survey_placement": "select query, placement as place, block, substrate, elapsed_s from survey_placement where pair = ? "
    "and not flagged and arm = (select max(arm) from survey_placement where pair = $1)",
}
"""Study -> its unflagged queries, by direct I/O where the run has both ways."""
PLACES: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {"survey_arrays": SUBSYSTEMS, "survey_placement": PLACEMENTS}
"""Study -> place -> devices."""


def survey_strategies(connection: duckdb.DuckDBPyConnection, pair: str, book: Book) -> dict[str, list[Strategy]]:
    """Study -> its places, the quickest first; a job is one of each query that the run asked. Studies without a whole job are left out."""
    found = {}
    for study, sql in JOBS.items():
        rows = connection.execute(sql, [pair]).fetchall()
        queries = {row[0] for row in rows}
        strategies = []
        for place, devices in PLACES[study].items():
            blocks: dict[int, dict[str, float]] = {}
            for query, _, block, _, elapsed_s in (row for row in rows if row[1] == place):
                blocks.setdefault(block, {})[query] = elapsed_s
            job_s = [sum(times.values()) for times in blocks.values() if times.keys() == queries]
            if not job_s:
                continue
            each = priced(devices, book)
            substrate = Substrate.of({Substrate(row[3]) for row in rows if row[1] == place})
            cost_a_year = each.bill.cost(book)
            strategies.append(Strategy(place, geometric_estimate(job_s), substrate, each.iops, devices, cost_a_year))
        if strategies:
            found[study] = sorted(strategies, key=lambda strategy: strategy.job_s.value or 0.0)
    return found
