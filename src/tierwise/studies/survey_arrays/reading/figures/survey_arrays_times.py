"""Seconds of every query from empty caches, by subsystem."""

from typing import Final

import altair as alt
import polars as pl

from tierwise.report.figures import places
from tierwise.studies.survey_arrays.reading.names import COLOURS, FORMS, PLACES, QUERIES

QUERY: Final = """
select query, form, io_mode, tier as place, replicate + 1 as replicate, elapsed_s, flags
from survey_arrays
where pair = $pair and io_mode = $io_mode
order by query, form, place, replicate
"""
UNIT: Final = "queries"


def draw(rows: pl.DataFrame) -> alt.VConcatChart:
    parts = [(f"{words}, {how}", rows.filter(query=query, form=form)) for form, how in FORMS.items() for query, words in QUERIES.items()]
    return places.by_place(parts, PLACES, COLOURS)
