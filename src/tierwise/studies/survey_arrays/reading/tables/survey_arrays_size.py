"""Each query at the published size: what the devices take for this server's reads, beside the inferred seconds."""

from statistics import fmean
from typing import Final

import polars as pl

from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import DASH, number
from tierwise.report.published_bars import published_seconds
from tierwise.report.run import Run
from tierwise.studies.survey_arrays.reading.catalog import hunted
from tierwise.studies.survey_arrays.reading.names import FORMS, PLACES, QUERIES, STUDY

UNIT: Final = "cells"
EVIDENCE: Final = "simulated"
SCHEMA: Final = {
    **dict.fromkeys(("query", "form", "place"), pl.String),
    **dict.fromkeys(("server_s", "ideal_s", "published_s"), pl.Float64),
}


def at_published_size(run: Run, pair: str) -> pl.DataFrame:
    bars = published_seconds(STUDY)
    rows = [
        (query, form, place, *(fmean(way["seconds"][place]) for way in ways[:2]), bars.get((query, place)))
        for query in QUERIES
        for form in FORMS
        if (ways := hunted(run, pair, query, form))
        for place in PLACES
        if place in ways[0]["seconds"]
    ]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


SOURCE: Final = at_published_size


def tabulate(rows: pl.DataFrame) -> Cells:
    cells, last = [], ""
    for query, form, place, server_s, ideal_s, bar in rows.rows():
        named = f"{QUERIES[query]}, {FORMS[form]}"
        beside = [number(bar), number(server_s / bar)] if bar else [DASH, DASH]
        cells.append(["" if named == last else named, PLACES[place], number(server_s), number(ideal_s), *beside])
        last = named
    return Cells(
        ["Query", "Subsystem", "This server's reads, s", "Whole table, ideal, s", "Published, s", "Ours / published"], cells, "llrrrr"
    )
