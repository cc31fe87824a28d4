"""The survey's subsystems as strategies: what a job of all queries on the catalog takes on each, and what it costs there."""

from typing import Final

import duckdb

from tierwise.advisor.strategies import Strategy
from tierwise.analysis.deciding import mode_in
from tierwise.analysis.statistics import enough, geometric_estimate
from tierwise.core.vocabulary import Evidence
from tierwise.costs.book import Book
from tierwise.report.run import source_pair
from tierwise.studies.survey_arrays.reading import names
from tierwise.studies.survey_arrays.reading.money import SUBSYSTEMS, priced

CATALOG: Final = "The survey's queries on a catalog"
PLACES: Final = {place: f"all on {words}" for place, words in names.PLACES.items()}
"""Name of a strategy -> what a reader calls it."""
QUERIES_SQL: Final = """
select query, tier, replicate, evidence, elapsed_s from survey_arrays where pair = ? and form = 'printed'
and not flagged and io_mode = ?
"""


def strategies(connection: duckdb.DuckDBPyConnection, book: Book) -> dict[str, list[Strategy]]:
    return {CATALOG: of_catalog(connection, source_pair("H"), book)}


def of_catalog(connection: duckdb.DuckDBPyConnection, pair: str, book: Book) -> list[Strategy]:
    """Return the subsystems, the quickest first; a job is one of each query that the run asked. One without enough whole jobs is left
    out.
    """
    rows = connection.execute(QUERIES_SQL, [pair, mode_in(connection, names.STUDY, pair)]).fetchall()
    queries = {row[0] for row in rows}
    found = []
    for tier, devices in SUBSYSTEMS.items():
        replicates: dict[int, dict[str, float]] = {}
        for query, _, replicate, _, elapsed_s in (row for row in rows if row[1] == tier):
            replicates.setdefault(replicate, {})[query] = elapsed_s
        job_s = {replicate: sum(times.values()) for replicate, times in replicates.items() if times.keys() == queries}
        if enough(len(job_s)):
            each, evidence = priced(devices, book), Evidence.of({Evidence(row[3]) for row in rows if row[1] == tier})
            found.append(Strategy(tier, geometric_estimate(job_s), evidence, each.iops, devices, each.bill.cost(book)))
    return sorted(found, key=lambda strategy: strategy.job_s.value or 0.0)
