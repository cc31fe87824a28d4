"""What each query reads: pages, requests, bytes and their times, by subsystem."""

from typing import Final

import polars as pl

from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import DASH, count, number
from tierwise.studies.survey_arrays.reading.names import PLACES, QUERIES

UNIT: Final = "queries"
HEADER: Final = ["Query", "Storage system", "Rows found", "Table pages", "Index pages", "Requests", "MB/s", "Median, s"]
MB: Final = 1e6


def facts(rows: pl.DataFrame) -> dict[str, object]:
    return {"n": rows["n"].sum()}


def tabulate(rows: pl.DataFrame) -> Cells:
    known = {(row["query"], row["tier"]): row for row in rows.rows(named=True)}
    cells = []
    for query, words in QUERIES.items():
        there = [(place, row) for place in PLACES if (row := known.get((query, place)))]
        cells += [
            [
                "" if position else words,
                PLACES[place],
                *(count(round(row[name])) for name in ("found", "heap", "index_pages")),
                DASH if row["requests"] is None else count(round(row["requests"])),
                DASH if row["rate"] is None else number(row["rate"] / MB),
                DASH if row["elapsed_s"] is None else number(row["elapsed_s"]),
            ]
            for position, (place, row) in enumerate(there)
        ]
    return Cells(HEADER, cells, "llrrrrrr")
