"""The survey's subsystems as strategies: what a job of all queries on the catalog takes on each, and what it costs there."""

from typing import Final

import duckdb

from tierwise.advisor.strategies import Strategy
from tierwise.analysis.statistics import enough, geometric_estimate
from tierwise.core.words import Substrate
from tierwise.costs.book import Book
from tierwise.report.run import source_pair
from tierwise.studies.survey_arrays.reading.money import SUBSYSTEMS, priced
from tierwise.studies.survey_arrays.reading.shown import ARRAYS

CATALOG: Final = "The survey's queries on a catalog"
PLACES: Final = {place: f"all on {words}" for place, words in ARRAYS.places.items()}
"""Name of a strategy -> what a reader calls it."""
QUERIES: Final = """
select query, tier, block, substrate, elapsed_s from survey_arrays where pair = ? and form = 'printed'
and not flagged and arm = (select max(arm) from survey_arrays where pair = $1)
"""
"""Unflagged, by direct I/O where the run has both ways."""


def strategies(connection: duckdb.DuckDBPyConnection, book: Book) -> dict[str, list[Strategy]]:
    return {CATALOG: of_catalog(connection, source_pair("H"), book)}


def of_catalog(connection: duckdb.DuckDBPyConnection, pair: str, book: Book) -> list[Strategy]:
    """Return the subsystems, the quickest first; a job is one of each query that the run asked. One without enough whole jobs is left
    out.
    """
    rows = connection.execute(QUERIES, [pair]).fetchall()
    queries = {row[0] for row in rows}
    found = []
    for tier, devices in SUBSYSTEMS.items():
        blocks: dict[int, dict[str, float]] = {}
        for query, _, block, _, elapsed_s in (row for row in rows if row[1] == tier):
            blocks.setdefault(block, {})[query] = elapsed_s
        job_s = {block: sum(times.values()) for block, times in blocks.items() if times.keys() == queries}
        if enough(len(job_s)):
            each, substrate = priced(devices, book), Substrate.of({Substrate(row[3]) for row in rows if row[1] == tier})
            found.append(Strategy(tier, geometric_estimate(job_s), substrate, each.iops, devices, each.bill.cost(book)))
    return sorted(found, key=lambda strategy: strategy.job_s.value or 0.0)
