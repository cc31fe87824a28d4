"""Seconds of every query from empty caches, by placement."""

from typing import Final

import altair as alt
import polars as pl

from tierwise.report.figures import places
from tierwise.studies.survey_placement.reading.names import COLOURS, PLACEMENTS, QUERIES

QUERY: Final = """
select query, io_mode, placement as place, replicate + 1 as replicate, elapsed_s, flags
from survey_placement
where pair = $pair and io_mode = $io_mode
order by query, place, replicate
"""
UNIT: Final = "queries"


def draw(rows: pl.DataFrame) -> alt.VConcatChart:
    return places.by_place([(words, rows.filter(query=query)) for query, words in QUERIES.items()], PLACEMENTS, COLOURS)
